"""The revision guard, which keeps half a change out of every answer: the marks and the writer lock.

A commit becomes visible piece by piece, so a reader could see half of it. A writer therefore commits a mark (`begun` =
revision + 1) before its own commit, and after it sets `revision` to the same number. A reader reads both numbers
before and after its facts, in the same statement, and answers only when all of them are equal: then no commit was
under way at either end, nor came between. Writers of a root take turns by a lock on its :Writer node, held by the
transaction that writes. The holder of that lock that finds the numbers unequal repairs them: their writer is gone.

A writer may be paused for any time, and lose its lock meanwhile. Then its transaction can no longer be committed, and
it can set no mark, since marks are compared before they are set (graph/revision_marks.py). A holder that gives no sign
of life is ended by those that wait (graph/heartbeat.py).
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from grantpath.cypher import untorn
from grantpath.graph.connections import Connections
from grantpath.graph.driver import code_of, failures, in_words, is_retryable
from grantpath.graph.errors import Inconsistent, Unavailable, Unknown
from grantpath.graph.heartbeat import LockWatch
from grantpath.graph.load_recovery import Recovery
from grantpath.graph.revision_marks import MarkBook, Marks, single
from grantpath.graph.transaction import Row, Writing
from grantpath.graph.writer_lock import Held, WriterLock
from grantpath.graph.writer_queue import Turns

if TYPE_CHECKING:
    import neo4j

Result = TypeVar("Result")
log = logging.getLogger("grantpath.change")
ENDED = ("Neo.ClientError.Transaction.Terminated", "Neo.ClientError.Transaction.LockClientStopped")
PAUSE = 0.05  # seconds before a change is tried again
LOOK = 0.25  # seconds before a load that is under way is looked at again


class Overtaken(Exception):
    """Another writer has changed the marks, so this one no longer has the lock."""


class RevisionGuard:
    """The writing side of a store. May be shared by threads."""

    def __init__(self, connections: Connections, turns: Turns, timeout: float, stall_limit: float) -> None:
        """`timeout`, `stall_limit`: as in Store."""
        self._uri = connections.uri
        self._timeout = timeout
        self._marks = MarkBook(connections.guarding, timeout)
        self._watch = LockWatch(connections.guarding, stall_limit)
        self._lock = WriterLock(connections, self._watch)
        self._turns = turns

    def died(self, root: str) -> bool:
        """Has a load of this root died? Raises Inconsistent where one is under way, Unknown, Unavailable."""
        with self._errors():
            return self._has_dead_load(self._marks.read(root))

    def read_locked(self, text: str, parameters: Mapping[str, Any]) -> Row:
        """The answer with writers kept out; what a dead writer left is repaired on the way."""
        root, what = parameters["root"], "a question"
        with self._errors():
            self._has_dead_load(self._marks.read(root))  # one that is under way holds the lock for long
            with (
                self._turns.turn(root, what, self._timeout),
                self._lock.hold(root, what, self._timeout, quick=True) as held,
            ):
                self._repaired(held, time.monotonic() + self._timeout)
                row = single(held.tx.run(text, dict(parameters)), root)
        if not untorn(row):
            raise Inconsistent(f"{root}: no answer from one state of the graph could be had; ask again")
        return row

    def write(self, root: str, work: Callable[[Writing], Result], keep: bool = True) -> Result:
        """Runs `work` in one transaction under the root's lock, and commits what it wrote, if it wrote anything.

        Where `work` raises, nothing is written; nor with `keep` false, which tries a change out. A transient failure
        before the commit is tried again, so `work` may run more than once. Raises Unavailable; then
        `Unavailable.unknown` says that the commit's outcome is not known.
        """
        with self._errors():
            self._has_dead_load(self._marks.read(root))  # one that is under way holds the lock for long
        with self._turns.turn(root, "a change", self._timeout):
            deadline = time.monotonic() + self._timeout
            while True:
                try:
                    return self._write_once(root, work, keep, deadline)
                except Overtaken as error:
                    if time.monotonic() > deadline:
                        raise Inconsistent(f"{root}: {error}; nothing was changed, try again") from error
                except failures() as error:
                    if not _again(error) or time.monotonic() > deadline:
                        raise self._in_words(root, error) from error
                time.sleep(PAUSE)

    def _write_once(self, root: str, work: Callable[[Writing], Result], keep: bool, deadline: float) -> Result:
        with self._lock.hold(root, "a change", max(deadline - time.monotonic(), 0)) as held:
            base = self._repaired(held, deadline)
            writing = Writing(held.tx, root, base.revision, base.policy, base.made)
            result = work(writing)
            if not keep or not (writing.changes or writing.noted):
                return result
            if writing.changes:
                self._begin(held, base, writing.revision)
            self._commit(held.tx)
        if writing.changes:
            self._end(base, writing.revision)
        return result

    def _begin(self, held: Held, base: Marks, revision: int) -> None:
        """Keeps readers out. Raises Overtaken, or the driver's error, where the lock is not held any more."""
        held.need()
        if not self._marks.begin(base, revision):
            raise Overtaken("another writer came between")

    def _commit(self, tx: "neo4j.Transaction") -> None:
        """Commits. Raises Unavailable, `unknown`, where the connection went before the server had answered."""
        from neo4j.exceptions import ClientError, TransientError

        try:
            tx.commit()
        except (ClientError, TransientError):
            raise  # the server says that it is not done
        except failures() as error:
            unavailable = in_words(self._uri, error)
            raise Unavailable(f"{unavailable}; whether the change was made is not known", unknown=True) from error

    def _end(self, base: Marks, revision: int) -> None:
        """Lets readers in. It is done: where this mark cannot be set, the next holder of the lock sets it."""
        with suppress(*failures()):
            self._marks.end(base, revision)

    @contextmanager
    def locked(self, root: str, what: str) -> Iterator[Held]:
        """Keeps other writers out until the block ends, however long, for a load or an upgrade.

        What the block writes must be fenced: the lock may be lost meanwhile. Raises Inconsistent where another caller
        keeps the lock, or a load is under way; Unknown, Unavailable.
        """
        with self._errors(), self._alone_here(root, what) as held:
            held.died = self._dead_load(held, time.monotonic() + self._timeout)
            yield held

    @contextmanager
    def _alone_here(self, root: str, what: str) -> Iterator[Held]:
        """The turn of this thread and then the lock, for work of many transactions."""
        with (
            self._turns.turn(root, what, self._timeout, Inconsistent, brief=False),
            self._lock.hold(root, what, self._timeout, Inconsistent) as held,
        ):
            yield held

    def settled(self, held: Held) -> Marks:
        """The marks under a lock, repaired. Raises Unavailable."""
        with self._errors():
            return self._repaired(held, time.monotonic() + self._timeout)

    @contextmanager
    def alone(self, root: str, what: str) -> Iterator[Held]:
        """The same while a root is created or removed; it need not exist."""
        with self._errors(), self._alone_here(root, what) as held:
            with suppress(Unknown):
                held.died = self._dead_load(held, time.monotonic() + self._timeout)
                held.marks = self._marks.read(root)
                held.need()
            yield held

    # ---- what others left --------------------------------------------------------------------------------------
    def _repaired(self, held: Held, deadline: float) -> Marks:
        """The marks, equal again after a writer that is gone; only for the holder of the lock.

        Undoes or completes a load that died. Raises Inconsistent where one is under way, or where that takes longer;
        the driver's error where the lock was lost: then the marks may be those of a writer that is about to commit.
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
                raise Inconsistent(f"{held.root}: its marks change all the time; ask again")

    def _repair(self, held: Held, marks: Marks) -> bool:
        """The writer that left these marks is gone: this one had the lock when it read them, and after."""
        held.need()
        return self._marks.repair(marks)

    def _recover(self, held: Held, marks: Marks, deadline: float) -> None:
        def progress(done: int, of: int) -> None:
            if time.monotonic() > deadline and done < of:
                raise Inconsistent(
                    f"{held.root}: `{marks.what}` died and is being undone ({done} of {of} steps so far); ask again",
                    code="write_under_way",
                )

        assert marks.loading is not None
        log.warning("%s: `%s` died; undoing or completing it", held.root, marks.what)
        self._watch.end(marks.loading)
        held.beat()  # the dead load's mark gets this id
        Recovery(held.execute, held.root, held.id).run(marks.loading, progress)

    def _dead_load(self, held: Held, deadline: float) -> str | None:
        """The id of a load that died, none of its transactions left; waits for one that is under way."""
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
        """Did a load leave these marks that died since? Raises Inconsistent where it is under way."""
        if marks.loading is None:
            return False
        if not self._watch.is_alive(marks.root, marks.loading):
            return True
        raise Inconsistent(
            f"{marks.root}: `{marks.what}` is under way; nothing is answered or changed before it has ended. If it was"
            f" killed, run it again, or ask again: the first call after {self._watch.limit:g} s undoes or completes it",
            code="write_under_way",
        )

    def _in_words(self, root: str, error: Exception) -> Unavailable:
        if code_of(error) in ENDED:
            return Unavailable(
                f"{root}: the server ended the transaction of this change, or another client did because this one gave"
                f" no sign of life for {self._watch.limit:g} s; nothing was changed, try again"
            )
        return in_words(self._uri, error)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except failures() as error:
            raise in_words(self._uri, error) from error


def _again(error: Exception) -> bool:
    return is_retryable(error) or code_of(error) in ENDED
