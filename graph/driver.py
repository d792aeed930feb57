"""Pools of connections to a Neo4j server, and its errors in words that name the remedy."""

import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from grantpath.graph import tls
from grantpath.graph.address import need_address, not_an_address, shown
from grantpath.graph.connection import Connection
from grantpath.graph.errors import Unavailable

if TYPE_CHECKING:
    import neo4j

CONNECTIONS = 100  # of one pool; a caller beyond them waits for one to become free
IDLE_SECONDS = 30.0  # then a connection is tried before it is used, and the system probes it meanwhile


def open_driver(connection: Connection, timeout: float) -> "neo4j.Driver":
    """A driver that opens its connections when they are needed, each within `timeout` seconds.

    Raises Unavailable for an address that is not one of a Neo4j server, InvalidInput.
    """
    # Only here: `import neo4j` loads pandas, numpy and pyarrow where they are installed.
    from neo4j import GraphDatabase

    from grantpath.graph import login

    need_address(connection.uri)
    auth = login.manager(connection.uri, connection.login)
    driver = GraphDatabase.driver(
        **tls.options(connection.uri, connection.ca),
        auth=auth,
        connection_timeout=timeout,
        connection_acquisition_timeout=timeout,
        max_transaction_retry_time=timeout,
        max_connection_pool_size=CONNECTIONS,
        liveness_check_timeout=IDLE_SECONDS,
        notifications_min_severity="OFF",
        user_agent="grantpath",
    )
    login.renew_refused(driver, auth, timeout)
    return driver


class Pool:
    """The connections of one process to one server, opened when they are needed. May be shared by threads."""

    def __init__(self, connection: Connection, timeout: float, silence: float | None) -> None:
        """`timeout`: seconds to open a connection or to wait for a free one. `silence`: seconds that a connection
        waits for the server's next word; None: as long as the server sends the signs of life that it promised.

        Raises Unavailable for an address that is not one of a Neo4j server, InvalidInput.
        """
        self._database = connection.database
        self._timeout = timeout
        self._silence = silence
        self._opened: WeakSet[Any] = WeakSet()
        self._driver = open_driver(connection, timeout)
        # The driver has no options for what `_prepare` does, so that it is done as the pool opens a connection.
        pool = self._driver._pool
        open_connection = pool.opener
        pool.opener = lambda *given: self._prepare(open_connection(*given))

    def session(self, fetch_size: int = 1_000) -> "neo4j.Session":
        """A new session, for one thread; `fetch_size`: how many rows the server sends at a time."""
        return self._driver.session(database=self._database, fetch_size=fetch_size)

    def close(self) -> None:
        """Closes every connection."""
        self._driver.close()

    def abandon(self) -> None:
        """In a forked child: closes this process's copies of the sockets, so that nothing is sent or read over them.

        The connections stay open, and they are the parent's. No lock of the driver is taken: a thread that the child
        does not have may have held it at the fork.
        """
        for connection in list(self._opened):
            with suppress(OSError):
                _raw(connection).close()

    def _prepare(self, connection: Any) -> Any:
        """Limits the waits of a new connection, and closes it where an answer was not read to its end."""
        self._opened.add(connection)
        if self._silence is not None:
            connection.socket.set_read_timeout(self._silence)
        _probe(_raw(connection), self._timeout)
        for name in ("fetch_message", "send_all"):
            setattr(connection, name, _whole(connection, getattr(connection, name)))
        return connection


def _raw(connection: Any) -> socket.socket:
    """The system's socket below a connection of the driver."""
    raw: socket.socket = connection.socket._socket
    return raw


def _probe(raw: socket.socket, timeout: float) -> None:
    """Has the system notice a peer that vanished: while a connection is idle, and while data are not acknowledged.

    The probes also keep a firewall between from forgetting the connection. A hung server acknowledges data, so this
    does not shorten its time to answer.
    """
    options = {
        "TCP_KEEPIDLE": int(IDLE_SECONDS),
        "TCP_KEEPINTVL": 5,
        "TCP_KEEPCNT": 3,
        "TCP_USER_TIMEOUT": max(1, int(timeout * 500)),  # milliseconds: half of the timeout
    }
    for name, value in options.items():
        if hasattr(socket, name):  # not every system has each
            raw.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _whole(connection: Any, step: Any) -> Any:
    """The step of a connection that sends or reads a message; where it is cut short, the connection is closed.

    An exception that is thrown into a thread (a soft time limit, a signal) may leave half a message in the connection,
    and the next caller would read the rest of an old answer. The driver's own errors leave it in order.
    """

    def run() -> None:
        try:
            step()
        except BaseException as error:
            if not _is_of_driver(error):
                connection.kill()
            raise

    return run


def failures() -> tuple[type[Exception], ...]:
    """What the driver raises where a server cannot be asked or refuses: for `except` and `suppress`."""
    from neo4j.exceptions import DriverError, Neo4jError

    return Neo4jError, DriverError, OSError


def is_retryable(error: Exception) -> bool:
    """Does the driver say that the same may succeed when it is tried again?"""
    from neo4j.exceptions import DriverError, Neo4jError

    return isinstance(error, Neo4jError | DriverError) and error.is_retryable()


def code_of(error: Exception) -> str | None:
    """The server's code of an error, None where it is not the server's."""
    from neo4j.exceptions import Neo4jError

    return error.code if isinstance(error, Neo4jError) else None


def _is_of_driver(error: BaseException) -> bool:
    from neo4j.exceptions import DriverError, Neo4jError

    return isinstance(error, Neo4jError | DriverError)


def in_words(uri: str, error: Exception) -> Unavailable:
    """What an error of the driver or the server means to the user of `uri`."""
    from neo4j.exceptions import AuthError, ConfigurationError, Neo4jError, ServiceUnavailable, SessionExpired

    from grantpath.graph.login import LOCKED

    uri, code = shown(uri), code_of(error) or ""
    if isinstance(error, AuthError):
        return Unavailable(f"{uri} refuses the login: check auth=, or NEO4J_USER and NEO4J_PASSWORD")
    if code == LOCKED:
        return Unavailable(
            f"{uri} refuses every login of this user for a while, after several wrong ones: check auth=, or NEO4J_USER "
            "and NEO4J_PASSWORD, here and in other programs; then ask again"
        )
    if isinstance(error, Neo4jError) and code == "Neo.ClientError.Security.Forbidden":
        said = (error.message or "").splitlines()[0]
        return Unavailable(f"{uri}: the database user lacks a privilege: {said}; grant it, see docs/operating.md")
    if problem := tls.unavailable(uri, error):
        return problem
    if isinstance(error, ServiceUnavailable | SessionExpired | OSError):
        return Unavailable(f"{uri} cannot be reached: start the server (`grantpath up`), or check --uri")
    if isinstance(error, ConfigurationError):
        return not_an_address(uri)
    said = ((error.message if isinstance(error, Neo4jError) else None) or str(error)).splitlines()[0]
    if code == "Neo.ClientError.Database.DatabaseNotFound":
        return Unavailable(f"{uri} has no such database: {said}; check NEO4J_DATABASE")
    if code.startswith("Neo.ClientError.Statement"):
        return Unavailable(f"{uri} cannot run a query: {said}; is it Neo4j 5.26 LTS or 2026.x?")
    return Unavailable(f"{uri} did not answer: {said}; ask again")
