"""The connections of one store, by what they wait for; each process has its own, also behind a fork."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grantpath.graph.address import shown
from grantpath.graph.connection import Connection
from grantpath.graph.driver import Pool
from grantpath.graph.errors import Unavailable
from grantpath.graph.forks import remake_in_children

if TYPE_CHECKING:
    import neo4j


@dataclass(frozen=True)
class _Pools:
    """The pools of one process. They share no connections, so that no kind of work waits for connections of another."""

    pid: int
    reading: Pool  # an answer: it comes within the timeout
    guarding: Pool  # marks and heartbeats: many readers must not keep a writer, which all others wait for, from them
    locking: Pool  # an answer behind a lock
    writing: Pool  # a change or a whole root: as long as the server gives signs of life

    def all(self) -> tuple[Pool, ...]:
        return self.reading, self.guarding, self.locking, self.writing


_inherited: list[_Pools] = []  # of parent processes: kept, so that nothing ever closes them here


class Connections:
    """Opens sessions on one server. May be shared by threads, and used on both sides of a fork."""

    def __init__(self, connection: Connection, timeout: float) -> None:
        """Raises Unavailable for what is not the address of a Neo4j server."""
        self.uri = shown(connection.uri)
        self._connection = connection
        self._timeout = timeout
        self._closed = False
        self._pools = self._open()
        remake_in_children(self)

    def reading(self) -> "neo4j.Session":
        """A session for what never waits for a lock."""
        return self._current().reading.session()

    def guarding(self) -> "neo4j.Session":
        """A session for the revision guard's own statements, which never wait for a lock."""
        return self._current().guarding.session()

    def locking(self) -> "neo4j.Session":
        """A session for a question that waits for a lock."""
        return self._current().locking.session()

    def writing(self, fetch_size: int = 1_000) -> "neo4j.Session":
        """A session for a change, or for rows by the million."""
        return self._current().writing.session(fetch_size)

    def close(self) -> None:
        """Closes this process's connections; a session that is asked for afterwards raises Unavailable."""
        if not self._closed:
            pools, self._closed = self._current(), True
            for pool in pools.all():
                pool.close()

    def after_fork(self) -> None:
        """Leaves the parent's connections alone, and begins with none."""
        _inherited.append(self._pools)
        for pool in self._pools.all():
            pool.abandon()
        self._pools = self._open()

    def _open(self) -> _Pools:
        connection, timeout = self._connection, self._timeout
        return _Pools(
            os.getpid(),
            reading=Pool(connection, timeout, silence=timeout),
            guarding=Pool(connection, timeout, silence=timeout),
            locking=Pool(connection, timeout, silence=1.5 * timeout),  # the server ends it after one timeout
            writing=Pool(connection, timeout, silence=None),
        )

    def _current(self) -> _Pools:
        if self._closed:
            raise Unavailable(f"the connection to {self.uri} was closed; open another: Authorizer.open(...)")
        if self._pools.pid != os.getpid():  # forked without Python's knowledge
            self.after_fork()
        return self._pools
