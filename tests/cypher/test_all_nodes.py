"""No query of cypher/ is planned to read all nodes, or all entities, of the database.

A plan depends on how many nodes and relationships the server has, so the databases are the test's own. The long form
plans each query for a database with few relationships and for one with many, the short form for one of them.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import neo4j
import pytest

from grantpath import cypher

from ..support.large_root import load_generated
from ..support.own_server import own_server
from ..support.sizes import size
from .test_query_files import NAMES, example

pytestmark = pytest.mark.trust

BOTH = bool(size(full=1, short=0))  # plan each query for both databases, not every second one for each
ENTITIES = ("Entity", "Subject", "Securable", "Role")
ESTATE = {"users": 3_000, "groups": 200, "roles": 300, "catalogs": 5, "schemas": 5, "tables": 40, "grants": 9_000}
# then each user is in 30 more groups, the groups are in each other, and each object has more grants
DENSE = (
    "MATCH (group:Entity {type: 'group'}) WITH collect(group) AS groups, count(*) AS number"
    " MATCH (user:Entity {type: 'user'}) UNWIND range(1, 30) AS i"
    " WITH user, groups[toInteger(rand() * number)] AS group CREATE (user)-[:MEMBER_OF]->(group)",
    "MATCH (one:Entity {type: 'group'}), (other:Entity {type: 'group'}) WHERE rand() < 0.1"
    " CREATE (one)-[:MEMBER_OF]->(other)",
    "MATCH (role:Entity {type: 'role'}), (object:Entity {type: 'table'}) WHERE rand() < 0.2"
    " CREATE (role)-[:ALLOW {privilege: 'SELECT'}]->(object)",
)


def examples(session: neo4j.Session) -> dict[str, dict[str, Any]]:
    """The parameters of the examples, read at once: planning a query for each takes longer."""
    text = ", ".join(f"{name}: {example(name)}" for name in NAMES)
    given: dict[str, dict[str, Any]] = session.run(neo4j.Query("RETURN {" + text + "} AS given")).single(strict=True)[0]
    return given


def _reads_all(plan: Mapping[str, Any] | None) -> bool:
    """Whether an operator of a plan reads all nodes, or all those with a label of entities: of all roots."""
    assert plan is not None
    operator, label = plan["operatorType"], plan["args"].get("Details", "").partition(":")[2]
    here = "AllNodesScan" in operator or ("NodeByLabelScan" in operator and label in ENTITIES)
    return here or any(map(_reads_all, plan.get("children", [])))


def reading_all_nodes(session: neo4j.Session, given: Mapping[str, dict[str, Any]], names: Iterable[str]) -> list[str]:
    """The queries whose plan for the present database reads all nodes, or all entities."""
    found = list[str]()
    for name in names:
        # plans that were made for an earlier state of the database are not asked for
        explained = neo4j.Query("CYPHER replan=force EXPLAIN " + cypher.load(name).text)
        if _reads_all(session.run(explained, given[name]).consume().plan):
            found.append(name)
    return found


@pytest.mark.slow
@pytest.mark.crash
def test_no_plan_reads_all_nodes(tmp_path: Path) -> None:
    with own_server(tmp_path / "server") as mine:
        tenant = mine.tenant("metalake:ml", "lakehouse", 60.0)
        login = mine.connection
        with (
            neo4j.GraphDatabase.driver(
                login.uri, auth=(login.user, login.password), notifications_min_severity="OFF"
            ) as driver,
            driver.session(database="neo4j") as session,
        ):
            load_generated(tenant, tmp_path, ESTATE)
            given = examples(session)
            assert reading_all_nodes(session, given, NAMES if BOTH else NAMES[::2]) == []
            for statement in DENSE:
                session.run(statement).consume()
            assert reading_all_nodes(session, given, NAMES if BOTH else NAMES[1::2]) == []
            for text in ("(one)", "(one:Entity)", "(one:Role)"):  # the test would notice such a plan
                assert _reads_all(session.run(f"EXPLAIN MATCH {text} WHERE one.ref = 'x' RETURN one").consume().plan)
        tenant.close()
