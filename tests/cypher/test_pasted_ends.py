"""Queries that people paste in Neo4j Browser say so if facts have ended, but are still stored. They cannot remove them.

`grantpath question` and the other commands remove such facts before they ask.
"""

from typing import Any

import pytest

from grantpath import cypher
from grantpath.cypher.catalogue import catalogue
from grantpath.engine import Authorizer
from grantpath.graph.guard.store import Store

from ..conftest import Tenants
from .questions.test_unknown_names import COMPANY, KNOWN

BY_NAME = sorted(cypher.texts("browser"))
OF_THE_POLICY = {"what_an_operation_needs", "which_operations_a_grant_opens"}  # no fact changes their answers
FACTS = sorted({*catalogue()} - OF_THE_POLICY)
SET = "MATCH (mark:Revision {root: $root}) SET mark.ends = datetime.realtime().epochSeconds + $seconds"
LONG = 3_600


@pytest.fixture(scope="module")
def graph(module_tenant: Tenants) -> Authorizer:
    return module_tenant("lakehouse", COMPANY)


def ends_in(graph: Authorizer, seconds: int | None) -> None:
    """Notes at the root that the next of its facts ends then; null: that none ends."""
    graph.store.execute(SET, {"root": graph.tenant, "seconds": seconds})


def rows(graph: Authorizer, name: str) -> list[dict[str, Any]]:
    given = {"root": graph.tenant, **KNOWN}
    if name in BY_NAME:
        for key in ("object", "type"):  # other tests have roots with the same names
            given[key] += f" in {graph.tenant}"
    asked = {key: given[key] for key in cypher.load(name).parameters}
    return [dict(row) for row in cypher.load(name).run(graph.store.read, **asked)]


@pytest.mark.parametrize("name", FACTS)
def test_each_question_says_whether_facts_are_due(graph: Authorizer, name: str) -> None:
    for seconds, due in ((None, False), (LONG, False), (0, True), (-LONG, True)):
        ends_in(graph, seconds)
        found = rows(graph, name)
        assert found
        assert {row["due"] for row in found} == {due}, seconds
    assert "due" not in catalogue()[name].columns  # `grantpath question` removes what is due first


@pytest.mark.parametrize("name", BY_NAME)
def test_each_query_by_name_refuses_while_facts_are_due(graph: Authorizer, name: str) -> None:
    for seconds in (None, LONG):
        ends_in(graph, seconds)
        [row] = rows(graph, name)
        assert "ended" not in row["reason"]
        assert row.get("allowed", row.get("answer")) is not None
    for seconds in (0, -LONG):
        ends_in(graph, seconds)
        [row] = rows(graph, name)
        assert row["reason"] == (
            f"facts of {graph.tenant} have ended and are not removed yet; run `grantpath expire --root {graph.tenant}`"
        )
        assert row.get("allowed", row.get("answer")) is None


def test_an_ended_grant_is_shown_as_stored_until_it_is_removed(tenant: Tenants, store: Store) -> None:
    auth = tenant("lakehouse", COMPANY)
    auth.change("member user:ann of group:readers until 2099-01-01T00:00:00Z")
    store.execute(
        "MATCH (:Entity {root: $root, ref: 'user:ann'})-[edge:MEMBER_OF]->() SET edge.until = '2020-01-01T00:00:00Z'",
        {"root": auth.tenant},
    )
    ends_in(auth, -LONG)
    who = cypher.load("who_is_in_a_group")
    pasted = list(who.run(store.read, root=auth.tenant, group="group:readers"))
    assert [(row["member"], row["due"]) for row in pasted] == [("user:ann", True), ("user:bob", True)]
    asked = auth.question("who_is_in_a_group", group="group:readers")
    assert [row["member"] for row in asked.answer] == ["user:bob"]
    pasted = list(who.run(store.read, root=auth.tenant, group="group:readers"))
    assert [(row["member"], row["due"]) for row in pasted] == [("user:bob", False)]
