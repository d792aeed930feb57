"""`hand over`: one change, authorized object by object, and what a dropped owner leaves."""

import pytest

from grantpath.engine import Authorizer, Refused

from ...conftest import Tenants
from ...support.with_replica import content, with_replica

OWNED = ["catalog:a", "catalog:b", "schema:a.s"]
FACTS = [
    *("add user:admin", "owner user:admin of metalake:ml", "add user:lee", "add user:kim"),
    *(f"add {each}" for each in OWNED),
    *(f"owner user:lee of {each}" for each in OWNED),
]


@pytest.fixture
def auth(tenant: Tenants) -> Authorizer:
    return tenant("gravitino", FACTS)


def test_it_is_one_change_with_all_facts(auth: Authorizer) -> None:
    copy, before = with_replica(auth), auth.revision_now()
    dry = auth.change("hand over user:lee to user:kim", by="user:admin", dry_run=True)
    assert sorted(dry.added) == [f"owner user:kim of {each}" for each in OWNED]
    assert sorted(dry.removed) == [f"owner user:lee of {each}" for each in OWNED]
    done = auth.change("hand over user:lee to user:kim", by="user:admin")
    assert done.revision == before + 1
    entry = next(iter(auth.log(limit=1)))
    assert (entry.statement, entry.actor) == ("hand over user:lee to user:kim", "user:admin")
    assert [*copy.which("catalog", "user:kim", "alter_catalog")] == ["catalog:a", "catalog:b"]
    assert content(copy) == content(with_replica(auth))
    assert auth.check("user:lee", "alter_catalog", "catalog:a", as_of=before)
    assert auth.verify_log().entries == done.revision


def test_one_object_without_the_right_stops_all(auth: Authorizer) -> None:
    auth.change("owner user:admin of catalog:b")
    auth.change("owner user:lee of catalog:b")
    auth.change("owner user:kim of schema:a.s")
    auth.change("owner user:lee of metalake:ml")
    before = auth.revision_now()
    with pytest.raises(Refused, match="'hand over user:lee to user:kim': 'owner user:kim of catalog:a' by user:kim"):
        auth.change("hand over user:lee to user:kim", by="user:kim")
    assert auth.revision_now() == before
    assert auth.show("catalog:b").owner == "user:lee"
    assert next(iter(auth.log(limit=1, refused=True))).statement == "hand over user:lee to user:kim"


def test_statements_of_a_batch_see_it(auth: Authorizer) -> None:
    made = auth.change_all(
        [
            *("add catalog:c", "owner user:lee of catalog:c", "hand over user:lee to user:kim"),
            *("owner user:lee of catalog:a", "drop user:lee"),
        ],
        by="user:admin",
    )
    assert [each.without_owner for each in made] == [[], [], [], [], ["catalog:a"]]
    assert made[-1].note == ("drop user:lee: no owner is left of catalog:a; name one with `owner SUBJECT of REF`")
    assert auth.show("catalog:c").owner == "user:kim"
    assert auth.show("catalog:a").owner is None


def test_plan_has_its_effects_and_a_repeated_id_makes_it_once(auth: Authorizer) -> None:
    plan = auth.plan(["hand over user:lee to user:kim"])
    assert sorted(plan.added) == [f"owner user:kim of {each}" for each in OWNED]
    assert {user for each in plan.effects.effects for share in each.shares for user in share.users} == {
        "user:kim",
        "user:lee",
    }
    first = auth.change("hand over user:lee to user:kim", id="leaving-lee")
    assert auth.change("hand over user:lee to user:kim", id="leaving-lee").already
    assert auth.change("hand over user:lee to user:kim").id is None
    assert auth.revision_now() == first.revision


def test_a_drop_names_what_it_leaves(auth: Authorizer) -> None:
    dry = auth.change("drop user:lee", dry_run=True)
    assert dry.without_owner == OWNED
    assert auth.change("drop catalog:b").without_owner == []
    assert auth.change("drop user:lee").without_owner == ["catalog:a", "schema:a.s"]
