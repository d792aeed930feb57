"""A copy that lacks many changes is brought up to date by the log, and not read again."""

import time

import pytest

from grantpath.engine import Authorizer
from grantpath.engine.change.log_prune import prune
from grantpath.engine.facts.copy import replica
from grantpath.engine.facts.set.fact_draft import advanced
from grantpath.engine.facts.set.graph_facts import read_facts

from ....conftest import Tenants
from ....support.with_replica import content, replica_of, with_replica

FACTS = ["add catalog:hr", "add user:bob", "add role:analyst", "allow USE_CATALOG on catalog:hr to role:analyst"]
JOIN = "member user:bob of role:analyst"
ASKED = "user:bob", "USE_CATALOG", "catalog:hr"
MANY = [f"add user:u{number}" for number in range(12)]


@pytest.fixture
def auth(tenant: Tenants, monkeypatch: pytest.MonkeyPatch) -> Authorizer:
    """An authorizer with a copy that must not be read again, and applies few changes at a time."""
    made = with_replica(tenant("gravitino", FACTS))
    monkeypatch.setattr(replica, "NEAR", 5)
    monkeypatch.setattr(replica, "PAGE", 3)
    monkeypatch.setattr(replica, "read_facts", lambda *_: pytest.fail("the root was read again"))
    return made


def writer(auth: Authorizer) -> Authorizer:
    """The same root, for a caller without a copy."""
    return Authorizer(auth.store, auth.tenant, auth.policy, auth.root)


def wait_for_copy(auth: Authorizer, kept: bool = True) -> None:
    """Asks until the copy answers. If it is `kept`, it may not be discarded meanwhile."""
    copy, deadline = replica_of(auth), time.monotonic() + 60
    answered = copy.answered
    while copy.answered == answered:
        assert auth.check(*ASKED), "each answer is of the present state"
        assert copy.revision is not None or not kept, "the copy was discarded"
        assert time.monotonic() < deadline, "the copy was not brought up to date"
        time.sleep(0.01)
    assert copy.revision == auth.revision_now()


def test_many_changes_are_read_from_the_log_in_pages(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not any(writer(auth).given([*MANY, JOIN]))
    assert auth.check(*ASKED)
    assert replica_of(auth).answered == 0
    wait_for_copy(auth)
    monkeypatch.undo()
    assert content(auth) == content(with_replica(writer(auth)))


def test_long_delta_is_read_from_its_parts(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grantpath.engine.change.delta_records.SHORT", 3)
    monkeypatch.setattr("grantpath.engine.change.delta_records.PART", 2)
    writer(auth).change_all(MANY)
    writer(auth).change(JOIN)
    writer(auth).change_all([each.replace("add", "drop") for each in MANY[:7]])
    assert auth.check(*ASKED)
    wait_for_copy(auth)
    monkeypatch.undo()
    assert content(auth) == content(with_replica(writer(auth)))


def test_questions_do_not_wait_while_the_copy_is_brought_up_to_date(
    auth: Authorizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = replica_of(auth)
    monkeypatch.setattr(copy, "_caught_up", lambda _: time.sleep(60))
    assert not any(writer(auth).given([*MANY, JOIN]))
    for _ in range(3):
        assert auth.check(*ASKED)
    assert (copy.answered, copy.left) == (0, 3)


def test_copy_that_contradicts_later_changes_is_read_again(
    auth: Authorizer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    copy = replica_of(auth)
    assert copy._version is not None
    copy._version = advanced(copy._version, [{"added": [MANY[4]], "removed": []}], copy._version.revision)
    assert not any(writer(auth).given([*MANY, JOIN]))
    monkeypatch.setattr(replica, "read_facts", read_facts)
    wait_for_copy(auth, kept=False)
    assert "its copy contradicts the log after revision" in caplog.text
    assert content(auth) == content(with_replica(writer(auth)))


def test_copy_that_lacks_pruned_changes_is_read_again(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not any(writer(auth).given([*MANY, JOIN]))
    prune(writer(auth), auth.revision_now() - 2)
    monkeypatch.setattr(replica, "read_facts", read_facts)
    wait_for_copy(auth, kept=False)
    assert content(auth) == content(with_replica(writer(auth)))
