"""`filter` keeps the objects for which `check` says yes, in their order."""

import pytest

from grantpath.engine import Authorizer, Invalid, InvalidInput, InvalidReference, Unknown, UnknownName
from grantpath.engine.facts.set import memory_verdicts

from ..conftest import Tenants
from ..support.with_replica import with_replica

TABLES = [f"table:hr.s{at % 3}.t{at}" for at in range(12)]
FACTS = [
    *("add catalog:hr", *(f"add schema:hr.s{at}" for at in range(3)), *(f"add {each}" for each in TABLES)),
    *("add role:r", "add user:bob", "member user:bob of role:r", "allow USE_CATALOG on catalog:hr to role:r"),
    *("allow USE_SCHEMA on catalog:hr to role:r", "allow SELECT_TABLE on schema:hr.s0 to role:r"),
    *("allow SELECT_TABLE on table:hr.s1.t4 to role:r", "deny SELECT_TABLE on table:hr.s0.t6 to role:r"),
]
MIXED = [*TABLES[::-1], "schema:hr.s0", "catalog:hr", TABLES[0], "table:hr.`s0`.t0"]


@pytest.fixture(params=["one by one", "by lists"], autouse=True)
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """From memory, few objects are decided one by one, and many by the lists of all that are allowed."""
    monkeypatch.setattr(memory_verdicts, "MANY", 0 if request.param == "by lists" else 1_000_000)


@pytest.fixture(scope="module")
def auth(module_tenant: Tenants) -> Authorizer:
    return module_tenant("gravitino", FACTS)


def test_it_keeps_what_check_allows_in_order(auth: Authorizer) -> None:
    past = auth.past(auth.revision_now())
    for name, refs in (("SELECT_TABLE", MIXED), ("load_table", TABLES)):
        allowed = [ref for ref in refs if auth.check("user:bob", name, ref)]
        assert 0 < len(allowed) < len(refs)
        assert auth.filter("user:bob", name, refs) == allowed
        assert with_replica(auth).filter("user:bob", name, iter(refs)) == allowed
        assert auth.filter("user:bob", name, refs, as_of=past) == allowed
    assert auth.filter("user:nobody", "load_table", TABLES) == []
    assert auth.filter("user:bob", "load_table", []) == []


@pytest.mark.parametrize("replica", [False, True])
def test_errors_name_the_object(auth: Authorizer, replica: bool) -> None:
    auth = with_replica(auth) if replica else auth
    with pytest.raises(Unknown, match=r"object 1: table:hr\.s0\.t99 does not exist") as caught:
        auth.filter("user:bob", "load_table", ["table:hr.s0.t0", "table:hr.s0.t99"])
    assert caught.value.index == 1
    assert caught.value.question == {
        "verb": "filter",
        "subject": "user:bob",
        "name": "load_table",
        "objects": "table:hr.s0.t99",
    }
    with pytest.raises(UnknownName, match="object 0"):
        auth.filter("user:bob", "load_table", ["catalog:hr"])
    with pytest.raises(InvalidReference, match="object 1: "):
        auth.filter("user:bob", "load_table", ["table:hr.s0.t0", "hr"])
    with pytest.raises(Invalid, match="object 0: role:r: the subject must be"):
        auth.filter("role:r", "load_table", ["table:hr.s0.t0"])
    with pytest.raises(InvalidInput, match="is not a list of objects"):
        auth.filter("user:bob", "load_table", "catalog:hr")
