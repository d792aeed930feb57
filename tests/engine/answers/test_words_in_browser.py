"""Names typed in Neo4j Browser: unknown ones are reported with similar names; roots and second objects are found."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from grantpath import cypher
from grantpath.engine import Authorizer

from ...conftest import Tenants
from ...support.by_name import by_name

STAFF = "table:hr.public.staff"
FACTS = [
    *("add catalog:hr", "add schema:hr.public", f"add {STAFF}", "add table:hr.public.pay", "add tag:pii"),
    *("add table:hr.public.`a b, c in d`", "add user:`with blanks`", "add role:analyst"),
    "member user:bob of role:analyst",
    *("owner user:ann of catalog:hr", "allow USE_CATALOG on catalog:hr to role:analyst"),
    *("allow USE_SCHEMA on schema:hr.public to role:analyst", f"allow SELECT_TABLE on {STAFF} to role:analyst"),
    *("allow APPLY_TAG on tag:pii to role:analyst", "owner user:`with blanks` of table:hr.public.`a b, c in d`"),
    "member user:`with blanks` of role:analyst",
]


@pytest.fixture(scope="module")
def graph(module_tenant: Tenants) -> Iterator[Authorizer]:
    yield module_tenant("gravitino", FACTS)


def asked(graph: Authorizer, query: str, **words: str) -> Mapping[str, Any]:
    [row] = cypher.load(query).run(graph.store.read, **words)
    return row


@pytest.mark.parametrize(
    ("subject", "operation", "on", "reason", "near"),
    [
        ("user:bobb", "load_table", STAFF, "user:bobb does not exist, so the answer is no", "user:bob"),
        ("user:BOB", "load_table", STAFF, "user:BOB does not exist, so the answer is no", "user:bob"),
        ("user:bob", "lod_table", STAFF, "lod_table is unknown on a table", "load_table"),
        ("user:bob", "SELECT_TABEL", STAFF, "SELECT_TABEL is unknown on a table", "SELECT_TABLE"),
        ("user:bob", "load_table", "table:hr.public.stuff", "table:hr.public.stuff does not exist", STAFF),
        ("user:bob", "load_table", "tabel:hr.public.staff", "the type tabel is unknown", "table"),
        ("group:bob", "load_table", STAFF, "checks are not about group:bob", None),
        ("user:bob as role:analyst", "load_table", STAFF, "gravitino has no active roles; omit `as role:", None),
        ("user:bob", "associate_tag", STAFF, "associate_tag needs tag and takes with tag=tag:NAME", None),
        ("user:bob", "load_table", f"{STAFF} with tag=tag:pii", "load_table needs and takes", None),
        ("user:bob", "load_table", f"{STAFF} please", "not understood:  please", None),
    ],
)
def test_question_without_an_answer_returns_the_reason(
    graph: Authorizer, subject: str, operation: str, on: str, reason: str, near: str | None
) -> None:
    on = f"{on} in {graph.tenant}"
    for query in ("check_by_name", "explain_by_name", "remedy_by_name"):
        row = asked(graph, query, subject=subject, operation=operation, object=on)
        assert row["reason"].startswith(reason), query
        assert row["allowed"] is (False if "answer is no" in reason else None)
        assert near is None or near in row["near"], row


def test_lists_also_return_the_reason(graph: Authorizer) -> None:
    row = asked(graph, "who_by_name", operation="lod_table", object=f"{STAFF} in {graph.tenant}")
    assert (row["answer"], row["near"]) == (None, ["load_table"])
    row = asked(graph, "which_by_name", subject="user:bobb", operation="load_table", type=f"table in {graph.tenant}")
    assert (row["answer"], row["near"]) == ([], ["user:bob"])
    row = asked(graph, "which_by_name", subject="user:bob", operation="load_table", type=f"tble in {graph.tenant}")
    assert (row["answer"], row["near"]) == (None, ["table"])


def test_quoted_name_can_contain_spaces_and_words(graph: Authorizer) -> None:
    on = "table:hr.public.`a b, c in d`"
    row = by_name(graph, "check_by_name", "user:`with blanks`", "alter_table", on)
    assert row["allowed"] is True
    assert sorted(row["because"]) == [
        "role:analyst has ALLOW USE_CATALOG on catalog:hr",
        "role:analyst has ALLOW USE_SCHEMA on schema:hr.public",
        f"user:`with blanks` owns {on}",
    ]
    row = by_name(graph, "check_by_name", "user:bob", "associate_tag", STAFF, {"tag": "tag:pii"})
    assert row["allowed"] is True


def test_root_is_found_by_its_object_or_by_name(tenant: Tenants, graph: Authorizer) -> None:
    """Two roots have an object of the same name; an object that only one root has identifies that root."""
    denied = f"deny SELECT_TABLE on {STAFF} to role:analyst"
    other = tenant("gravitino", [*FACTS, "add table:hr.public.only-here-17", denied])

    def check(on: str) -> Mapping[str, Any]:
        return asked(graph, "check_by_name", subject="user:bob", operation="load_table", object=on)

    mine, its = check(f"{STAFF} in {graph.tenant}"), check(f"{STAFF} in {other.tenant}")
    assert (mine["allowed"], its["allowed"]) == (True, False)
    assert its["because"] == [f"role:analyst has DENY SELECT_TABLE on {STAFF}"]
    row = check(STAFF)
    assert row["allowed"] is None
    assert row["reason"].startswith("which root? write `in ROOT` after the object, one of ")
    only = check("table:hr.public.only-here-17")
    assert (only["allowed"], only["root"]) == (False, other.tenant)
    none = check(f"{STAFF} in metalake:nowhere")
    assert (none["allowed"], none["reason"]) == (None, "this root does not exist")


def test_root_that_is_being_changed_gives_no_answer(tenant: Tenants) -> None:
    graph = tenant("gravitino", FACTS)
    graph.store.execute("MATCH (m:Revision {root: $root}) SET m.begun = m.begun + 1", {"root": graph.tenant})
    row = by_name(graph, "check_by_name", "user:bob", "load_table", STAFF)
    assert (row["allowed"], row["reason"]) == (None, f"{graph.tenant} is being changed; ask again")
