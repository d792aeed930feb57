"""The revision guard: a seqlock of marks and a writer lock, so that no answer contains half a change.

A commit becomes visible piece by piece, so a reader could see half of it. A writer therefore commits a mark before its
own commit: it sets `begun` to the new revision. Afterwards it sets `revision` to the same number. A reader reads both
numbers before and after its facts, in the same statement, and answers only if all four are equal: then no commit was
running at the start or the end, and none happened in between. Writers of a root take turns: the transaction that writes
holds a lock on the root's :Writer node. If the holder of the lock finds unequal numbers, their writer is gone, and the
holder repairs them.

A short change sends its begin mark just before its last statement, and waits for the answer to the mark only after that
statement: the mark must be committed before the facts are, not before they are written.

A writer can be suspended for any length of time, and lose its lock meanwhile. Then its transaction can no longer
commit, and it cannot set a mark, because marks are compared before they are set (revision_marks.py). Waiting
callers end a holder that gives no sign of life (heartbeat.py).
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from grantpath.cypher import is_consistent
from grantpath.graph.client.address import shown
from grantpath.graph.client.connections import Connections
from grantpath.graph.client.driver import READ_ONLY, code_of, failures, in_words, is_retryable
from grantpath.graph.errors import Inconsistent, Unavailable, Unknown
from grantpath.graph.guard.heartbeat import LockWatch
from grantpath.graph.guard.load_recovery import Recovery
from grantpath.graph.guard.revision_marks import BeginMark, Begun, MarkBook, Marks, Overtaken, root_unknown, single
from grantpath.graph.guard.transaction import Row, Writing
from grantpath.graph.guard.writer_lock import Held, WriterLock
from grantpath.graph.guard.writer_queue import Turns

if TYPE_CHECKING:
    import neo4j

Result = TypeVar("Result")
log = logging.getLogger("grantpath.change")
ENDED = ("Neo.ClientError.Transaction.Terminated", "Neo.ClientError.Transaction.LockClientStopped")
PAUSE = 0.05  # seconds before a change is tried again
LOOK = 0.25  # seconds between two checks of a running load
# Removes facts that have ended and logs it, in the transaction of a change; false if there were none.
Ender = Callable[[Writing], bool]


class RevisionGuard:
    """The writing side of a store. May be shared by threads."""

    def __init__(self, connections: Connections, turns: Turns, timeout: float, stall_limit: float) -> None:
        """`timeout` and `stall_limit` have the same meaning as in Store."""
        self._uri = connections.uri
        self._timeout = timeout
        self._marks = MarkBook(connections.guarding, timeout)
        self._watch = LockWatch(connections.guarding, stall_limit)
        self._lock = WriterLock(connections, self._watch)
        self._turns = turns
        self.ender: Ender | None = None

    def died(self, root: str) -> bool:
        """Has a load of this root died? Raises Inconsistent if a load is running, Unknown, Unavailable."""
        with self._errors():
            return self._has_dead_load(self._marks.read(root))

    def has_due(self, root: str) -> bool:
        """Whether facts of the root have ended and were not removed yet. Raises Unknown, Unavailable."""
        with self._errors():
            return self._marks.read(root).due

    def read_locked(self, text: str, parameters: Mapping[str, Any]) -> Row:
        """The answer, read under the writer lock; repairs what a dead writer left."""
        root, what = parameters["root"], "a question"
        with self._errors():
            self._has_dead_load(self._marks.read(root))  # a running load holds the lock for long: fail at once
            with (
                self._turns.turn(root, what, self._timeout),
                self._lock.hold(root, what, self._timeout, quick=True, read=True) as held,
            ):
                self._base(held, time.monotonic() + self._timeout)
                row = single(held.tx.run(text, dict(parameters)), root)
        if not is_consistent(row):
            raise Inconsistent(f"{root}: no answer from a single state of the graph was possible; ask again")
        return row

    def write(
        self,
        root: str,
        work: Callable[[Writing], Result],
        commit: bool = True,
        prechecked: bool = False,
        waited: float = 0.0,
    ) -> Result:
        """Runs `work` in one transaction under the root's lock, and commits if `work` wrote anything.

        The parameters and errors are those of Store.write.
        """
        if not prechecked:
            with self._errors():
                self._has_dead_load(self._marks.read(root))  # a running load holds the lock for long: fail at once
        while True:
            with self._turns.turn(root, "a change", self._timeout, waited=waited):
                try:
                    return self._write_in_turn(root, work, commit)
                except _Ended:
                    waited = 0.0  # the facts that had ended are removed, or a part of them: others may have a turn

    def end_piece(self, root: str) -> None:
        """Removes facts of the root that have ended, as many as one transaction may. Raises the errors of `write`."""
        with self._errors():
            self._has_dead_load(self._marks.read(root))  # a running load holds the lock for long: fail at once
        with self._turns.turn(root, "a question", self._timeout), suppress(_Ended):
            self._write_in_turn(root, lambda _: None, commit=True)

    def _write_in_turn(self, root: str, work: Callable[[Writing], Result], commit: bool) -> Result:
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                return self._write_once(root, work, commit, deadline)
            except Overtaken as error:
                if time.monotonic() > deadline:
                    raise Inconsistent(f"{root}: {error}; nothing was changed, try again") from error
            except failures() as error:
                if not _again(error) or time.monotonic() > deadline:
                    raise self._in_words(root, error) from error
            time.sleep(PAUSE)

    def _write_once(self, root: str, work: Callable[[Writing], Result], commit: bool, deadline: float) -> Result:
        """The result of `work`. Raises _Ended, without a call of `work`, if facts had ended: they are removed first."""
        with self._lock.hold(root, "a change", max(deadline - time.monotonic(), 0), read=True) as held:
            base, tail = self._base(held, deadline)
            if base.due:
                written = self._end_due(held, base, tail)
            else:
                written, result = self._commit_work(held, base, tail, work, commit)
        if written is not None:
            self._end(base, written)
        if base.due:
            raise _Ended
        return result

    def _end_due(self, held: Held, base: Marks, tail: Row | None) -> int | None:
        """Removes facts that have ended, and commits. Returns the new revision; if no fact has ended, notes when the
        next one ends, and returns None."""
        end = partial(self._commit_work, held, base, tail, self._ender(held.root), commit=True)
        try:
            written, any_due = end()
            if not any_due and self._marks.set_ends(base):  # one has ended since
                written, any_due = end()
                if not any_due:
                    raise Inconsistent(
                        f"{held.root}: a fact has ended by one clock and not by another; ask again, and compare the"
                        " clocks of the servers",
                        code="ends_due",
                    )
        except Unavailable as error:
            if not error.unknown:
                raise
            # the caller's own question or change was not sent yet, so its outcome is not unknown
            raise Unavailable(
                f"{shown(self._uri)}: the connection was lost while facts of {held.root} ended; ask again"
            ) from error
        return written

    def _commit_work(
        self, held: Held, base: Marks, tail: Row | None, work: Callable[[Writing], Result], commit: bool
    ) -> tuple[int | None, Result]:
        """Runs `work` and commits what it wrote, unless `commit` is false. Returns the new revision, if there is one,
        and the result of `work`."""
        with BeginMark(partial(self._begin, base), partial(self._withdraw, base)) as mark:
            begin = mark.send if commit else _nothing
            writing = Writing(held.tx, held.root, base.revision, base.policy, base.made, tail, begin)
            result = work(writing)
            if not commit or not (writing.changes or writing.noted):
                return None, result
            if writing.changes:
                mark.send(writing.revision, writing.ends)
                mark.need()
        self._commit(held.tx)
        return writing.revision if writing.changes else None, result

    def _ender(self, root: str) -> Ender:
        if self.ender is None:
            raise Inconsistent(
                f"{root}: a grant or a membership has ended and is not removed yet; ask again after a client that may"
                f" change the root, such as `grantpath expire --root {root}`, has removed it",
                code="ends_due",
            )
        return self.ender

    def _begin(self, base: Marks, revision: int, ends: int | None) -> Begun:
        """Blocks readers, until `_end`.

        The lock may have been lost by now. If another writer has changed the marks since, the mark is not set.
        Otherwise it is set, but the next statement of the transaction, or its commit, fails; then the mark is
        withdrawn, or the next holder of the lock repairs it. So the mark of a writer that has lost its lock only makes
        readers wait.
        """
        return self._marks.begin(base, revision, ends)

    def _withdraw(self, base: Marks, revision: int) -> None:
        """Admits readers after work that failed. Ignores a failure: the next holder of the lock repairs the marks."""
        with suppress(*failures()):
            self._marks.repair(replace(base, begun=revision))

    def _commit(self, tx: "neo4j.Transaction") -> None:
        """Commits. Raises Unavailable, `unknown`, if the connection was lost before the server answered."""
        from neo4j.exceptions import ClientError, TransientError

        try:
            tx.commit()
        except (ClientError, TransientError):
            raise  # the server reports that it did not commit
        except failures() as error:
            unavailable = in_words(self._uri, error)
            raise Unavailable(f"{unavailable}; it is not known whether the change was made", unknown=True) from error

    def _end(self, base: Marks, revision: int) -> None:
        """Admits readers. Ignores a failure: the change is committed, and the next holder of the lock sets the mark."""
        with suppress(*failures()):
            self._marks.end(base, revision)

    @contextmanager
    def locked(self, root: str, what: str) -> Iterator[Held]:
        """Blocks other writers until the block ends, without a time limit, for a load or an upgrade.

        The block must fence its writes, since the lock may be lost meanwhile. Raises Inconsistent if another caller
        holds the lock or a load is running; Unknown, Unavailable.
        """
        with self._errors(), self._alone_here(root, what) as held:
            held.died = self._dead_load(held, time.monotonic() + self._timeout)
            yield held

    @contextmanager
    def _alone_here(self, root: str, what: str) -> Iterator[Held]:
        """Takes this thread's turn and then the lock, for work of many transactions."""
        with (
            self._turns.turn(root, what, self._timeout, Inconsistent, brief=False),
            self._lock.hold(root, what, self._timeout, Inconsistent) as held,
        ):
            yield held

    def settled(self, held: Held) -> Marks:
        """The marks of a root whose lock is held, repaired if a dead writer left them unequal. Raises Unavailable."""
        with self._errors():
            return self._repaired(held, time.monotonic() + self._timeout)

    @contextmanager
    def alone(self, root: str, what: str) -> Iterator[Held]:
        """Like `locked`, but for creating or removing a root, which need not exist."""
        with self._errors(), self._alone_here(root, what) as held:
            with suppress(Unknown):
                held.died = self._dead_load(held, time.monotonic() + self._timeout)
                held.marks = self._marks.read(root)
                held.need()
            yield held

    # ---- recovery ----------------------------------------------------------------------------------------------
    def _base(self, held: Held, deadline: float) -> tuple[Marks, Row | None]:
        """The equal marks on which a writer bases its work, and the end of the log, or None if it may have changed.

        Both were read by the statement that took the lock, once it had the lock, so no other writer can have committed
        since. Unequal marks are read again before they are repaired: the last holder has released the lock by its
        commit, and may be about to set its end mark. Raises the errors of `_repaired`.
        """
        assert held.first is not None, "the lock was taken without reading"
        if held.first["revision"] is None:
            root_unknown(held.root)
        marks = Marks.of(held.root, held.first)
        return (marks, held.first) if marks.settled else (self._repaired(held, deadline), None)

    def _repaired(self, held: Held, deadline: float) -> Marks:
        """The marks, made equal if a dead writer left them unequal; only for the holder of the lock.

        Undoes or completes a load that died. Raises Inconsistent if a load is running or the recovery takes too long,
        and the driver's error if the lock was lost: the marks may then be those of a writer that is about to commit.
        """
        while True:
            marks = self._marks.read(held.root)
            if self._has_dead_load(marks):
                self._recover(held, marks, deadline)
            elif marks.begun == marks.revision:
                return marks
            elif self._repair(held, marks):
                log.warning("%s: repaired the marks of a writer that is gone, at revision %d", held.root, marks.newest)
            elif time.monotonic() > deadline:
                raise Inconsistent(f"{held.root}: its revision marks keep changing; ask again")

    def _repair(self, held: Held, marks: Marks) -> bool:
        """Repairs the marks. Their writer is gone if this caller still holds the lock under which it read them."""
        held.need()
        return self._marks.repair(marks)

    def _recover(self, held: Held, marks: Marks, deadline: float) -> None:
        def progress(done: int, of: int) -> None:
            if time.monotonic() > deadline and done < of:
                raise Inconsistent(
                    f"{held.root}: `{marks.what}` died and is being undone ({done} of {of} steps done); ask again",
                    code="write_under_way",
                )

        assert marks.loading is not None
        log.warning("%s: `%s` died; undoing or completing it", held.root, marks.what)
        self._watch.end(marks.loading)
        held.beat()  # first: other callers look for the heartbeat of the id on the mark, which becomes this caller's
        Recovery(held.execute, held.root, held.id).run(marks.loading, progress)

    def _dead_load(self, held: Held, deadline: float) -> str | None:
        """The id of a load that died, once its transactions are ended; waits for a running load."""
        while True:
            marks = self._marks.read(held.root)
            try:
                if not self._has_dead_load(marks):
                    return None
            except Inconsistent:
                if time.monotonic() > deadline:
                    raise
                time.sleep(LOOK)
                continue
            assert marks.loading is not None
            log.warning("%s: `%s` died; undoing or completing it", held.root, marks.what)
            self._watch.end(marks.loading)
            return marks.loading

    def _has_dead_load(self, marks: Marks) -> bool:
        """Did a load that has died leave these marks? Raises Inconsistent if the load is still running."""
        if marks.loading is None:
            return False
        if not self._watch.is_alive(marks.root, marks.loading):
            return True
        raise Inconsistent(
            f"{marks.root}: `{marks.what}` is under way; reads and changes are refused until it ends. If it was"
            f" killed, run it again, or ask again: the first call after {self._watch.limit:g} s undoes or completes it",
            code="write_under_way",
        )

    def _in_words(self, root: str, error: Exception) -> Unavailable:
        if code_of(error) in ENDED:
            return Unavailable(
                f"{root}: the transaction of this change was ended by the server, or by another client because this one"
                f" gave no sign of life for {self._watch.limit:g} s; nothing was changed, try again"
            )
        return in_words(self._uri, error)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except failures() as error:
            raise in_words(self._uri, error) from error


class _Ended(Exception):
    """Facts that had ended were removed, or none was left: the change can be made now."""


def _nothing(_: int, __: int | None) -> None:
    """Sends no begin mark: nothing will be committed."""


def _again(error: Exception) -> bool:
    return (is_retryable(error) and code_of(error) not in READ_ONLY) or code_of(error) in ENDED
