"""Several tenants of several policies in one graph never see each other's facts."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from grantpath.engine import Authorizer, Conflict, Invalid, InvalidInput, InvalidReference, Unavailable, Unknown
from grantpath.engine.tenants import opening, registry
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.store import Store
from grantpath.spark_sync.mirroring.mirror import read

from ...conftest import Tenants

# All tenants have the same names but different grants.
TABLE = [
    "add catalog:hr",
    "add schema:hr.public",
    "add table:hr.public.staff",
    "add role:analyst",
    "allow USE_CATALOG on catalog:hr to role:analyst",
    "allow USE_SCHEMA on schema:hr.public to role:analyst",
    "allow SELECT_TABLE on table:hr.public.staff to role:analyst",
]
RELATION = ["add database:hr", "add schema:hr.public", "add role:analyst", "owner role:analyst of database:hr"]
QUESTION = ("load_table", "table:hr.public.staff")


@pytest.fixture
def tenants(tenant: Tenants) -> dict[str, Authorizer]:
    """Two tenants of one policy, and one of each of three others, all with user:bob."""
    return {
        "his": tenant("gravitino", [*TABLE, "member user:bob of role:analyst"]),
        "hers": tenant("gravitino", [*TABLE, "member user:ann of role:analyst", "add user:bob"]),
        "nested": tenant("lakehouse", [*TABLE, "member user:bob of group:g", "member group:g of role:analyst"]),
        "stream": tenant("deltastream", [*RELATION, "member user:bob of role:analyst"]),
        "github": tenant("github", ["add org:hr", "add repository:hr.public", "add user:bob"]),
    }


def test_answers_contain_only_own_entities(tenants: dict[str, Authorizer]) -> None:
    for name, allowed in (("his", ["user:bob"]), ("hers", ["user:ann"]), ("nested", ["user:bob"])):
        assert list(tenants[name].who(*QUESTION)) == allowed
        assert bool(tenants[name].check("user:bob", *QUESTION)) == ("user:bob" in allowed)
        listed = list(tenants[name].which("table", "user:bob", "load_table"))
        assert listed == (["table:hr.public.staff"] if "user:bob" in allowed else [])
    assert list(tenants["stream"].which("database", "user:bob", "drop_database")) == ["database:hr"]
    assert list(tenants["github"].who("clone", "repository:hr.public")) == []


def test_name_of_another_tenant_is_unknown_and_not_suggested(tenants: dict[str, Authorizer]) -> None:
    tenants["his"].change("add catalog:payroll")
    with pytest.raises(Unknown) as error:
        tenants["hers"].check("user:bob", "load_catalog", "catalog:payrol")
    assert "payroll" not in str(error.value)


def test_change_affects_one_revision_and_one_log(tenants: dict[str, Authorizer]) -> None:
    before = {name: each.ask("tenant_state")["revision"] for name, each in tenants.items()}
    tenants["his"].change("drop role:analyst")
    after = {name: each.ask("tenant_state")["revision"] for name, each in tenants.items()}
    assert {name for name in before if before[name] != after[name]} == {"his"}
    assert not tenants["his"].check("user:bob", *QUESTION)
    assert tenants["nested"].check("user:bob", *QUESTION)


def test_drop_removes_nothing_of_another_tenant(tenants: dict[str, Authorizer], store: Store) -> None:
    kept = {name: each.ask("tenant_state") for name, each in tenants.items() if name != "his"}
    registry.remove(store, tenants["his"].tenant)
    assert {name: tenants[name].ask("tenant_state") for name in kept} == kept
    with pytest.raises(Unknown):
        tenants["his"].check("user:bob", *QUESTION)


def test_spark_reads_its_own_tenant_only(tenants: dict[str, Authorizer], server: Connection) -> None:
    for each in tenants.values():
        _, _, graph = read(server, each.tenant, print)
        assert sorted(entity.ref for entity in graph.entities) == sorted(
            entity["ref"] for entity in each.ask("tenant_state")["entities"]
        )
        ends = {*graph.member, *graph.member_of, *graph.principal, *graph.object}
        assert ends <= {entity.ref for entity in graph.entities}


def test_root_keeps_its_policy(store: Store) -> None:
    name = f"metalake:kept-{uuid.uuid4().hex}"
    opening.open_root(store, name, "gravitino", may_create=True)
    try:
        with pytest.raises(Invalid, match=r"uses the policy gravitino, not lakehouse"):
            opening.open_root(store, name, "lakehouse")
        with pytest.raises(
            Conflict, match=r"uses the policy gravitino, not onehouse: omit the policy \(policy=, --policy\)"
        ):
            opening.open_root(store, name, "onehouse")  # its roots have another type
        with pytest.raises(InvalidReference, match="the root of the policy onehouse is an account"):
            opening.open_root(store, f"{name}-other", "onehouse", may_create=True)
        assert opening.open_root(store, name, None)[1].name == "gravitino"
    finally:
        registry.remove(store, name)


@pytest.fixture
def named(store: Store) -> Iterator[list[str]]:
    """Unique names for the roots that a test creates."""
    made = ["metalake:twice-named", "organization:twice-named", "metalake:once-named", "metalake:`dot.ted`"]
    yield made
    for name in made:
        registry.remove(store, name)


def test_root_is_found_by_its_name_without_type(server: Connection, named: list[str]) -> None:
    for name, policy in zip(named, ("gravitino", "deltastream", "gravitino"), strict=False):
        Authorizer.open(name, policy, server.uri, create=True).close()
    with Authorizer.open("once-named", uri=server.uri) as auth:
        assert (auth.tenant, auth.policy.name) == ("metalake:once-named", "gravitino")
        assert auth.who("load_metalake", "metalake:once-named") is not None
    with pytest.raises(Unknown, match="can mean metalake:twice-named or organization:twice-named; write the type, too"):
        Authorizer.open("twice-named", uri=server.uri)


def test_root_has_the_policy_of_its_first_creator(
    server: Connection, named: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    create = registry.create

    def slow(store: Store, tenant: str, *made: Any) -> None:
        monkeypatch.undo()
        Authorizer.open(tenant, "lakehouse", server.uri, create=True).close()
        create(store, tenant, *made)

    monkeypatch.setattr(registry, "create", slow)
    with pytest.raises(Invalid, match="metalake:once-named uses the policy lakehouse, not gravitino"):
        Authorizer.open("metalake:once-named", "gravitino", server.uri, create=True)


@pytest.mark.parametrize("name", ["metalake:dot.ted", "dot.ted"])
def test_name_of_a_root_is_one_segment(server: Connection, named: list[str], name: str) -> None:
    for policy in (None, "gravitino"):
        with pytest.raises(InvalidReference, match=r"one segment; .* write metalake:`dot\.ted`"):
            Authorizer.open(name, policy, server.uri, create=True)
    with Authorizer.open("metalake:`dot.ted`", "gravitino", server.uri, create=True) as auth:
        assert not auth.check("user:bob", "load_metalake", "metalake:`dot.ted`")


def test_every_call_on_a_closed_authorizer_raises(server: Connection, named: list[str]) -> None:
    with Authorizer.open(named[0], "gravitino", server.uri, create=True) as auth:
        auth.change("add user:ann")
    for ask in (
        lambda: auth.check("user:ann", "load_metalake", named[0]),
        lambda: auth.check_many([("user:ann", "load_metalake", named[0])]),
        lambda: list(auth.who("load_metalake", named[0])),
        lambda: auth.explain("user:ann", "load_metalake", named[0]),
        lambda: auth.log(),
        lambda: auth.change("add user:bob"),
        lambda: auth.change_all(["add user:bob"]),
    ):
        with pytest.raises(Unavailable, match=r"was closed; open another: Authorizer\.open"):
            ask()


@pytest.mark.parametrize("timeout", ["soon", 0, -1, float("nan"), float("inf"), True, None])
def test_invalid_timeout_is_refused(server: Connection, timeout: float) -> None:
    with pytest.raises(InvalidInput, match=r"timeout=.* must be a number of seconds above 0"):
        Store(server, timeout)
