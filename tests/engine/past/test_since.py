"""Since when a check has its present answer: the change that gave it, and how far back the log reaches."""

from collections.abc import Callable

import pytest

from grantpath.engine import Authorizer, Inconsistent, Unknown, UnknownName
from grantpath.engine.change import delta_records
from grantpath.engine.change.log_prune import prune
from grantpath.engine.policy import policy
from grantpath.engine.transfer.policy_upgrade import upgrade

from ...conftest import Tenants
from ...support.with_replica import with_replica
from ..tenants.test_policy_upgrades import NEW_PRIVILEGE, edited, reopened
from .test_past_roots import ASKED, FACTS, JOIN, LEAVE, bulk

__all__ = ["edited"]


@pytest.fixture
def auth(tenant: Tenants) -> Authorizer:
    return tenant("gravitino", [*FACTS, "add user:ann", "owner user:ann of metalake:ml"])


def test_yes_names_the_change_that_gave_it(auth: Authorizer) -> None:
    auth.change(LEAVE)
    done = auth.change(JOIN, by="user:ann")
    auth.change("add user:cas")
    found = auth.since(*ASKED)
    assert found.change is not None
    assert (found.allowed, found.revision, found.since, found.complete) == (True, 10, done.revision, True)
    assert (found.change.actor, found.change.statement, found.change.id) == ("user:ann", JOIN, done.id)
    assert found.reasons == [f"revision 9, {found.change.at:%Y-%m-%d %H:%M:%S} UTC", f"by user:ann: {JOIN}"]
    assert found and type(found).model_validate_json(found.model_dump_json()) == found


def test_no_names_the_change_that_took_it_away(auth: Authorizer) -> None:
    auth.change(LEAVE)
    auth.change("add user:cas")
    found = auth.since(*ASKED)
    assert (found.allowed, found.since) == (False, 8)
    assert found.reasons[1] == f"by a fact: {LEAVE}"


def test_answer_begins_where_the_object_was_added(auth: Authorizer) -> None:
    auth.change("add catalog:new")
    found = auth.since("user:bob", "USE_CATALOG", "catalog:new")
    assert (found.allowed, found.since) == (False, 8)
    owner = auth.since("user:ann", "USE_CATALOG", "catalog:new")
    assert (owner.allowed, owner.since) == (False, 8)


def test_answer_that_never_changed_is_as_old_as_the_root(auth: Authorizer) -> None:
    found = auth.since("user:bob", "CREATE_CATALOG", "metalake:ml")
    assert (found.allowed, found.since, found.change, found.complete) == (False, 0, None, True)
    assert found.reasons == ["revision 0, the creation of the root"]


@pytest.mark.parametrize("what", ["bulk", "pruned"])
def test_log_that_does_not_reach_far_enough_is_named(
    auth: Authorizer, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    if what == "bulk":
        at = bulk(auth, monkeypatch, "add user:dan")
        auth.change("add user:eve")
    else:
        auth.change("add user:dan")
        at = 7
        prune(auth, at + 1)
    found = auth.since(*ASKED)
    assert (found.allowed, found.since, found.change, found.complete) == (True, at, None, False)
    assert found.reasons == [f"revision {at} or earlier: the log does not list the facts that this revision changed"]


def test_many_pages_of_the_log_are_read_newest_first(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    auth.given([f"add user:u{number}" for number in range(20)])
    for page in (3, 5):
        monkeypatch.setattr(delta_records, "PAGE", page)
        monkeypatch.setattr("grantpath.engine.past.since_reader.PAGE", page)
        assert auth.since(*ASKED).since == 5


def test_upgrade_that_brought_the_privilege_is_the_change(
    auth: Authorizer, edited: Callable[..., policy.Policy]
) -> None:
    auth.given(["add schema:hr.s", "add table:hr.s.t", "owner user:bob of table:hr.s.t"])
    upgrade(auth, edited(NEW_PRIVILEGE))
    now = reopened(auth)
    found = now.since("user:bob", "ARCHIVE", "table:hr.s.t")
    assert found.since == 11 and found.change is not None
    assert found.change.statement.startswith("policy upgrade gravitino")
    assert now.since(*ASKED).since == 5


def test_copy_of_the_facts_gives_the_same(auth: Authorizer) -> None:
    auth.change(LEAVE)
    assert with_replica(auth).since(*ASKED) == auth.since(*ASKED)


def test_wrong_question_raises_the_error_of_a_check(auth: Authorizer) -> None:
    with pytest.raises(UnknownName, match="the privilege FLY is unknown"):
        auth.since("user:bob", "FLY", "catalog:hr")
    with pytest.raises(Unknown, match="catalog:hs did not exist"):
        auth.since("user:bob", "USE_CATALOG", "catalog:hs")


def test_log_that_contradicts_the_facts_is_no_answer(auth: Authorizer) -> None:
    auth.change(LEAVE)
    auth.store.execute(
        "MATCH (u:User {root: $root}), (r:Role {root: $root, ref: 'role:analyst'}) MERGE (u)-[:HAS_ROLE]->(r)",
        {"root": auth.tenant},
    )
    with pytest.raises(Inconsistent, match="the log contradicts the facts between revisions 7 and 8"):
        auth.since("user:bob", "USE_CATALOG", "catalog:hr")
