"""A query that returns a page, or the newest entry of the log, reads about as much as it returns.

Neo4j takes the order of an index on (root, key) only from `ORDER BY root, key`; by the key alone it reads all of the
root and sorts it.
"""

from collections.abc import Iterator
from typing import Any

import neo4j
import pytest

from grantpath import cypher
from grantpath.engine import Authorizer
from grantpath.engine.tenants import policy_graph
from grantpath.graph.client.connection import Connection

from ..conftest import Tenants
from .test_query_files import example

MANY = 1_000  # users, tables, grants, and a multiple of it entries of the log
MOST = 300  # db hits, of which a query that read all of the root would need thousands
ACTOR, TABLE = "user:u0500", "table:c.s.t0500"
PAGES: dict[str, dict[str, Any]] = {
    "idempotency_find": {"parts": ["none"]},
    "lock_and_read": {},
    "log": {"limit": 5},
    "log_deltas": {"after": 3 * MANY, "limit": 5},
    "log_entries": {"limit": 5},
    "log_prunable": {"before": 5},
    "log_prune": {"limit": 5, "up_to": 10 * MANY},
    "log_tail": {},
    "note_dropped_tenant": {},
    "refusals": {"limit": 5},
    "replica_proof": {"limit": 5},
    "changes_of_an_object": {"object": TABLE, "limit": 5},
    "list_entities": {"under": "", "limit": 5, "needed": []},
    "list_grants": {"on": "", "limit": 5, "needed": []},
    "mirror_bound": {"low": "", "rows": 5},
    "recent_changes": {"limit": 5},
    "revocation_facts": {"subject": ACTOR, "below": [], "owned": [{"ref": TABLE, "types": ["user"]}]},
    "similar_names": {"ref": TABLE, "limit": 5},
    "what_an_actor_changed": {"actor": ACTOR, "limit": 5},
}

LOGGED = """MATCH (change:Change {root: $root}) SET change.actor = $actor
WITH count(*) AS changes UNWIND range(1, $many) AS number
CREATE (:Refusal {root: $root, revision: number, id: $root + number, at: datetime(), actor: $actor})"""


@pytest.fixture(scope="module")
def root(module_tenant: Tenants) -> Authorizer:
    """A root with many entities, grants, entries of the log and refusals."""
    auth = module_tenant("lakehouse", ["add catalog:c", "add schema:c.s"])
    numbers = [f"{number:04}" for number in range(MANY)]
    for statement in (
        "add user:uNUMBER",
        "add table:c.s.tNUMBER",
        "allow SELECT_TABLE on table:c.s.tNUMBER to user:uNUMBER",
        f"allow MODIFY_TABLE on {TABLE} to user:uNUMBER",
    ):
        auth.change_all([statement.replace("NUMBER", number) for number in numbers])
    auth.store.execute(LOGGED, {"root": auth.tenant, "actor": ACTOR, "many": MANY})
    policy_graph.write(auth.store, auth.tenant, auth.policy)
    return auth


@pytest.fixture(scope="module")
def session(server: Connection) -> Iterator[neo4j.Session]:
    login = (server.user, server.password)
    with (
        neo4j.GraphDatabase.driver(server.uri, auth=login, notifications_min_severity="OFF") as driver,
        driver.session() as opened,
    ):
        yield opened


def hits(session: neo4j.Session, text: str, given: dict[str, Any]) -> int:
    """The db hits of a query, whose changes are not kept."""

    def of(profile: Any) -> int:
        return int(profile["args"].get("DbHits", 0)) + sum(map(of, profile.get("children", [])))

    with session.begin_transaction() as transaction:
        return of(transaction.run("CYPHER replan=force PROFILE " + text, given).consume().profile)


@pytest.mark.parametrize("name", PAGES)
def test_page_reads_no_more_than_it_returns(name: str, root: Authorizer, session: neo4j.Session) -> None:
    [mark] = root.store.execute("MATCH (mark:Revision {root: $root}) RETURN mark.made AS made", {"root": root.tenant})
    [row] = root.store.read("RETURN " + example(name) + " AS given", {})
    given = {**row["given"], "root": root.tenant, **PAGES[name]}
    if "made" in given:
        given["made"] = mark["made"]
    assert hits(session, cypher.load(name).text, given) < MOST
