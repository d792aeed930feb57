"""Plans of queries: the lengths of parameters do not matter, and an unsupported query is an error."""

import os
import re
from collections.abc import Iterator
from typing import Any

import neo4j
import pytest

from grantpath import cypher
from grantpath.graph.client.connection import Connection
from grantpath.graph.errors import Unavailable
from grantpath.graph.guard.store import Store

from ..conftest import SERVER


def expected_rows(driver: neo4j.Driver, names: list[str]) -> float:
    """The number of rows that the plan for these names estimates."""
    text = "EXPLAIN MATCH (entity:Entity) WHERE entity.ref IN $names RETURN entity"
    plan = driver.execute_query(text, names=names).summary.plan
    assert plan is not None
    return float(plan["args"]["EstimatedRows"])


def test_parameter_length_does_not_change_the_plan(server: Connection) -> None:
    if os.environ.get(SERVER, "embedded") != "embedded":
        pytest.skip("the settings of a server that is there are its owner's")
    with neo4j.GraphDatabase.driver(server.uri, auth=(server.user, server.password)) as driver:
        assert expected_rows(driver, ["a"]) == expected_rows(driver, ["a"] * 5_000)


def test_unsupported_query_names_supported_servers(server: Connection) -> None:
    store = Store(server)
    try:
        with pytest.raises(Unavailable, match=r"cannot run a query: .*use Neo4j 5\.26 LTS or 2026\.x"):
            store.execute("RETURN nothing.of_the_kind()")
    finally:
        store.close()


# ---- no plan follows every path of memberships -------------------------------------------------------------------
MEMBERSHIP = ("MEMBER_OF", "HAS_ROLE")
PRUNED = ("VarLengthExpand(Pruning,BFS,All)", "ShortestPath")
NOT_PRUNED = """
MATCH (:Entity {root: $root, ref: $subject})-[:MEMBER_OF|HAS_ROLE*0..]->(above)
RETURN collect(above.ref) AS held, count(*) AS paths"""


def operators(plan: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The operators of a plan that follow relationships to any depth: name, and pattern."""
    name, details = plan["operatorType"].partition("@")[0], plan["args"].get("Details", "")
    if re.search(r"VarLength|Shortest|Repeat|Trail|BFS", name):
        yield name, details
    for child in plan.get("children", []):
        yield from operators(child)


def unbounded(driver: neo4j.Driver, text: str, parameters: dict[str, Any]) -> list[str]:
    """Where a query follows memberships by every path there is: its operators that do, and what its plan hides.

    CHILD_OF may be followed by any operator: each entity has one parent, so there is one path. The conditions of a
    policy are three steps deep. A pattern inside
    COLLECT, COUNT or EXISTS of an expression has no operator in the plan, and is never pruned; so the patterns of the
    text are counted, too.
    """
    plan = driver.execute_query("CYPHER replan=force EXPLAIN " + text, parameters).summary.plan
    assert plan is not None
    found = [(name, details) for name, details in operators(plan) if any(each in details for each in MEMBERSHIP)]
    wrong = [f"{name} {details}" for name, details in found if name not in PRUNED]
    code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))
    any_depth = re.findall(r"\[\w*:([A-Z_|]+)(?:\*|\]->[*+])", code)
    patterns = [each for each in any_depth if any(name in each for name in MEMBERSHIP)]
    if len(patterns) != len(found):
        wrong.append(f"{len(patterns)} patterns of any depth over {patterns}, of which the plan shows {len(found)}")
    return wrong


@pytest.fixture(scope="module")
def planner(server: Connection) -> Iterator[neo4j.Driver]:
    with neo4j.GraphDatabase.driver(
        server.uri, auth=(server.user, server.password), notifications_min_severity="OFF"
    ) as driver:
        yield driver


@pytest.mark.parametrize("name", [name for name in cypher.names() if name != "schema"])
def test_no_plan_follows_every_path_of_memberships(planner: neo4j.Driver, name: str) -> None:
    assert unbounded(planner, cypher.load(name).text, dict.fromkeys(cypher.load(name).parameters)) == []


@pytest.mark.parametrize(
    "text",
    [
        NOT_PRUNED,
        NOT_PRUNED.replace("MATCH", "MATCH path =").replace("collect(above.ref)", "collect(length(path))"),
        "MATCH (one:Entity {root: $root, ref: $subject}) "
        "RETURN CASE WHEN one:Role THEN COLLECT { MATCH (one)-[:HAS_ROLE*0..]->(above) RETURN DISTINCT above.ref } END",
        "MATCH (one:Entity {root: $root, ref: $subject})-[:MEMBER_OF]->+(above) RETURN above.ref AS held",
        "MATCH (one:Entity {root: $root, ref: $subject}) "
        "MATCH path = SHORTEST 1 (one) (()-[:MEMBER_OF]->(each) WHERE each.root = $root)* (above) "
        "RETURN above.ref AS held, length(path) AS length",
    ],
)
def test_query_that_follows_every_path_is_detected(planner: neo4j.Driver, text: str) -> None:
    assert unbounded(planner, text, {"root": "metalake:ml", "subject": "user:bob"})
