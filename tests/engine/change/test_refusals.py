"""Wrong changes do not delay other writers: they are refused without the lock, and few of them are logged."""

import threading
from typing import Any

import pytest

from grantpath.engine import Authorizer, GrantpathError, Invalid, Refused

from ...conftest import Tenants
from ...support.sent_queries import sent_queries
from ...support.sizes import say, size

pytestmark = pytest.mark.trust

FACTS = ["add catalog:hr", "add role:r", "add user:ann", "add user:bob", "owner user:ann of metalake:ml"]
GRANT = "allow USE_CATALOG on catalog:hr to role:r"


@pytest.fixture
def auth(tenant: Tenants) -> Authorizer:
    return tenant(given=FACTS)


def test_wrong_change_takes_no_lock(auth: Authorizer) -> None:
    wrong: list[tuple[str | list[str], type[GrantpathError]]] = [
        (GRANT, Refused),
        ("drop catalog:hr", Refused),
        ("add user:ann", Invalid),
        ("drop user:nosuch", Invalid),
        ([GRANT, "add catalog:x"], Refused),
        (["add user:ann", GRANT], Invalid),
    ]
    with sent_queries("Writer") as locks:
        for sent, kind in wrong:
            with pytest.raises(kind):
                auth.change(sent, by="user:bob", id="a") if isinstance(sent, str) else auth.change_all(
                    sent, by="user:bob"
                )
    assert locks == []
    assert len(auth.log(refused=True)) == 3
    with sent_queries("Writer") as locks:
        assert auth.change(GRANT, by="user:ann").id
    assert locks


def test_facts_read_before_the_lock_are_not_read_again(auth: Authorizer) -> None:
    with sent_queries("AS states") as read:
        assert auth.change(GRANT, by="user:ann").id
    assert len(read) == 1


def test_facts_that_changed_before_the_lock_are_read_again(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the check and the lock, Ann loses the grant, and the role is dropped."""
    write = auth.store.write
    between: list[str] = []

    def late(*given: Any, **named: Any) -> Any:
        if between:
            auth.change(between.pop())
        return write(*given, **named)

    monkeypatch.setattr(auth.store, "write", late)
    between.append("owner user:bob of metalake:ml")
    with pytest.raises(Refused):
        auth.change(GRANT, by="user:ann")
    between.append("drop role:r")
    with pytest.raises(Invalid):
        auth.change(GRANT, by="user:bob")
    between.append("owner user:ann of catalog:hr")
    assert auth.change("add schema:hr.s", by="user:bob").revision == len(FACTS) + 4
    assert [each.statement for each in auth.log(limit=2)] == ["owner user:ann of catalog:hr", "add schema:hr.s"]
    assert auth.verify_log()


def test_change_with_a_used_id_is_not_checked_again(auth: Authorizer) -> None:
    first = auth.change(GRANT, by="user:ann", id="mine")
    auth.change("owner user:bob of metalake:ml")
    again = auth.change(GRANT, by="user:ann", id="mine")  # she is no longer allowed to
    assert (again, again.already) == (first, True)


def test_refusals_during_writes_take_no_lock(auth: Authorizer, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the writer takes locks."""
    stop, made, tries = threading.Event(), list[str](), size(200, 40)

    def write() -> None:
        while not stop.is_set():
            for statement in (GRANT, f"revoke {GRANT.replace(' to ', ' from ')}"):
                made.append(str(auth.change(statement, by="user:ann").id))

    with sent_queries("MERGE (writer") as locks:
        writer = threading.Thread(target=write)
        writer.start()
        for _ in range(tries):
            with pytest.raises(Refused):
                auth.change("drop catalog:hr", by="user:bob")
        stop.set()
        writer.join()
    say(
        capsys,
        f"{tries} refusals beside {len(made)} changes: {len(locks)} locks were taken, {len(locks) - len(made)} more",
    )
    assert len(locks) - len(made) <= tries // 20  # a change that was disturbed each time is checked under the lock
    assert "None" not in made and len(auth.log(refused=True, limit=1_000)) == tries


def test_newest_refusals_of_each_actor_are_kept(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grantpath.engine.change.audit_writer.KEPT", 10)
    for at in range(12):
        with pytest.raises(Refused):
            auth.change(f"add catalog:c{at}", by="user:bob")
    assert [each.statement for each in auth.log(refused=True)] == [f"add catalog:c{at}" for at in range(2, 12)]
