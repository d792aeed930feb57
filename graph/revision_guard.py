"""The revision guard, which keeps half a change out of every answer: the marks and the writer lock.

A commit becomes visible piece by piece, so a reader could see half of it. A writer therefore commits a mark (`begun` =
revision + 1) before its own commit, and after it sets `revision` to the same number. A reader reads both numbers
before and after its facts, in the same statement, and answers only when all of them are equal: then no commit was
under way at either end, nor came between. Writers of a root take turns by a lock on its :Writer node, held by the
transaction that writes; whoever holds that lock and finds the numbers unequal knows that their writer is gone, and
mends them.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, TypeVar

import neo4j
from neo4j import Query
from neo4j.exceptions import ClientError, DriverError, Neo4jError, TransientError

from grantpath.graph.connections import Connections
from grantpath.graph.driver import in_words
from grantpath.graph.errors import Inconsistent, Unavailable, Unknown
from grantpath.graph.turns import Turns
from grantpath.graph.writing import Row, Writing

Result = TypeVar("Result")


class RevisionGuard:
    """The writing side of a store. May be shared by threads."""

    def __init__(self, connections: Connections, timeout: float) -> None:
        """`timeout`: as in Store."""
        self._uri = connections.uri
        self._timeout = timeout
        self._waiting, self._locking, self._quick = connections.writing, connections.locking, connections.reading
        self._turns = Turns()

    def read_locked(self, text: str, parameters: Mapping[str, Any]) -> Row:
        """The answer with writers kept out; a mark that a dead writer left is mended on the way."""
        root = parameters["root"]
        with self._errors():
            self.marks(root)  # a load holds the lock for long
            with (
                self._turns.turn(root, "a question", self._timeout),
                self._locking() as session,
                session.begin_transaction(timeout=self._timeout) as tx,
            ):
                tx.run(_LOCK, root=root).consume()
                self.revision(root)
                row = single(tx.run(text, dict(parameters)), root)
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
            self.marks(root)  # a load holds the lock for long
        with self._turns.turn(root, "a change", self._timeout):
            deadline = time.monotonic() + self._timeout
            while True:
                try:
                    return self._write_once(root, work, keep)
                except (Neo4jError, DriverError, OSError) as error:
                    if not _again(error) or time.monotonic() > deadline:
                        raise in_words(self._uri, error) from error
                    time.sleep(0.05)

    def _write_once(self, root: str, work: Callable[[Writing], Result], keep: bool) -> Result:
        with self._waiting() as session:
            with session.begin_transaction(timeout=self._timeout * 30) as tx:
                tx.run(_LOCK, root=root).consume()
                writing = Writing(tx, root, *self._mended(root))
                result = work(writing)
                if not keep:
                    tx.rollback()
                if tx.closed() or not (writing.changes or writing.noted):
                    return result
                if writing.changes:
                    self._mark(_BEGIN, root, writing.revision)
                self._commit(tx)
            if writing.changes:
                # It is done. Where this mark cannot be set any more, the next who holds the lock sets it.
                with suppress(Neo4jError, DriverError, OSError):
                    self._mark(_END, root, writing.revision)
            return result

    def _commit(self, tx: neo4j.Transaction) -> None:
        """Commits. Raises Unavailable, `unknown`, where the connection went before the server had answered."""
        try:
            tx.commit()
        except (ClientError, TransientError):
            raise  # the server says that it is not done
        except (Neo4jError, DriverError, OSError) as error:
            unavailable = in_words(self._uri, error)
            raise Unavailable(f"{unavailable}; whether the change was made is not known", unknown=True) from error

    def revision(self, root: str) -> int:
        """The revision, its marks mended; only for who holds the lock. Raises Inconsistent: a load is unfinished."""
        return self._mended(root)[0]

    def _mended(self, root: str) -> tuple[int, str, str]:
        """The revision, the digest of the policy, and the root's creation id."""
        marks = self.marks(root)
        if marks["begun"] > marks["revision"]:
            self._mark(_END, root, marks["begun"])
        return max(int(marks["begun"]), int(marks["revision"])), marks["policy"], marks["made"]

    def marks(self, root: str) -> Row:
        """The root's marks. Raises Inconsistent where a load is under way."""
        with self._quick() as session:
            marks = single(session.run(Query(_MARKS, timeout=self._timeout), root=root), root)
        if marks["loading"] is not None:
            raise Inconsistent(
                f"{root}: `{marks['what']}` is under way; nothing is answered or changed before it has ended. If it"
                " was killed, run it again: that undoes or ends it first",
                code="write_under_way",
            )
        return marks

    def _mark(self, text: str, root: str, revision: int) -> None:
        with self._quick() as session:
            session.run(text, root=root, revision=revision).consume()

    @contextmanager
    def locked(self, root: str) -> Iterator[str | None]:
        """Keeps other writers out until the block ends, however long; yields the id of a load that died, if one did.

        What the block writes, it writes by other transactions. Raises Inconsistent where somebody else keeps the lock.
        """
        with self._errors(), self._alone_here(root), self._waiting() as session:
            self._try_lock(root)
            with session.begin_transaction(timeout=0) as tx:  # 0: the server's own limit doesn't end it either
                tx.run(_LOCK, root=root).consume()
                marks = single(tx.run(_MARKS, root=root), root)
                if marks["loading"] is None:
                    self.revision(root)
                yield marks["loading"]

    @contextmanager
    def alone(self, root: str) -> Iterator[Callable[[], object]]:
        """Keeps writers out while a root is made or taken away; calling what it yields takes the lock away, too.

        Raises Inconsistent where somebody else keeps the lock.
        """
        with self._errors(), self._alone_here(root), self._waiting() as session:
            self._try_lock(root)
            with session.begin_transaction(timeout=0) as tx:
                tx.run(_LOCK, root=root).consume()
                yield lambda: tx.run(_UNLOCK, root=root).consume()

    def _alone_here(self, root: str) -> AbstractContextManager[None]:
        """The turn of this thread, for work of many transactions."""
        return self._turns.turn(root, "a load, an upgrade or a drop", self._timeout, Inconsistent)

    def _try_lock(self, root: str) -> None:
        """Raises Inconsistent where the lock cannot be had for a while."""
        try:
            with (
                self._waiting() as session,
                session.begin_transaction(timeout=self._timeout) as tx,
            ):
                tx.run(_LOCK, root=root).consume()
        except ClientError as error:
            with suppress(Unknown):
                self.marks(root)
            raise Inconsistent(
                f"{root} has been kept by another writer for {self._timeout:.0f} s; try again"
            ) from error

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (Neo4jError, DriverError, OSError) as error:
            raise in_words(self._uri, error) from error


def _no_root(root: str) -> Unknown:
    return Unknown(
        f"{root} is not there; create it by Authorizer.open(root={root!r}, policy=..., create=True)",
        code="root_unknown",
    )


def single(result: neo4j.Result, root: str) -> Row:
    record = result.single()
    if record is None:
        raise _no_root(root)
    return dict(record)


def _again(error: Exception) -> bool:
    return isinstance(error, Neo4jError | DriverError) and error.is_retryable()


def untorn(row: Row) -> bool:
    return len({row["revision"], row["begun"], row["revision_after"], row["begun_after"]}) == 1


# The marks are not in cypher/: they are the store's own, and tell nothing to a person in Browser.
_LOCK = "MERGE (writer:Writer {root: $root}) SET writer.turn = coalesce(writer.turn, 0) + 1"
_UNLOCK = "MATCH (writer:Writer {root: $root}) DELETE writer"
_MARKS = """MATCH (mark:Revision {root: $root})
RETURN mark.revision AS revision, mark.begun AS begun, mark.loading AS loading, mark.loading_what AS what,
  mark.digest AS policy, mark.made AS made"""
_BEGIN = "MATCH (mark:Revision {root: $root}) SET mark.begun = $revision"
_END = "MATCH (mark:Revision {root: $root}) WHERE mark.revision < $revision SET mark.revision = $revision"
