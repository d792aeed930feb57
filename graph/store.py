"""The database: guarded reads, statements of their own, sessions; graph/revision_guard.py has the writing side."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from threading import local
from typing import Any, TypeVar

import neo4j
from neo4j import ManagedTransaction, Query
from neo4j.exceptions import DriverError, Neo4jError

from grantpath.graph.driver import in_words, open_driver, open_reader
from grantpath.graph.errors import Inconsistent, Unavailable
from grantpath.graph.reference import need_seconds
from grantpath.graph.revision_guard import RevisionGuard, single, untorn
from grantpath.graph.server import Connection
from grantpath.graph.writing import Row, Writing

DATABASE = "neo4j"
QUICK_TRIES, QUICK_SECONDS = 12, 2.0  # of a read that writers disturb; then it keeps them out
PATIENCE = 1.0  # seconds that a read waits for a revision it must have reached
Result = TypeVar("Result")


class Store:
    """One database. May be shared by threads."""

    def __init__(self, connection: Connection, timeout: float = 10.0) -> None:
        """`timeout`: the seconds that the server may take for its next word. Raises InvalidInput, Unavailable."""
        need_seconds("timeout", timeout)
        self.uri = connection.uri
        self._timeout = timeout
        self._local = local()
        self._closed = False
        with self._errors():
            self._driver = open_driver(connection, timeout)
            # What waits for a lock hears nothing for long; what reads has its limit. So they share no connections.
            self._reader = open_reader(connection, timeout)
        self._guard = RevisionGuard(
            self.uri, timeout, lambda: self._open(self._driver), lambda: self._open(self._reader)
        )

    def close(self) -> None:
        """Closes every connection; what is asked then raises Unavailable."""
        self._closed = True
        self._reader.close()
        self._driver.close()

    # ---- reading ---------------------------------------------------------------------------------------------
    def read(self, text: str, parameters: Mapping[str, Any]) -> list[Row]:
        """The rows of a query that needs no guard. Raises Unavailable."""
        with self._errors():
            result = self._session().run(self._query(text), dict(parameters))
            return [record.data() for record in result]

    def read_guarded(self, text: str, parameters: Mapping[str, Any], at_least: int | None = None) -> Row:
        """The one row of a query that returns both marks before and after its facts, from one committed state.

        One round trip where no change is under way. Where the graph is older than the revision `at_least`, it is
        asked again for a short while. Raises Unknown where the root is not there, Inconsistent where no such answer
        could be had, Unavailable.
        """
        deadline = time.monotonic() + PATIENCE
        while True:
            row = self._read_untorn(text, parameters)
            if at_least is None or row["revision"] >= at_least:
                return row
            if time.monotonic() > deadline:
                raise Inconsistent(
                    f"{parameters['root']} is at revision {row['revision']}, older than revision {at_least} that was "
                    "asked for; ask again, or check that the revision is one of this root"
                )
            time.sleep(0.05)

    def _read_untorn(self, text: str, parameters: Mapping[str, Any]) -> Row:
        deadline = time.monotonic() + QUICK_SECONDS
        for attempt in range(QUICK_TRIES):
            with self._errors():
                row = single(self._session().run(self._query(text), dict(parameters)), parameters["root"])
            if untorn(row):
                return row
            if time.monotonic() > deadline:
                break  # what takes longer than writers pause would be disturbed each time
            if attempt == 1:
                with self._errors():
                    self._guard.marks(parameters["root"])
            time.sleep(min(0.0005 * 2**attempt, 0.05))
        return self._guard.read_locked(text, parameters)

    # ---- writing ---------------------------------------------------------------------------------------------
    def write(self, root: str, work: Callable[[Writing], Result], keep: bool = True) -> Result:
        """Runs `work` in one transaction under the root's lock, and commits what it wrote, if it wrote anything.

        Where `work` raises, nothing is written; nor with `keep` false, which tries a change out. A transient failure
        before the commit is tried again, so `work` may run more than once. Raises Unavailable; then
        `Unavailable.unknown` says that the commit's outcome is not known.
        """
        return self._guard.write(root, work, keep)

    def revision(self, root: str) -> int:
        """The revision, its marks mended; only for who holds the lock. Raises Inconsistent: a load is unfinished."""
        return self._guard.revision(root)

    def locked(self, root: str) -> AbstractContextManager[str | None]:
        """Keeps other writers out until the block ends, however long; yields the id of a load that died, if one did.

        What the block writes, it writes by other transactions. Raises Inconsistent where somebody else keeps the lock.
        """
        return self._guard.locked(root)

    def alone(self, root: str) -> AbstractContextManager[Callable[[], object]]:
        """Keeps writers out while a root is made or taken away; calling what it yields takes the lock away, too.

        Raises Inconsistent where somebody else keeps the lock.
        """
        return self._guard.alone(root)

    def execute(self, text: str, parameters: Mapping[str, Any] | None = None) -> list[Row]:
        """Runs one statement by itself: the schema, a new root. Raises Unavailable."""
        return self.transaction(lambda tx: [record.data() for record in tx.run(text, dict(parameters or {}))])

    def transaction(self, work: Callable[[ManagedTransaction], Result]) -> Result:
        """Runs `work` in one transaction, without the guard; again where it could not be done. Raises Unavailable."""
        with self._errors(), self._open(self._driver) as session:
            return session.execute_write(work)

    # ---- the driver ------------------------------------------------------------------------------------------
    def _session(self) -> neo4j.Session:
        """A session of this thread's own: sessions may not be shared."""
        session: neo4j.Session | None = getattr(self._local, "session", None)
        if session is None or session.closed() or self._closed:
            session = self._local.session = self._open(self._reader)
        return session

    def _open(self, driver: neo4j.Driver) -> neo4j.Session:
        """A new session. The driver itself would let some go on after it was closed."""
        if self._closed:
            raise Unavailable(f"the connection to {self.uri} was closed; open another: Authorizer.open(...)")
        return driver.session(database=DATABASE)

    def _query(self, text: str) -> Query:
        return Query(text, timeout=self._timeout)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (Neo4jError, DriverError, OSError) as error:
            raise in_words(self.uri, error) from error
