"""The connections of one store, pooled by what they wait for. Each process has its own, also after a fork."""

import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from grantpath.graph.client import driver_internals
from grantpath.graph.client.address import shown
from grantpath.graph.client.connection import Connection
from grantpath.graph.client.driver import IDLE_SECONDS, is_of_driver, open_driver
from grantpath.graph.errors import Unavailable
from grantpath.graph.forks import remake_in_children

if TYPE_CHECKING:
    import neo4j

# The server plans a query again if the statistics have changed since; with this it keeps the plan.
KEEP_PLAN = "CYPHER replan=skip "


class Meanwhile(threading.local):
    """What a thread does as soon as it has sent a query, while the server works on it."""

    work: Callable[[], None] | None = None

    def run(self) -> None:
        """Does this work, once."""
        if self.work is not None:
            work, self.work = self.work, None
            work()


class Pool:
    """The connections of one process to one server, opened when they are needed. May be shared by threads."""

    def __init__(self, connection: Connection, timeout: float, silence: float | None, keep_plans: bool = False) -> None:
        """`timeout`: seconds to open a connection or to wait for a free one. `silence`: seconds that a connection
        waits for the next message of the server; None: the limit that the server announces by its keep-alive settings.
        `keep_plans`: see `Store`.

        Raises Unavailable if the address is not one of a Neo4j server, InvalidInput.
        """
        self._database = connection.database
        self._timeout = timeout
        self._silence = silence
        self._keep_plans = keep_plans
        self.meanwhile = Meanwhile()
        self._opened: WeakSet[Any] = WeakSet()
        self._driver = open_driver(connection, timeout)
        driver_internals.wrap_opener(
            self._driver, lambda opener: lambda *given: self._prepare(opener(*given)), driver_internals.UNLIMITED
        )

    def session(self, fetch_size: int = 1_000) -> "neo4j.Session":
        """A new session, for one thread; `fetch_size`: how many rows the server sends at a time."""
        return self._driver.session(database=self._database, fetch_size=fetch_size)

    def close(self) -> None:
        """Closes every connection."""
        self._driver.close()

    def abandon(self) -> None:
        """In a forked child: closes this process's copies of the sockets, so that the child cannot use them.

        The connections stay open in the parent. The driver's locks are not taken: at the fork, a thread that does not
        exist in the child may have held one.
        """
        for connection in list(self._opened):
            raw = driver_internals.raw_socket(connection)
            with suppress(OSError):
                if raw is not None:
                    raw.close()

    def _prepare(self, connection: Any) -> Any:
        """Limits how long a new connection waits, and closes it after a message that was only partly read or sent."""
        self._opened.add(connection)
        _limit_waits(connection, self._timeout, self._silence)
        after = {"send_all": self.meanwhile.run}
        driver_internals.wrap_messages(connection, lambda name, step: _whole(connection, step, after.get(name)))
        if self._keep_plans:
            without = "the server plans queries again while the sizes of a root change"
            driver_internals.wrap_statements(connection, lambda text: KEEP_PLAN + text, without)
        return connection


def begin_with_next(session: "neo4j.Session", metadata: dict[str, Any]) -> "neo4j.Transaction":
    """Begins a transaction without a time limit. BEGIN is sent together with its first query: one round trip less.

    The driver does so in `Driver.execute_query`, and has no option for it elsewhere. An error of BEGIN is raised by the
    first query.
    """
    with driver_internals.begin_with_next_query(session):
        return session.begin_transaction(timeout=0, metadata=metadata)


def _limit_waits(connection: Any, timeout: float, silence: float | None) -> None:
    """Limits how long a new connection waits; the parameters are those of Pool."""
    if silence is not None:
        driver_internals.limit_silence(connection, silence)
    raw = driver_internals.raw_socket(connection)
    if raw is not None:
        _probe(raw, timeout)


def _probe(raw: socket.socket, timeout: float) -> None:
    """Makes the system detect a lost peer, both while the connection is idle and while data are unacknowledged.

    The probes also keep firewalls from dropping an idle connection. A hung server still acknowledges data, so this
    does not shorten its time to answer.
    """
    options = {
        "TCP_KEEPIDLE": int(IDLE_SECONDS),
        "TCP_KEEPINTVL": 5,
        "TCP_KEEPCNT": 3,
        "TCP_USER_TIMEOUT": max(1, int(timeout * 500)),  # milliseconds: half of the timeout
    }
    for name, value in options.items():
        if hasattr(socket, name):  # not all systems have all of them
            raw.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _whole(connection: Any, step: Any, after: Callable[[], None] | None = None) -> Any:
    """Wraps a step that sends or reads one message, so that an interrupted step closes the connection. `after` is
    called after the step.

    An exception that is raised in a thread from outside (a soft time limit, a signal) may leave half a message in the
    connection, and the next caller would read the rest of an old answer. The driver's own errors leave it usable.
    """

    def run() -> Any:
        try:
            done = step()  # older drivers need the result
            if after is not None:
                after()
            return done
        except BaseException as error:
            if not is_of_driver(error):
                driver_internals.drop(connection)
            raise

    return run


@dataclass(frozen=True)
class _Pools:
    """The pools of one process. They are separate, so that one kind of work never uses up another's connections."""

    pid: int
    reading: Pool  # queries that never wait for a lock
    guarding: Pool  # marks and heartbeats: readers must not delay a writer that all other writers wait for
    locking: Pool  # queries that wait for a lock
    writing: Pool  # changes and whole roots: no time limit while the server gives signs of life

    def all(self) -> tuple[Pool, ...]:
        return self.reading, self.guarding, self.locking, self.writing


_inherited: list[_Pools] = []  # of parent processes: referenced forever, so that garbage collection never closes them


class Connections:
    """Opens sessions on one server. May be shared by threads, and used on both sides of a fork."""

    def __init__(self, connection: Connection, timeout: float, keep_plans: bool = False) -> None:
        """`keep_plans`: see `Store`. Raises Unavailable if the address is not one of a Neo4j server."""
        self.uri = shown(connection.uri)
        self.connection = connection
        self._timeout = timeout
        self._keep_plans = keep_plans
        self._closed = False
        self._pools = self._open()
        remake_in_children(self)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def reading(self, meanwhile: Callable[[], None] | None = None) -> "neo4j.Session":
        """A session for a query that never waits for a lock. `meanwhile` is called as soon as this thread has sent it,
        while the server works on it; it must be quick, and its errors close the connection."""
        pool = self._current().reading
        pool.meanwhile.work = meanwhile
        return pool.session()

    def guarding(self) -> "neo4j.Session":
        """A session for the revision guard's own statements, which never wait for a lock."""
        return self._current().guarding.session()

    def locking(self) -> "neo4j.Session":
        """A session for a query that waits for a lock."""
        return self._current().locking.session()

    def writing(self, fetch_size: int = 1_000) -> "neo4j.Session":
        """A session for a change, or for a query with millions of rows."""
        return self._current().writing.session(fetch_size)

    def close(self) -> None:
        """Closes this process's connections. Opening a session afterwards raises Unavailable."""
        if not self._closed:
            pools, self._closed = self._current(), True
            for pool in pools.all():
                pool.close()

    def after_fork(self) -> None:
        """Abandons the parent's connections and starts without any."""
        _inherited.append(self._pools)
        for pool in self._pools.all():
            pool.abandon()
        self._pools = self._open()

    def _open(self) -> _Pools:
        def pool(silence: float | None) -> Pool:
            return Pool(self.connection, self._timeout, silence, self._keep_plans)

        return _Pools(
            os.getpid(),
            reading=pool(self._timeout),
            guarding=pool(self._timeout),
            # the server itself ends a query after one timeout
            locking=pool(1.5 * self._timeout),
            writing=pool(None),
        )

    def _current(self) -> _Pools:
        if self._closed:
            raise Unavailable(f"the connection to {self.uri} was closed; open another: Authorizer.open(...)")
        if self._pools.pid != os.getpid():  # forked by native code, which does not run Python's fork hooks
            self.after_fork()
        return self._pools
