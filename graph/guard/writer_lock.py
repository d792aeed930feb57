"""The writer lock of a root, held by one transaction whose metadata identifies the holder."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from grantpath import cypher
from grantpath.graph.client.connections import Connections, begin_with_next
from grantpath.graph.client.driver import failures, in_words
from grantpath.graph.errors import GrantpathError, Unavailable
from grantpath.graph.guard.heartbeat import Claim, LockWatch
from grantpath.graph.guard.revision_marks import Marks, OpenSession
from grantpath.graph.guard.transaction import Row, row_of

if TYPE_CHECKING:
    import neo4j

Result = TypeVar("Result")


@dataclass
class Held:
    """The lock of a root, held by `tx`. A bulk write uses further transactions, which carry the holder's id.

    `first`: the marks and the end of the log, if the statement that took the lock read them. `marks`: the marks when a
    root was locked for its creation or removal, None if it does not exist; `died`: the id of an earlier load that died.
    """

    tx: "neo4j.Transaction"
    first: Row | None
    _claim: Claim
    _watch: LockWatch
    _open: OpenSession
    _uri: str
    marks: Marks | None = None
    died: str | None = None

    @property
    def root(self) -> str:
        """The root that is locked."""
        return self._claim.root

    @property
    def id(self) -> str:
        """The id of the holder."""
        return self._claim.id

    def need(self) -> None:
        """Raises the driver's error if the lock was lost: facts read under it may then be out of date."""
        cypher.load("still_held").run(self.tx.run).consume()

    def beat(self) -> None:
        """Writes a heartbeat now. Raises Unavailable."""
        try:
            self._watch.beat(self._claim)
        except failures() as error:
            raise in_words(self._uri, error) from error

    def execute(self, text: str, parameters: Mapping[str, Any]) -> list[Row]:
        """Runs one statement in a transaction of its own. Raises Unavailable."""
        return self.transaction(lambda tx: [record.data() for record in tx.run(text, dict(parameters))])

    def transaction(self, work: Callable[["neo4j.ManagedTransaction"], Result]) -> Result:
        """Runs `work` in one transaction, retried after transient errors. Raises Unavailable."""
        from neo4j import unit_of_work

        try:
            with self._open() as session:
                return session.execute_write(unit_of_work(metadata=self._claim.metadata)(work))
        except failures() as error:
            raise in_words(self._uri, error) from error

    def forget(self) -> None:
        """Removes the node of the lock, and the claim on the name of a removed root."""
        with suppress(*failures()):  # nodes that are left do no harm
            cypher.load("unlock").run(self.tx.run, root=self.root, by=self.id).consume()
            self.tx.commit()


class WriterLock:
    """Takes the locks of roots. May be shared by threads."""

    def __init__(self, connections: Connections, watch: LockWatch) -> None:
        self._connections = connections
        self._watch = watch

    @contextmanager
    def hold(
        self,
        root: str,
        what: str,
        seconds: float,
        error: type[GrantpathError] = Unavailable,
        *,
        quick: bool = False,
        read: bool = False,
    ) -> Iterator[Held]:
        """Holds the lock until the block ends; the server does not limit the time.

        `quick`: the block only runs short queries. `read`: the marks are read with the lock, and the root is neither
        created nor removed while it is held. `what` names the work in the errors of other callers. Raises
        `error`, which names the holder, if the lock was not free within `seconds`; the driver's errors.
        """
        from neo4j.exceptions import ClientError

        began = time.monotonic()
        connections = self._connections
        opened = connections.locking if quick else connections.writing
        with self._watch.claim(root, what, seconds) as claim, opened() as session:
            tx = begin_with_next(session, claim.metadata)
            try:
                try:
                    first = cypher.load("lock_and_read" if read else "lock").run(tx.run, root=root).single()
                except ClientError as ended:
                    if not claim.given_up:
                        raise
                    raise error(_kept(claim, began)) from ended
                if not self._watch.got(claim):
                    raise error(_kept(claim, began))
                yield Held(
                    tx, row_of(first) if first else None, claim, self._watch, connections.writing, connections.uri
                )
            finally:
                with suppress(*failures()):  # uncommitted writes are to be discarded anyway
                    tx.close()


def _kept(claim: Claim, began: float) -> str:
    return (
        f"{claim.root} was not free within {time.monotonic() - began:.0f} s for {claim.what}: {claim.blocked_by};"
        " try again"
    )
