"""Questions about the past: which revision a time means, where the facts come from, and what cannot be undone."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from grantpath.engine import AsyncAuthorizer, Authorizer, Inconsistent, InvalidInput, Unknown, UnknownName
from grantpath.engine.change import delta_records
from grantpath.engine.change.log_prune import prune
from grantpath.engine.facts.copy.replica import Replica
from grantpath.engine.policy import policy
from grantpath.engine.tenants import registry
from grantpath.engine.transfer.policy_upgrade import upgrade
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.async_store import AsyncStore
from grantpath.spark_sync.mirroring.mirror import mirror_tenant

from ...conftest import Tenants
from ...support.with_replica import replica_of, with_replica
from ..tenants.test_policy_upgrades import NEW_PRIVILEGE, edited, reopened

__all__ = ["edited"]
FACTS = [
    "add catalog:hr",
    "add user:bob",
    "add role:analyst",
    "allow USE_CATALOG on catalog:hr to role:analyst",
    "member user:bob of role:analyst",
]
ASKED = "user:bob", "USE_CATALOG", "catalog:hr"
LEAVE, JOIN = "remove user:bob from role:analyst", "member user:bob of role:analyst"


@pytest.fixture
def auth(tenant: Tenants) -> Authorizer:
    return tenant("gravitino", FACTS)


def bulk(auth: Authorizer, monkeypatch: pytest.MonkeyPatch, statement: str) -> int:
    """Makes a change whose facts are not in the log. Returns its revision."""
    with monkeypatch.context() as patch:
        patch.setattr(delta_records, "BULK", 0)
        return auth.change(statement).revision


def test_every_revision_can_be_asked_about(auth: Authorizer) -> None:
    left, joined = auth.change(LEAVE), auth.change(JOIN)
    allowed = {
        revision: bool(auth.check(*ASKED, as_of=revision)) for revision in (4, 5, left.revision, joined.revision)
    }
    assert allowed == {4: False, 5: True, left.revision: False, joined.revision: True}
    assert auth.check(*ASKED, as_of=left.revision).revision == left.revision
    assert [*auth.who("USE_CATALOG", "catalog:hr", as_of=left.revision)] == []
    assert [*auth.which("catalog", "user:bob", "USE_CATALOG", as_of=str(joined.revision))] == ["catalog:hr"]
    both = auth.check_many([ASKED, ("user:bob", "USE_CATALOG", "catalog:hr")], as_of=5)
    assert [(each.allowed, each.revision) for each in both] == [(True, 5), (True, 5)]


def test_missing_names_are_those_of_that_time(auth: Authorizer) -> None:
    auth.change("drop catalog:hr")
    assert auth.check(*ASKED, as_of=5)
    with pytest.raises(Unknown, match=r"catalog:hr did not exist at revision 0; check the name and the revision"):
        auth.check(*ASKED, as_of=0)
    with pytest.raises(Unknown, match=r"catalog:hs did not exist at revision 5 \(did you mean catalog:hr\?\)"):
        auth.who("USE_CATALOG", "catalog:hs", as_of=5)


def test_zeros_before_a_revision_have_no_meaning(auth: Authorizer) -> None:
    assert auth.past("0" * 18 + "5").revision == 5
    assert auth.past("0" * 5_000).revision == 0


def test_time_means_the_last_change_at_or_before_it(auth: Authorizer) -> None:
    for statement in (LEAVE, JOIN):
        auth.change(statement)
    times = [entry.at for entry in auth.log()]
    for revision, at in enumerate(times, 1):
        last = max(number for number, other in enumerate(times, 1) if other <= at)
        assert auth.past(at).revision == last >= revision
        assert auth.past(at.isoformat()).revision == last
        assert auth.past(f"{at:%Y-%m-%dT%H:%M:%S.%f}").revision == last  # without an offset, it is in UTC
    left = auth.log(after=5, before=7)[0]
    assert auth.past(left.at - timedelta(microseconds=1)).revision == 5
    assert auth.past(datetime.now(UTC)).revision == 7


@pytest.mark.parametrize(
    ("as_of", "says"),
    [
        (-1, "as_of=-1 is negative; the first revision is 0"),
        (99, "is at revision 5; it has no revision 99 yet; write an earlier one, or omit as_of"),
        ("0" * 5_000 + "6", "is at revision 5; it has no revision 6 yet"),
        ("9" * 22, "is at revision 5; it has no revision 9{22} yet"),
        ("9" * 400, r"is at revision 5; it has no revision 9{77}\.\.\. yet"),
        (True, "as_of=True must be an integer"),
        (2.5, "as_of=2.5 must be an integer"),
        ("-1", "as_of='-1' is neither a revision nor a time; write a revision, e.g. 41, or a time"),
        ("yesterday", "as_of='yesterday' is neither a revision nor a time"),
        ("", "as_of='' is neither a revision nor a time"),
        ("2999-01-01", "2999-01-01T00:00:00Z is in the future; write an earlier time, or omit as_of"),
        ("2001-01-01", "the log of metalake:ml.* begins at .*, after 2001-01-01T00:00:00Z; write a later time"),
        (datetime.max.replace(tzinfo=UTC), "is in the future"),
    ],
)
def test_revision_or_time_that_the_root_did_not_have_is_an_error(auth: Authorizer, as_of: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says) as raised:
        auth.check(*ASKED, as_of=as_of)
    assert "\n" not in str(raised.value)


def test_root_without_changes_has_no_times(tenant: Tenants) -> None:
    with pytest.raises(InvalidInput, match="has no changes yet, and so no revision at"):
        tenant().past("2026-01-31")


def test_as_of_and_at_least_exclude_each_other(auth: Authorizer) -> None:
    with pytest.raises(InvalidInput, match="as_of cannot be combined with at_least=3"):
        auth.who("USE_CATALOG", "catalog:hr", as_of=2, at_least=3)


def test_past_state_of_another_root_is_refused(auth: Authorizer, tenant: Tenants) -> None:
    with pytest.raises(InvalidInput, match=r"is a state of metalake:other.*, not of metalake:ml"):
        auth.check(*ASKED, as_of=tenant(root="other").past(0))


def test_state_is_read_once_for_many_questions(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    past = auth.past(5)
    auth.change("drop role:analyst")
    with monkeypatch.context() as patch:
        patch.setattr(type(auth.store), "read_guarded", None)
        patch.setattr(type(auth.store), "read_all", None)
        assert auth.check(*ASKED, as_of=past)
        assert [*auth.who("USE_CATALOG", "catalog:hr", as_of=past)] == ["user:bob"]
    assert repr(past) == f"<{auth.tenant} as of revision 5>"


# ---- where the facts come from ---------------------------------------------------------------------------------------
def test_copy_of_the_facts_is_the_start_if_there_is_one(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    copied = with_replica(auth)
    auth.change(LEAVE)
    before = replica_of(copied).answered
    monkeypatch.setattr(Replica, "fresh", None)
    assert copied.check(*ASKED, as_of=5)
    assert replica_of(copied).answered == before + 1


def test_copy_of_the_facts_shares_no_numbers_with_the_past(auth: Authorizer) -> None:
    auth.change("drop role:analyst")
    copied = with_replica(auth)
    assert copied.check(*ASKED, as_of=5)
    version = replica_of(copied).current(copied.policy)
    assert version is not None and version.numbers.find("role:analyst") is None


def test_change_without_facts_in_the_log_cannot_be_undone(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    at = bulk(auth, monkeypatch, LEAVE)
    auth.change(JOIN)
    assert not auth.check(*ASKED, as_of=at)
    with pytest.raises(
        InvalidInput,
        match=rf"cannot be read as of revision 4: entry {at} of its log \({LEAVE}\) does not list the facts that it "
        "changed; pass a snapshot of a revision from 4 to 5, which `grantpath mirror` wrote at that time",
    ):
        auth.past(4)


def test_pruned_entries_cannot_be_undone(auth: Authorizer) -> None:
    prune(auth, 4)
    assert auth.past(3).revision == 3
    with pytest.raises(
        InvalidInput,
        match=r"as of revision 1: its log has no entries of revisions 2 to 3, e\.g\. because it was pruned; "
        "pass a snapshot of revision 1, which",
    ):
        auth.past(1)
    with pytest.raises(InvalidInput, match=r"begins at .* \(revision 4\)"):
        auth.past("2001-01-01")


def test_revision_without_an_entry_cannot_be_undone(auth: Authorizer) -> None:
    auth.store.execute("MATCH (c:Change {root: $root}) WHERE c.revision > 4 DELETE c", {"root": auth.tenant})
    with pytest.raises(InvalidInput, match="no entries of revisions 5 to 5"):
        auth.past(3)


def test_delta_with_a_missing_part_cannot_be_undone(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta_records, "SHORT", 1)
    monkeypatch.setattr(delta_records, "PART", 1)
    done = auth.change("drop role:analyst")
    assert auth.check(*ASKED, as_of=5)
    auth.store.execute("MATCH (d:Delta {root: $root, part: 1}) DELETE d", {"root": auth.tenant})
    with pytest.raises(InvalidInput, match=f"entry {done.revision} of its log"):
        auth.past(5)


def test_facts_that_the_log_contradicts_are_no_answer(auth: Authorizer) -> None:
    auth.change(LEAVE)
    auth.store.execute(
        "MATCH (u:User {root: $root}), (r:Role {root: $root, ref: 'role:analyst'}) MERGE (u)-[:HAS_ROLE]->(r)",
        {"root": auth.tenant},
    )
    with pytest.raises(
        Inconsistent, match="the log contradicts the facts between revisions 5 and 6: member user:bob of"
    ):
        auth.past(5)


def test_upgrade_brings_back_the_policy_of_that_time(auth: Authorizer, edited: Callable[..., policy.Policy]) -> None:
    upgrade(auth, edited(NEW_PRIVILEGE))
    now = reopened(auth)
    assert now.past(6).policy.digest == now.policy.digest
    assert now.past(5).policy.digest == auth.policy.digest
    assert now.check(*ASKED, as_of=5)
    with pytest.raises(UnknownName, match="ARCHIVE"):
        now.check("user:bob", "ARCHIVE", "catalog:hr", as_of=5)


def test_root_created_again_has_a_past_of_its_own(auth: Authorizer) -> None:
    registry.remove(auth.store, auth.tenant)
    registry.create(auth.store, auth.tenant, auth.policy, auth.root)
    auth.given(FACTS[:3])
    assert auth.past(3).revision == 3
    with pytest.raises(InvalidInput, match="is at revision 3"):
        auth.past(5)


def test_dropped_root_is_unknown(auth: Authorizer) -> None:
    registry.remove(auth.store, auth.tenant)
    with pytest.raises(Unknown, match="does not exist"):
        auth.past(3)


# ---- snapshots -------------------------------------------------------------------------------------------------------
@pytest.mark.spark
def test_snapshot_is_a_start_in_both_directions(
    auth: Authorizer, server: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth.change(LEAVE)
    snapshot = tmp_path / "monday"
    assert mirror_tenant(server, auth.tenant, snapshot, print).revision == 6
    auth.change(JOIN)
    monkeypatch.setattr(Replica, "fresh", None)  # the snapshot has the fewest changes in between
    bulk(auth, monkeypatch, "add user:cas")
    bulk(auth, monkeypatch, "add user:dan")
    expected = {5: True, 6: False, 7: True}
    assert {at: bool(auth.check(*ASKED, as_of=auth.past(at, snapshots=[snapshot]))) for at in expected} == expected
    with pytest.raises(InvalidInput, match="entry 8 of its log"):
        auth.past(7)


@pytest.mark.spark
def test_snapshot_of_another_root_is_refused(
    auth: Authorizer, tenant: Tenants, server: Connection, tmp_path: Path
) -> None:
    mirror_tenant(server, auth.tenant, tmp_path / "monday", print)
    other = tenant("gravitino", FACTS, "other")
    with pytest.raises(InvalidInput, match=r"is a snapshot of metalake:ml.*, not of metalake:other"):
        other.past(3, snapshots=[tmp_path / "monday"])
    with pytest.raises(InvalidInput, match="is not a snapshot of this version"):
        other.past(3, snapshots=[tmp_path])
    registry.remove(auth.store, auth.tenant)
    registry.create(auth.store, auth.tenant, auth.policy, auth.root)
    auth.given(FACTS)
    with pytest.raises(InvalidInput, match="is a snapshot of an earlier root"):
        auth.past(3, snapshots=[tmp_path / "monday"])


# ---- concurrent callers --------------------------------------------------------------------------------------------
def test_writers_do_not_disturb_an_answer_about_the_past(auth: Authorizer) -> None:
    stop, made = Event(), list[int]()

    def write() -> None:
        while not stop.is_set():
            made.append(auth.change(JOIN if made and len(made) % 2 else LEAVE).revision)

    writer = Thread(target=write)
    writer.start()
    try:
        for _ in range(15):
            state = auth.past(datetime.now(UTC))
            expected = state.revision == 5 or (state.revision - 5) % 2 == 0
            assert bool(auth.check(*ASKED, as_of=state)) is expected
            assert auth.check(*ASKED, as_of=5)
    finally:
        stop.set()
        writer.join()
    assert len(made) > 5


def test_event_loop_can_ask_about_the_past(auth: Authorizer, server: Connection) -> None:
    auth.change(LEAVE)

    async def ask() -> list[object]:
        store = AsyncStore(server)
        async with AsyncAuthorizer(Authorizer(store, auth.tenant, auth.policy, auth.root), store) as other:
            past = await other.past(5)
            listed = [ref async for ref in other.who("USE_CATALOG", "catalog:hr", as_of=past)]
            return [bool(await other.check(*ASKED, as_of=5)), bool(await other.check(*ASKED)), listed]

    assert asyncio.run(ask()) == [True, False, ["user:bob"]]
