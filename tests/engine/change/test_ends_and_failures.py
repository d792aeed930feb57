"""What happens when something fails while facts end, or while a root is prepared for facts that end."""

import asyncio
import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from grantpath import cypher
from grantpath.engine import AsyncAuthorizer, Authorizer, GrantpathError, Inconsistent, Invalid, Refused, Unavailable
from grantpath.engine.answers.source import FEW
from grantpath.engine.change import facts_format
from grantpath.engine.change.service import ChangeService
from grantpath.engine.cli.change import ending_commands
from grantpath.engine.cli.context import CommandContext
from grantpath.engine.facts.copy import replica_log
from grantpath.engine.facts.copy.replica import Replica
from grantpath.engine.facts.copy.replica_log import Proof, RootLog
from grantpath.engine.policy.schema import UPGRADE, WITH_ENDS, WITH_TAGS
from grantpath.engine.tenants import registry
from grantpath.engine.transfer import exporter, importer
from grantpath.graph.errors import Conflict
from grantpath.graph.guard.async_store import AsyncStore
from grantpath.graph.guard.bulk_write import Bulk
from grantpath.graph.guard.revision_guard import RevisionGuard
from grantpath.graph.guard.revision_marks import MarkBook, Marks
from grantpath.graph.guard.store import Store

from ...conftest import Tenants
from ...support.with_replica import as_reader, replica_of, with_replica
from .conftest import Clock

FACTS = ["add catalog:hr", "add schema:hr.s", "add table:hr.s.t", "add role:r", "member user:bob of role:r"]
GRANT = "allow SELECT_TABLE on table:hr.s.t to role:r"
OTHER = "allow MODIFY_TABLE on table:hr.s.t to role:r"
EARLY, LATE = "2100-01-01T00:00:00Z", "2100-01-01T00:00:10Z"


@pytest.fixture
def auth(tenant: Tenants) -> Authorizer:
    return tenant("gravitino", FACTS)


def stored_format(auth: Authorizer) -> int:
    [row] = cypher.load("tenant_policy").run(auth.store.read, root=auth.tenant)
    return int(json.loads(row["source"])[UPGRADE])


def granted(auth: Authorizer) -> list[str | None]:
    return [each.until for each in auth.grants(on="table:hr.s.t")]


def once(error: Exception, then: Callable[..., Any]) -> Callable[..., Any]:
    """A function that raises the error at its first call."""
    left = [error]

    def run(*given: Any, **named: Any) -> Any:
        if left:
            raise left.pop()
        return then(*given, **named)

    return run


# ---- the format of the facts -----------------------------------------------------------------------------------------
def test_fact_does_not_end_in_a_root_whose_format_could_not_be_raised(
    auth: Authorizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "write", once(Unavailable("not free"), Store.write))
    with pytest.raises(Unavailable, match="not free"):
        auth.change(f"{GRANT} until {EARLY}")
    assert (granted(auth), stored_format(auth)) == ([], WITH_TAGS)


@pytest.mark.parametrize("write", ["change", "change_all", "batch"])
def test_change_that_another_writer_makes_possible_is_tried_again(
    auth: Authorizer, monkeypatch: pytest.MonkeyPatch, write: str
) -> None:
    """As if it had been wrong when the format was to be raised, and right afterwards."""
    monkeypatch.setattr(ChangeService, "_require_format", lambda *_: None)
    with pytest.raises(Inconsistent, match="was changed by another writer meanwhile; nothing is done, try again"):
        if write == "batch":
            with auth.batch() as batch:
                batch.change(f"{GRANT} until {EARLY}")
        else:
            auth.change_all([f"{GRANT} until {EARLY}"]) if write == "change_all" else auth.change(
                f"{GRANT} until {EARLY}"
            )
    assert (granted(auth), stored_format(auth)) == ([], WITH_TAGS)


def test_threads_that_write_the_first_facts_that_end_all_succeed(auth: Authorizer) -> None:
    errors: list[GrantpathError] = []

    def write(number: int) -> None:
        try:
            auth.change(f"allow SELECT_TABLE on table:hr.s.t to role:r{number} until {EARLY}")
            auth.check("user:bob", "load_table", "table:hr.s.t")
        except GrantpathError as error:
            errors.append(error)

    auth.given([f"add role:r{number}" for number in range(6)])
    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert (granted(auth), stored_format(auth)) == ([EARLY] * 6, WITH_ENDS)


def test_plan_with_the_first_fact_that_ends_must_be_made_again(auth: Authorizer) -> None:
    plan = auth.plan([f"{GRANT} until {EARLY}"])
    assert plan.added == (f"{GRANT} until {EARLY}",)
    with pytest.raises(Conflict, match=r"had to be prepared for facts that end, .*; plan the change again") as error:
        auth.change_all([f"{GRANT} until {EARLY}"], at_revision=plan.revision, root_id=plan.root_id)
    assert error.value.code == "root_moved"
    again = auth.plan([f"{GRANT} until {EARLY}"])
    auth.change_all([f"{GRANT} until {EARLY}"], at_revision=again.revision, root_id=again.root_id)
    assert granted(auth) == [EARLY]


def test_stale_plan_does_not_raise_the_format(auth: Authorizer) -> None:
    plan = auth.plan([f"{GRANT} until {EARLY}"])
    auth.change("add user:new")
    with pytest.raises(Conflict, match="is at revision"):
        auth.change_all([f"{GRANT} until {EARLY}"], at_revision=plan.revision, root_id=plan.root_id)
    assert stored_format(auth) == WITH_TAGS


def test_database_of_an_older_version_gets_the_indexes(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    created: list[Store] = []
    monkeypatch.setattr(registry, "create_schema", created.append)
    facts_format.allow_ends(auth)
    assert created == [auth.store]


def test_root_is_prepared_for_changes_that_take_longer_than_the_timeout(
    auth: Authorizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "timeout", -1.0)  # it is over before the changes are tried
    auth.change_all([f"{GRANT} until {EARLY}"])
    assert granted(auth) == [EARLY]


def test_wrong_statement_beside_one_that_ends_has_its_own_error(auth: Authorizer) -> None:
    for wrong, says in (
        ("nonsense", "nonsense"),
        ("add role:r", "exists"),
        (GRANT.replace("hr.s.t", "hr.s.x"), "hr.s.x"),
    ):
        with pytest.raises(Invalid, match=says) as error:
            auth.change_all([f"{GRANT} until {EARLY}", wrong])
        assert error.value.index == 1
    with pytest.raises(Refused):
        auth.change_all([f"{GRANT} until {EARLY}", "add user:x"], by="user:bob")
    assert (granted(auth), stored_format(auth)) == ([], WITH_TAGS)


def test_plan_of_a_client_that_has_the_older_format(auth: Authorizer) -> None:
    other = Authorizer(auth.store, auth.tenant, auth.policy, auth.root)
    auth.change(f"{GRANT} until {EARLY}")
    assert other.plan(["drop role:r"]).removed[0]
    assert other.policy.digest == auth.policy.digest


# ---- removing what has ended -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("committed", [False, True])
def test_lost_commit_of_an_end_is_not_an_unknown_change(
    auth: Authorizer, clock: Clock, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    auth.change(f"{GRANT} until {EARLY}")
    before = auth.revision_now()
    clock(EARLY)
    commit, lost = RevisionGuard._commit, Unavailable("the connection is gone", unknown=True)

    def losing(self: RevisionGuard, tx: Any) -> None:
        monkeypatch.setattr(RevisionGuard, "_commit", commit)
        if committed:
            commit(self, tx)
        raise lost

    for call in (
        lambda: auth.change("add user:a"),
        lambda: auth.change_all(["add user:a", "add user:b"]),
        lambda: auth.change("add user:a", dry_run=True),
        lambda: can(auth),
    ):
        monkeypatch.setattr(RevisionGuard, "_commit", losing)
        with pytest.raises(Unavailable, match=r"the connection was lost while facts of .* ended; ask again") as error:
            call()
        assert not error.value.unknown
        if committed:
            break
    assert not can(auth)
    assert [each.statement for each in auth.log(after=before)] == [f"ended: {GRANT} until {EARLY}"]
    assert auth.verify_log().intact


def can(auth: Authorizer) -> bool:
    return auth.check("user:bob", "SELECT_TABLE", "table:hr.s.t").allowed


def can_modify(auth: Authorizer) -> bool:
    return auth.check("user:bob", "MODIFY_TABLE", "table:hr.s.t").allowed


def test_fact_that_ends_while_the_next_end_is_noted_is_removed(
    auth: Authorizer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth.change_all([f"{GRANT} until {EARLY}", f"allow MODIFY_TABLE on table:hr.s.t to role:r until {LATE}"])
    clock(EARLY)
    set_ends = MarkBook.set_ends

    def later(self: MarkBook, found: Marks) -> bool:
        clock(LATE)
        return set_ends(self, found)

    monkeypatch.setattr(MarkBook, "set_ends", later)
    assert granted(auth) == []
    assert auth.verify_log().intact


def test_clocks_that_differ_are_an_error(auth: Authorizer, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    auth.change(f"{GRANT} until {EARLY}")
    clock(EARLY)
    monkeypatch.setattr(auth.store._guard, "ender", lambda _: False)
    with pytest.raises(Inconsistent, match="compare the clocks of the servers") as error:
        can(auth)
    assert error.value.code == "ends_due"


def test_user_who_may_only_read_waits_for_another_client(auth: Authorizer, clock: Clock) -> None:
    auth.change(f"{GRANT} until {EARLY}")
    clock(EARLY)
    with as_reader(auth, timeout=10.0) as reader:
        with pytest.raises(Inconsistent, match=r"run `grantpath expire --watch --root .*` with a user") as error:
            reader.revocation("user:bob", "SELECT_TABLE", "table:hr.s.t")
        assert (error.value.code, error.value.retryable) == ("ends_due", True)
    with as_reader(auth) as reader:
        ending = threading.Timer(0.3, auth.expire)
        ending.start()
        assert not can(reader)
        ending.join()


TABLE, NAMES = "table:hr.s.t", ["SELECT_TABLE", "MODIFY_TABLE"]
ASKED: dict[str, Callable[[Authorizer], Any]] = {
    "check": lambda reader: [can(reader), can_modify(reader)],
    "check_many": lambda reader: [bool(each) for each in reader.check_many([("user:bob", n, TABLE) for n in NAMES])],
    "check_many of more": lambda reader: [
        bool(each) for each in reader.check_many([("user:bob", n, TABLE) for n in NAMES] * FEW)
    ][:2],
    "check_table": lambda reader: (
        reader.check_table({"subject": ["user:bob"] * 2, "name": NAMES, "object": [TABLE] * 2})
        .column("allowed")
        .to_pylist()
    ),
    "filter": lambda reader: [bool(reader.filter("user:bob", name, [TABLE])) for name in NAMES],
    "explain": lambda reader: [reader.explain("user:bob", name, TABLE).allowed for name in NAMES],
    "show": lambda reader: [
        any(each.privilege == name for each in reader.show(TABLE).grants_on.answer) for name in NAMES
    ],
    "grants": lambda reader: [bool(reader.grants(on=TABLE, privilege=name).answer) for name in NAMES],
    "can": lambda reader: [name in reader.can("user:bob", TABLE).allowed for name in NAMES],
    "who": lambda reader: [any(reader.who(name, TABLE)) for name in NAMES],
    "which": lambda reader: [any(reader.which("table", "user:bob", name)) for name in NAMES],
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_user_who_may_only_read_is_answered_beside_what_has_ended(
    auth: Authorizer, clock: Clock, ask: Callable[[Authorizer], list[bool]]
) -> None:
    """No client removes what has ended, so each answer is that of the facts in memory, without what has ended."""
    auth.change_all([f"{GRANT} until {EARLY}", f"{OTHER} until {LATE}"])
    stored = stored_revision(auth)
    with as_reader(auth, timeout=10.0) as reader:
        assert ask(reader) == [True, True]
        assert reader._without_ended is None, "the database answers while nothing has ended"
        for end, answers in ((EARLY, [False, True]), (LATE, [False, False])):
            clock(end)
            assert [ask(reader), ask(reader)] == [answers, answers]
        copy = reader._without_ended
        assert copy is not None and (copy.answered > 0, stored_revision(auth)) == (True, stored)
        auth.expire()
        assert ask(reader) == [False, False]
        auth.change(GRANT)
        assert ask(reader) == [True, False]


def test_facts_that_cannot_be_read_leave_the_error(
    auth: Authorizer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth.change(f"{GRANT} until {EARLY}")
    clock(EARLY)
    monkeypatch.setattr("grantpath.engine.authorizer.authorizer.READER_MEMORY", 0)
    with as_reader(auth, timeout=10.0) as reader:
        for _ in range(2):
            with pytest.raises(Inconsistent, match=r"run `grantpath expire --watch --root .*` with a user"):
                can(reader)


def test_threads_of_a_user_who_may_only_read_share_one_copy(auth: Authorizer, clock: Clock) -> None:
    auth.change(f"{GRANT} until {EARLY}")
    clock(EARLY)
    with as_reader(auth, timeout=10.0) as reader, ThreadPoolExecutor(8) as pool:
        assert [*pool.map(can, [reader] * 8)] == [False] * 8
        copy = reader._without_ended
        assert [*pool.map(can, [reader] * 8)] == [False] * 8
        assert reader._without_ended is copy


def test_question_that_the_facts_in_memory_do_not_answer_waits_once(
    auth: Authorizer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth.change(f"{GRANT} until {EARLY}")
    clock(EARLY)
    with as_reader(auth, timeout=10.0) as reader:
        page = reader.who("SELECT_TABLE", TABLE)
        waited: list[str] = []
        wait = reader.store._await_end

        def counted(root: str) -> None:
            waited.append(root)
            wait(root)

        monkeypatch.setattr(reader.store, "_await_end", counted)
        with pytest.raises(Inconsistent, match="run `grantpath expire --watch"):
            reader.who("SELECT_TABLE", TABLE, after="user:a", at=page.revision)
        assert len(waited) == 1


def test_facts_that_another_thread_begins_to_read_are_awaited(
    auth: Authorizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread is made before it is started, and cannot be awaited in between."""
    copy = Replica(auth.store, auth.tenant, auth.root)
    start, ready = threading.Thread.start, []

    def slowly(thread: threading.Thread) -> None:
        if thread.name == "grantpath-replica":
            other = ThreadPoolExecutor(1)
            ready.append(other.submit(copy.ready, auth.policy))
            time.sleep(0.2)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", slowly)
    assert copy.ready(auth.policy)
    assert [each.result() for each in ready] == [True]


def test_event_loop_of_a_user_who_may_only_read_is_answered(auth: Authorizer, clock: Clock) -> None:
    auth.change(f"{GRANT} until {EARLY}")
    clock(EARLY)

    async def run() -> list[bool]:
        store = AsyncStore(auth.store.connection, 10.0)
        store._guard.end_piece = as_reader(auth).store._guard.end_piece  # type: ignore[method-assign]
        async with AsyncAuthorizer(Authorizer(store, auth.tenant, auth.policy, auth.root), store) as reader:
            checks = [reader.check("user:bob", "SELECT_TABLE", TABLE) for _ in range(4)]
            return [bool(each) for each in await asyncio.gather(*checks)]

    assert asyncio.run(run()) == [False] * 4


def stored_revision(auth: Authorizer) -> int:
    """The revision of the root. Asking does not remove what has ended."""
    [row] = cypher.load("replica_proof").run(auth.store.read, root=auth.tenant, after=0, limit=0)
    return int(row["revision"])


def test_copy_of_a_user_who_may_only_read_leaves_out_what_has_ended(
    auth: Authorizer, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    auth.change_all([f"{GRANT} until {EARLY}", f"{OTHER} until {LATE}"])
    stored = stored_revision(auth)
    with as_reader(auth) as opened:
        reader = with_replica(opened)
        assert (can(reader), can_modify(reader)) == (True, True)
        before = reader.who("SELECT_TABLE", "table:hr.s.t")
        for end, modifies in ((EARLY, True), (LATE, False)):
            clock(end)
            answered = replica_of(reader).answered
            for each in (reader, reader, with_replica(opened)):  # one that is read now, too
                decision = each.check("user:bob", "SELECT_TABLE", "table:hr.s.t")
                assert (decision.allowed, decision.revision, decision.ends_due) == (False, stored, True)
                assert can_modify(each) is modifies
                assert list(each.who("SELECT_TABLE", "table:hr.s.t")) == []
            assert replica_of(reader).answered == answered + 6
        assert stored_revision(auth) == stored  # nothing was removed
        after = reader.who("SELECT_TABLE", "table:hr.s.t")
        assert (after.revision, after == before, [*before], [*after]) == (stored, False, ["user:bob"], [])
        assert [each.ends_due for each in (before, after, before.read(), after.read())] == [False, True] * 2
        assert [each.to_arrow().schema.metadata[b"ends_due"] for each in (before, after)] == [b"false", b"true"]
        many = reader.check_many([("user:bob", "SELECT_TABLE", TABLE)] * (FEW + 1))
        assert {each.ends_due for each in many} == {True}
        columns = {"subject": ["user:bob"], "name": ["SELECT_TABLE"], "object": [TABLE]}
        assert reader.check_table(columns).schema.metadata[b"ends_due"] == b"true"
        answered = replica_of(reader).answered
        explanation = reader.explain("user:bob", "SELECT_TABLE", TABLE)
        assert (explanation.allowed, explanation.revision, explanation.ends_due) == (False, stored, True)
        assert explanation.remedy == [GRANT]
        assert replica_of(reader).answered == answered + 1
        says = [each.message for each in caplog.records if "answers from memory leave them out" in each.message]
        assert len(says) == 4, "once for each copy and each time that other facts have ended"
        auth.expire()
        assert (can(reader), can_modify(reader)) == (False, False)
        decision = reader.check("user:bob", "SELECT_TABLE", "table:hr.s.t")
        assert (decision.revision, decision.ends_due) == (stored + 2, False)


@pytest.mark.parametrize("with_copy", [True, False], ids=["copy", "no copy"])
def test_explanation_is_answered_beside_what_has_ended_though_no_check_was_asked_lately(
    auth: Authorizer, clock: Clock, with_copy: bool
) -> None:
    auth.change(f"{GRANT} until {EARLY}")
    with as_reader(auth, timeout=10.0) as opened:
        reader = with_replica(opened) if with_copy else opened
        clock(EARLY)
        for _ in range(2):
            explanation = reader.explain("user:bob", "SELECT_TABLE", TABLE)
            assert (explanation.allowed, explanation.ends_due) == (False, True)
            reader.store._reader_until = 0.0  # as a minute later


def test_lists_of_a_user_who_may_only_read_say_that_facts_have_ended(auth: Authorizer, clock: Clock) -> None:
    auth.change_all(["add user:eve", f"member user:eve of role:r until {EARLY}"])
    asked: list[Callable[[Authorizer], Any]] = [
        lambda reader: reader.members("role:r"),
        lambda reader: reader.memberships("user:eve"),
        lambda reader: reader.list("table", under="catalog:hr"),
        lambda reader: reader.show("role:r").members.model_copy(update={"ends_due": reader.show("role:r").ends_due}),
    ]
    with as_reader(auth, timeout=10.0) as reader:
        before = [ask(reader) for ask in asked]
        assert not any(each.ends_due for each in before)
        clock(EARLY)
        after = [ask(reader) for ask in asked]
        assert all(each.ends_due and each.revision == before[0].revision for each in after)
        assert [len(each) for each in after] == [len(before[0]) - 1, 0, len(before[2]), len(before[3]) - 1]
        with pytest.raises(Inconsistent, match="run `grantpath expire --watch"):
            reader.members("role:r", after="user:bob", at=before[0].revision)


def test_copy_leaves_the_question_to_the_database_if_another_client_removes_what_has_ended(
    auth: Authorizer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth.change(f"{GRANT} until {EARLY}")
    proof = RootLog.proof
    with as_reader(auth) as opened:
        reader = with_replica(opened)
        clock(EARLY)

        def removed(log: RootLog, after: int, limit: int, *meanwhile: Any) -> Proof | None:
            if limit == 0:
                auth.expire()
            return proof(log, after, limit, *meanwhile)

        monkeypatch.setattr(RootLog, "proof", removed)
        answered = replica_of(reader).answered
        assert not can(reader)
        assert replica_of(reader).answered == answered


def test_pages_and_the_past_are_of_all_facts_that_are_stored(auth: Authorizer, clock: Clock) -> None:
    """A page and a past state have only their revision to say which facts they are of."""
    auth.change_all([f"{GRANT} until {EARLY}", "add user:eve", "member user:eve of role:r"])
    stored = stored_revision(auth)
    with as_reader(auth, timeout=10.0) as opened:
        reader = with_replica(opened)
        clock(EARLY)
        assert list(reader.who("SELECT_TABLE", "table:hr.s.t", limit=1)) == []
        for ask in (
            lambda: reader.who("SELECT_TABLE", "table:hr.s.t", limit=1, after="user:bob", at=stored),
            lambda: reader.check("user:bob", "SELECT_TABLE", "table:hr.s.t", as_of=stored),
        ):
            with pytest.raises(Inconsistent, match="run `grantpath expire --watch --root"):
                ask()
        auth.expire()
        assert reader.check("user:bob", "SELECT_TABLE", "table:hr.s.t", as_of=stored).allowed
        assert not reader.check("user:bob", "SELECT_TABLE", "table:hr.s.t", as_of=stored + 1).allowed


def test_user_who_may_write_again_removes_what_has_ended(
    auth: Authorizer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth.change(f"{GRANT} until {EARLY}")
    with as_reader(auth) as opened:
        reader = with_replica(opened)
        clock(EARLY)
        assert not can(reader)
        stored = stored_revision(auth)
        monkeypatch.setattr(reader.store._guard, "end_piece", auth.store._guard.end_piece)
        assert (can(reader), stored_revision(auth)) == (False, stored)
        monkeypatch.setattr(reader.store, "_reader_until", 0.0)
        assert (can(reader), stored_revision(auth)) == (False, stored + 1)


def test_copy_does_not_leave_out_any_number_of_facts(
    auth: Authorizer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth.change_all([f"{GRANT} until {EARLY}", f"{OTHER} until {EARLY}"])
    with as_reader(auth, timeout=10.0) as opened:
        reader = with_replica(opened)
        clock(EARLY)
        monkeypatch.setattr(replica_log, "MOST_ENDED", 2)
        assert not can(reader)
        monkeypatch.setattr(replica_log, "MOST_ENDED", 1)
        with pytest.raises(Inconsistent, match="run `grantpath expire --watch --root"):
            can(reader)


def test_fact_that_ends_before_a_load_has_its_lock_is_removed_first(
    auth: Authorizer, clock: Clock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    auth.change(f"{GRANT} until {EARLY}")
    clock(EARLY)
    has_due, left = Store.has_due, [False]
    monkeypatch.setattr(Store, "has_due", lambda store, root: left.pop() if left else has_due(store, root))
    (tmp_path / "subjects.csv").write_text("ref\nuser:new\n")
    assert importer.load(auth, tmp_path).changed
    assert [each.statement.split(":")[0] for each in auth.log(limit=2)] == ["ended", f"load {tmp_path.name}"]


def test_question_during_a_load_fails_at_once(
    auth: Authorizer, clock: Clock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    auth.change(f"{GRANT} until {EARLY}")
    took: list[float] = []
    finish = Bulk.finish

    def asked(bulk: Bulk, *given: Any) -> int:
        clock(EARLY)
        began = time.monotonic()
        with pytest.raises(Inconsistent, match="load"):
            can(auth)
        with ThreadPoolExecutor() as pool, pytest.raises(Inconsistent, match="load"):
            pool.submit(auth.store.end_due, auth.tenant).result()
        took.append(time.monotonic() - began)
        return finish(bulk, *given)

    monkeypatch.setattr(Bulk, "finish", asked)
    (tmp_path / "subjects.csv").write_text("ref\nuser:new\n")
    importer.load(auth, tmp_path)
    assert took[0] < 5.0
    assert not can(auth)


def test_restore_whose_last_answer_is_lost_is_a_restore(
    auth: Authorizer, tenant: Tenants, clock: Clock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    auth.change(f"{GRANT} until {EARLY}")
    exporter.dump(auth, tmp_path / "dump")
    clock(EARLY)
    finish = Bulk.finish

    def losing(bulk: Bulk, *given: Any) -> int:
        finish(bulk, *given)
        raise Unavailable("the connection is gone")

    monkeypatch.setattr(Bulk, "finish", losing)
    restored = tenant()
    assert importer.load(restored, tmp_path / "dump").restored
    assert restored.log()[-1].statement == f"ended: {GRANT} until {EARLY}"


def test_root_that_is_being_loaded_does_not_keep_others_waiting(
    auth: Authorizer, tenant: Tenants, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended: list[str] = []
    monkeypatch.setattr(registry, "names", lambda _: {"metalake:a": False, "metalake:gone": True, "metalake:z": False})

    def end(_: Store, root: str) -> bool:
        if root == "metalake:a":
            raise Inconsistent(f"a load of {root} is running")
        ended.append(root)
        if len(ended) > 2:
            raise GrantpathError("enough")
        return False

    monkeypatch.setattr(Store, "end_due", end)
    monkeypatch.setattr(ending_commands, "SECONDS", 0.0)
    with pytest.raises(GrantpathError, match="enough"):
        ending_commands._expire_all(CommandContext(), auth.store, watch=True)
    assert ended == ["metalake:z"] * 3
    assert capsys.readouterr().err == "a load of metalake:a is running; trying again\n"
    with pytest.raises(GrantpathError, match="a load of metalake:a is running"):
        ended.clear()
        ending_commands._expire_all(CommandContext(), auth.store, watch=False)
    assert ended == ["metalake:z"]


def test_watch_goes_on_after_an_error_that_passes(
    auth: Authorizer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = [Inconsistent("a load is running"), GrantpathError("the root is gone")]
    expired: list[Authorizer] = []

    def expire(authorizer: Authorizer) -> int:
        expired.append(authorizer)
        if len(expired) > 1:
            raise errors.pop(0)
        return 1

    monkeypatch.setattr(Authorizer, "expire", expire)
    monkeypatch.setattr(ending_commands, "SECONDS", 0.0)
    monkeypatch.setattr(ending_commands, "FIRST", 0.0)
    with pytest.raises(GrantpathError, match="the root is gone"):
        ending_commands._watch(auth.expire)
    assert len(expired) == 3
    assert "a load is running; trying again" in capsys.readouterr().err


def test_pause_after_errors_grows_and_ends_with_a_success(monkeypatch: pytest.MonkeyPatch) -> None:
    now, tried, fails = [0.0], list[float](), [True]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def work() -> None:
        tried.append(now[0])
        if fails[0]:
            raise Inconsistent("a load is running")

    retries = ending_commands._Retries()
    for second in range(100):
        now[0] = float(second)
        retries.run("metalake:a", work)
    assert tried == [0, 2, 6, 14, 30, 60, 90]
    fails[0], now[0] = False, 120.0
    retries.run("metalake:a", work)
    fails[0], now[0] = True, 121.0
    retries.run("metalake:a", work)
    now[0] = 123.0
    retries.run("metalake:a", work)
    assert tried[-3:] == [120, 121, 123]


def test_watch_of_all_roots_goes_on_if_they_cannot_be_listed(
    auth: Authorizer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def gone(_: Store) -> dict[str, bool]:
        raise GrantpathError("enough")

    monkeypatch.setattr(registry, "names", once(Unavailable("the connection is gone"), gone))
    monkeypatch.setattr(ending_commands, "SECONDS", 0.0)
    monkeypatch.setattr(ending_commands, "FIRST", 0.0)
    with pytest.raises(GrantpathError, match="enough"):
        ending_commands._expire_all(CommandContext(), auth.store, watch=True)
    assert capsys.readouterr().err == "the connection is gone; trying again\n"
