"""An unknown name gives a row that names it, not an empty answer; and the questions about the log."""

from typing import Any

import pytest

from grantpath import cypher
from grantpath.engine import Authorizer

from ...conftest import Tenants
from ...support.catalogue import rows_of
from ..test_query_files import FILES

QUESTIONS = sorted(name for name, file in FILES.items() if file.parent.name == "questions")
KNOWN: dict[str, Any] = {
    "subject": "user:bob",
    "other": "user:ann",
    "object": "table:hr.public.staff",
    "group": "group:readers",
    "privilege": "SELECT_TABLE",
    "second": "MODIFY_TABLE",
    "gate": "USE_CATALOG",
    "operation": "load_table",
    "type": "table",
    "limit": 10,
    "actor": "user:ann",
    "grant_with": "MANAGE_GRANTS",
    "join_with": "MANAGE_GROUPS",
    "tag_with": "MODIFY_TABLE",
    "tag": "tag:pii",
}
COMPANY = [
    *("add catalog:hr", "add schema:hr.public", "add table:hr.public.staff", "add role:analyst"),
    *("member user:bob of group:readers", "member group:readers of role:analyst", "owner user:ann of metalake:ml"),
    "allow SELECT_TABLE on table:hr.public.staff to role:analyst",
    *("add tag:pii", "tag table:hr.public.staff with tag:pii"),
]
LISTS = ("which_operations_a_grant_opens",)  # no row: its header says that the grant then allows nothing


@pytest.fixture(scope="module")
def graph(module_tenant: Tenants) -> Authorizer:
    return module_tenant("lakehouse", COMPANY)


def asked(graph: Authorizer, name: str, **changed: Any) -> list[Any]:
    given = {key: KNOWN[key] for key in cypher.load(name).parameters - {"root"}}
    return list(cypher.load(name).run(graph.store.read, **{"root": graph.tenant, **given, **changed}))


@pytest.mark.parametrize("name", [name for name in QUESTIONS if name not in LISTS])
def test_unknown_names_and_roots_are_named(graph: Authorizer, name: str) -> None:
    [row] = asked(graph, name, root="metalake:nowhere")
    assert "metalake:nowhere" in row["says"]
    for key in cypher.load(name).parameters & {"subject", "other", "object", "group", "operation", "actor", "tag"}:
        missing = {"operation": "fly", "object": "table:hr.public.nothing"}.get(
            key, f"{KNOWN[key].split(':')[0]}:nobody"
        )
        [row] = asked(graph, name, **{key: missing})
        assert missing in row["says"], row
        assert "does not exist" in row["says"] or "is unknown" in row["says"]


def test_the_log_is_read_by_object_subject_and_actor(graph: Authorizer) -> None:
    graph.change("add schema:hr.new", by="user:ann")
    graph.change("drop schema:hr.new", by="user:ann")
    graph.change("add user:cas")
    log = [(row["statement"], row["actor"]) for row in rows_of(graph, "recent_changes", limit=3)]
    assert log == [("add user:cas", None), ("drop schema:hr.new", "user:ann"), ("add schema:hr.new", "user:ann")]
    found = rows_of(graph, "changes_of_an_object", object="schema:hr.new", limit=10)
    assert [row["statement"] for row in found] == ["drop schema:hr.new", "add schema:hr.new"]
    found = rows_of(graph, "changes_of_an_object", object="role:analyst", limit=10)
    assert found[0]["statement"] == "allow SELECT_TABLE on table:hr.public.staff to role:analyst"
    assert {row["statement"] for row in found[1:]} == {"member group:readers of role:analyst", "add role:analyst"}
    found = rows_of(graph, "what_an_actor_changed", actor="user:ann", limit=1)
    assert [row["statement"] for row in found] == ["drop schema:hr.new"]
    revisions = [row["revision"] for row in rows_of(graph, "recent_changes", limit=100)]
    assert revisions == sorted(revisions, reverse=True)


def test_names_with_grants_that_do_not_exist(module_tenant: Tenants) -> None:
    graph = module_tenant("cdap", ["add namespace:n", "add user:u"])
    [none] = rows_of(graph, "names_with_grants_that_do_not_exist")
    assert none["says"] == "every name with grants exists"
    graph.given(["allow READ on stream:n.later to user:u", "allow READ on namespace:n to user:u"])
    [row] = rows_of(graph, "names_with_grants_that_do_not_exist")
    assert [row[key] for key in ("object", "subject", "effect", "privilege")] == [
        "stream:n.later",
        "user:u",
        "ALLOW",
        "READ",
    ]
