"""The database: guarded reads, single statements and transactions; revision_guard.py has the writing side."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from grantpath import cypher
from grantpath.cypher import is_consistent
from grantpath.graph.client import telemetry
from grantpath.graph.client.connection import Connection
from grantpath.graph.client.connections import Connections
from grantpath.graph.client.driver import failures, in_words, is_of_reader, is_retryable
from grantpath.graph.errors import Inconsistent, Unavailable
from grantpath.graph.forks import remake_in_children
from grantpath.graph.guard.end_timer import timer
from grantpath.graph.guard.revision_guard import Ender, RevisionGuard
from grantpath.graph.guard.revision_marks import Marks, root_unknown
from grantpath.graph.guard.transaction import Row, Writing, row_of
from grantpath.graph.guard.writer_lock import Held
from grantpath.graph.guard.writer_queue import Turns
from grantpath.graph.language.inputs import require_seconds

if TYPE_CHECKING:
    import neo4j

QUICK_TRIES, QUICK_SECONDS = 12, 2.0  # the limits of a disturbed read; beyond them, it takes a turn
FETCH = 20_000  # rows that the server sends at a time in a read of a whole root
STALL_LIMIT = 15.0
PAUSE, LONG_PAUSE = 0.01, 0.1  # seconds between two looks whether facts that have ended are removed
ENDS_SECONDS = 2.0  # that a user who may only read waits for another client to remove what has ended
READER_SECONDS = 60.0  # after this time, a database user who could only read is tried again
PATIENCE = 1.0  # seconds that a read waits for the revision `at_least`
Result = TypeVar("Result")


class Store:
    """One database. May be shared by threads, and used on both sides of a fork: each process has its own connections.

    `timeout`, in seconds, limits each single wait of a call: for the server's next message, for a free connection, and
    for its turn to write to a root. It does not limit a call as a whole:

    - A question that no writer disturbs is answered or raises within the timeout. One that writers disturb again and
      again waits for a turn among those of its process, then for the turn to take the root's lock, and for the lock.
    - A change waits for its turn up to the timeout, and for the lock up to the timeout. After that it runs as long as
      the server gives signs of life.
    - A read of a whole root takes as long as the server keeps sending.
    - A client that is suspended or lost in the middle of a change, a load or a drop blocks its root for `stall_limit`
      seconds at most. Then the next caller ends or completes its work and continues. A client that is slow but alive,
      so that its process gives signs of life, is never ended.
    """

    def __init__(
        self,
        connection: Connection,
        timeout: float = 10.0,
        stall_limit: float = STALL_LIMIT,
        keep_plans: bool = False,
    ) -> None:
        """`keep_plans`: the server does not plan a query again because the sizes of roots have changed. For runs whose
        roots are small and change all the time, so that planning would take most of the time.

        Raises InvalidInput, Unavailable."""
        require_seconds("timeout", timeout)
        require_seconds("stall_limit", stall_limit)
        self._timeout = timeout
        self._connections = Connections(connection, timeout, keep_plans)
        self.uri = self._connections.uri
        self._turns = Turns()
        self._guard = RevisionGuard(self._connections, self._turns, timeout, stall_limit)
        self.after_fork()
        remake_in_children(self)

    def after_fork(self) -> None:
        """Called in a forked child, where no other thread is left."""
        self._ending: dict[str, Lock] = {}
        self._reader_until = 0.0  # until then, the database user is taken for one who may only read

    @property
    def connection(self) -> Connection:
        """The server, the database and the login."""
        return self._connections.connection

    @property
    def only_reads(self) -> bool:
        """Whether the database user could not remove what has ended when it was last tried."""
        return time.monotonic() < self._reader_until

    @property
    def timeout(self) -> float:
        """The seconds that the server may take for its next message."""
        return self._timeout

    def close(self) -> None:
        """Closes every connection; later calls raise Unavailable. Waits a moment for the thread that removes what ends,
        if it is asking now."""
        timer.forget(self)
        self._connections.close()

    # ---- reading ---------------------------------------------------------------------------------------------
    def read(self, text: str, parameters: Mapping[str, Any]) -> list[Row]:
        """The rows of a query that needs no guard. Raises Unavailable."""
        return [record.data() for record in self._ask(text, parameters)]

    def read_values(
        self, text: str, parameters: Mapping[str, Any], meanwhile: Callable[[], None] | None = None
    ) -> list[Row]:
        """Like `read`, but faster, for a query that returns neither nodes, relationships nor paths.

        If possible, `meanwhile` is called once, as soon as the query is sent, while the server works on it.
        """
        return [row_of(record) for record in self._ask(text, parameters, meanwhile)]

    def read_all(self, text: str, parameters: Mapping[str, Any]) -> Iterator[Row]:
        """Streams the rows of a query about a whole root, without a guard and without a time limit.

        The root may change between two rows: compare the marks before and after. Raises Unavailable if the server gives
        no signs of life.
        """
        from neo4j import Query

        with self._errors(), self._connections.writing(FETCH) as session:
            for record in session.run(Query(text, timeout=0), dict(parameters)):
                yield row_of(record)

    def read_guarded(self, text: str, parameters: Mapping[str, Any], at_least: int | None = None) -> Row:
        """The one row, from one committed state, of a query that returns both marks before and after its facts.

        Takes one round trip if no change is running. If the graph is older than the revision `at_least`, the query is
        repeated for up to PATIENCE seconds. Raises Unknown if the root does not exist, Inconsistent if no such answer
        was possible, Unavailable.
        """
        deadline = time.monotonic() + PATIENCE
        while True:
            row = self._read_consistent(text, parameters)
            if at_least is None or row["revision"] >= at_least:
                return row
            if time.monotonic() > deadline:
                raise Inconsistent(
                    f"{parameters['root']} is at revision {row['revision']}, older than revision {at_least}, which "
                    "the caller requires; ask again, or check that the revision is one of this root",
                    code="revision_ahead",
                )
            time.sleep(0.05)

    def _read_consistent(self, text: str, parameters: Mapping[str, Any]) -> Row:
        deadline = time.monotonic() + self._timeout
        while True:
            row = self._read_quickly(text, parameters) or self._read_in_turn(text, parameters)
            if not is_consistent(row):
                telemetry.locked_read(parameters["root"], text)
                row = self._guard.read_locked(text, parameters)
            if not row["due"]:
                return row
            if time.monotonic() > deadline:
                raise Inconsistent(
                    f"{parameters['root']}: facts end again and again while this is asked, or the clocks of"
                    " the servers differ; ask again",
                    code="ends_due",
                )
            if not self.end_due(parameters["root"]):
                time.sleep(PAUSE)  # another client has done it, or the clock of another server is late

    def _read_quickly(self, text: str, parameters: Mapping[str, Any]) -> Row | None:
        """The answer, repeated if a writer disturbed it; None if further tries are not worthwhile."""
        root, deadline = parameters["root"], time.monotonic() + QUICK_SECONDS
        for attempt in range(QUICK_TRIES):
            row = self._ask_one(text, parameters)
            if is_consistent(row):
                return row
            telemetry.count("reads.torn")
            if self._turns.crowded(root):
                return None  # each further try would cost the writers time, too
            late = time.monotonic() > deadline
            # raises at once if a load is running
            if (late or attempt == 1) and self._guard.died(root):
                return None
            if late or (attempt > 1 and self._turns.busy(root)):
                return None  # writers would always disturb a query that takes longer than their pauses
            time.sleep(min(0.0005 * 2**attempt, 0.05))
        return None

    def _read_in_turn(self, text: str, parameters: Mapping[str, Any]) -> Row:
        """The answer while no thread of this process writes; a writer of another process may still disturb it."""
        root = parameters["root"]
        with self._turns.turn(root, "a question", self._timeout, shared=True):
            return self._ask_one(text, parameters)

    def _ask_one(self, text: str, parameters: Mapping[str, Any]) -> Row:
        records = self._ask(text, parameters)
        return dict(records[0]) if records else root_unknown(parameters["root"])

    def _ask(
        self, text: str, parameters: Mapping[str, Any], meanwhile: Callable[[], None] | None = None
    ) -> "list[neo4j.Record]":
        """The rows of an answer. Retried once after a lost connection or login, unless that took long."""
        soon = time.monotonic() + self._timeout / 10  # both tries together must stay near the timeout
        with self._errors():
            try:
                return self._ask_once(text, parameters, meanwhile)
            except failures() as error:
                if not is_retryable(error) or time.monotonic() > soon:
                    raise
                telemetry.retried(text, error)
            return self._ask_once(text, parameters)

    def _ask_once(
        self, text: str, parameters: Mapping[str, Any], meanwhile: Callable[[], None] | None = None
    ) -> "list[neo4j.Record]":
        from neo4j import Query

        began = time.perf_counter()
        with self._connections.reading(meanwhile) as session:
            answer = list(session.run(Query(text, timeout=self._timeout), dict(parameters)))
        telemetry.queried(text, began)
        return answer

    # ---- writing ---------------------------------------------------------------------------------------------
    def write(
        self,
        root: str,
        work: Callable[[Writing], Result],
        commit: bool = True,
        prechecked: bool = False,
        waited: float = 0.0,
    ) -> Result:
        """Runs `work` in one transaction under the root's lock, and commits if `work` wrote anything.

        `prechecked`: the caller has just read the marks, and no load is running; otherwise they are read first, so
        that a running load is reported at once. `waited`: the seconds for which the caller has waited for its turn.
        Nothing is written if `work` raises or if `commit` is false (a dry run). After a transient failure before the
        commit, the transaction is retried, so `work` may run more than once. Raises Unavailable; if
        `Unavailable.unknown` is true, the outcome of the commit is not known.
        """
        began, tried = time.monotonic() - waited, False

        def timed(writing: Writing) -> Result:
            nonlocal tried
            if tried:
                telemetry.changed_again(root)
            else:
                telemetry.lock_waited(time.monotonic() - began)
            tried = True
            return work(writing)

        return self._guard.write(root, timed, commit, prechecked, waited)

    def ends_by(self, ender: Ender) -> None:
        """From now on, facts that have ended are removed by `ender`, before any question or change."""
        self._guard.ender = ender

    def watch_ends(self, root: str) -> None:
        """From now on, a thread of this process removes what ends in this root, ahead of questions and changes. They do
        not rely on it. It stops when the store is closed."""
        timer.watch(self, root)

    def has_due(self, root: str) -> bool:
        """Whether facts of the root have ended and were not removed yet. Raises Unknown, Unavailable."""
        return self._guard.has_due(root)

    def end_due(self, root: str) -> bool:
        """Removes the facts of the root that have ended, piece by piece. Of the threads that want this, one at a time
        does it; the others then find that nothing is left, and return false. If the database user may only read, waits
        until another client does it. Raises the errors of `write`."""
        lock = self._ending.setdefault(root, Lock())
        if not lock.acquire(timeout=self._timeout):
            raise Inconsistent(
                f"{root}: many facts have ended and are being removed; ask again when that is done", code="ends_due"
            )
        found = False
        try:
            while self.has_due(root):
                found = True
                self._guard.end_piece(root)
            return found
        except Unavailable as error:
            if not is_of_reader(error):
                raise
            self._reader_until = time.monotonic() + READER_SECONDS
        finally:
            lock.release()
        self._await_end(root)
        return True

    def end_some(self, root: str) -> bool:
        """Removes facts of the root that have ended, as many as one transaction may. Returns false if the database user
        may only read; for READER_SECONDS, this is then returned without a try. Raises the errors of `write`."""
        if self.only_reads:
            return False
        try:
            self._guard.end_piece(root)
        except Unavailable as error:
            if not is_of_reader(error):
                raise
            self._reader_until = time.monotonic() + READER_SECONDS
            return False
        return True

    def end_next(self, root: str) -> float | None:
        """Removes facts of the root that have ended, as many as one transaction may. Returns the seconds until the next
        call: until the next fact ends, by the server's clock, or a moment if some have ended. None if the store is
        closed. Raises the errors of `write`."""
        if self._connections.closed:
            return None
        if self.only_reads:
            return READER_SECONDS
        rows = cypher.load("next_end").run(self.read_values, root=root)
        if not rows or rows[0]["seconds"] is None:
            return math.inf
        seconds: float = rows[0]["seconds"]
        if seconds > 0:
            return seconds
        return LONG_PAUSE if self.end_some(root) else READER_SECONDS

    def _await_end(self, root: str) -> None:
        """Waits until another client has removed what has ended."""
        deadline = time.monotonic() + min(self._timeout, ENDS_SECONDS)
        while self.has_due(root):
            if time.monotonic() > deadline:
                raise Inconsistent(
                    f"{root}: a grant or a membership has ended, and the database user may not remove it; run"
                    f" `grantpath expire --watch --root {root}` with a user who may change the root, and ask again",
                    code="ends_due",
                )
            time.sleep(LONG_PAUSE)

    def locked(self, root: str, what: str) -> AbstractContextManager[Held]:
        """Blocks other writers until the block ends, without a time limit, for a load or an upgrade; `what` names it.

        The block must fence its writes, since the lock may be lost meanwhile. Raises Inconsistent if another caller
        holds the lock or a load is running; Unknown, Unavailable.
        """
        return self._guard.locked(root, what)

    def alone(self, root: str, what: str) -> AbstractContextManager[Held]:
        """Like `locked`, but for creating or removing a root, which need not exist."""
        return self._guard.alone(root, what)

    def settled(self, held: Held) -> Marks:
        """The marks of a root whose lock is held, repaired if a dead writer left them unequal. Raises Unavailable."""
        return self._guard.settled(held)

    def execute(self, text: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        """Runs one statement in a transaction of its own, e.g. for the schema or a new root. Raises Unavailable."""
        began = time.perf_counter()
        rows: list[Row] = self.transaction(
            lambda tx: [record.data() for record in tx.run(text, dict(parameters or {}))]
        )
        telemetry.queried(text, began)
        return rows

    def transaction(self, work: Callable[["neo4j.ManagedTransaction"], Result]) -> Result:
        """Runs `work` in one transaction without the guard, retried after transient errors. Raises Unavailable."""
        with self._errors(), self._connections.writing() as session:
            return session.execute_write(work)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except failures() as error:
            raise in_words(self.uri, error) from error
