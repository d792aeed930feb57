"""`which any`: the objects of all types on which a name can be asked, by every way of answering."""

from pathlib import Path

import pytest

from grantpath.engine import Authorizer, UnknownName
from grantpath.engine.facts.snapshot.snapshot_questions import ask
from grantpath.graph.client.connection import Connection
from grantpath.graph.errors import InvalidInput
from grantpath.spark_sync.mirroring.mirror import mirror_tenant

from ..conftest import Tenants
from ..support.with_replica import with_replica

FACTS = [
    *("add catalog:hr", "add schema:hr.public", "add schema:hr.private", "add table:hr.public.staff", "add tag:pii"),
    *("add role:analyst", "add user:bob", "member user:bob of role:analyst", "owner user:bob of tag:pii"),
    *("allow USE_CATALOG on catalog:hr to role:analyst", "allow USE_SCHEMA on schema:hr.public to role:analyst"),
    *("allow SELECT_TABLE on metalake:ml to role:analyst", "deny SELECT_TABLE on schema:hr.private to role:analyst"),
]
SELECTED = ["catalog:hr", "metalake:ml", "schema:hr.public", "table:hr.public.staff"]


@pytest.fixture
def auth(module_tenant: Tenants) -> Authorizer:
    return module_tenant("gravitino", FACTS)


def test_the_answer_is_that_of_each_type_together(auth: Authorizer, server: Connection, tmp_path: Path) -> None:
    mirror_tenant(server, auth.tenant, tmp_path / "snapshot", lambda _: None)
    past = auth.past(auth.revision_now())
    for name in ("SELECT_TABLE", "set_owner", "USE_SCHEMA", "load_table", "select_from_table"):
        types = auth.policy.types_with(name)
        each = sorted(ref for type_ in types for ref in auth.which(type_, "user:bob", name))
        assert [*auth.which("any", "user:bob", name)] == each, name
        assert [*with_replica(auth).which("any", "user:bob", name)] == each, name
        assert [*auth.which("any", "user:bob", name, as_of=past)] == each, name
        assert past.answer(f"which any can user:bob {name}").answer == each, name
        assert ask(tmp_path / "snapshot", f"which any can user:bob {name}").answer == each, name
    assert [*auth.which("any", "user:bob", "SELECT_TABLE")] == SELECTED


def test_it_is_read_in_pages(auth: Authorizer) -> None:
    for asking in (auth, with_replica(auth)):
        first = asking.which("any", "user:bob", "SELECT_TABLE", limit=3)
        assert [*first] == SELECTED[:3]
        assert not first.complete
        rest = asking.which("any", "user:bob", "SELECT_TABLE", limit=3, after=SELECTED[2], at=first.revision)
        assert [*rest] == SELECTED[3:]
        assert rest.read().question.model_dump()["type"] == "any"
    with pytest.raises(InvalidInput, match="the list cannot contain a role"):
        auth.which("any", "user:bob", "SELECT_TABLE", after="role:analyst")


def test_second_objects_and_unknown_names(auth: Authorizer) -> None:
    given = {"tag": "tag:pii"}
    found = [*auth.which("any", "user:bob", "associate_tag", with_=given)]
    types = auth.policy.types_with("associate_tag")
    each = [ref for type_ in types for ref in auth.which(type_, "user:bob", "associate_tag", with_=given)]
    assert found == sorted(each)
    with pytest.raises(UnknownName, match="lod_table is unknown in the policy gravitino"):
        auth.which("any", "user:bob", "lod_table")


def test_types_in_themselves_are_among_them(module_tenant: Tenants) -> None:
    nested = module_tenant(
        "lakehouse_nested",
        [
            *("add catalog:c", "add schema:c.a", "add schema:c.a.b", "add table:c.a.b.t", "add user:bob", "add role:r"),
            *("member user:bob of role:r", "allow USE_CATALOG on catalog:c to role:r"),
            "allow USE_SCHEMA on schema:c.a to role:r",
        ],
    )
    answer = ["schema:c.a", "schema:c.a.b"]
    assert [*nested.which("any", "user:bob", "load_schema")] == answer
    assert [*with_replica(nested).which("any", "user:bob", "load_schema")] == answer
