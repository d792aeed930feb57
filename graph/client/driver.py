"""Opens drivers of a Neo4j server, and translates their errors into messages that name the remedy."""

from functools import partial
from typing import TYPE_CHECKING, Any

from grantpath import cypher
from grantpath.graph.client import tls
from grantpath.graph.client.address import not_an_address, require_address, shown
from grantpath.graph.client.connection import Connection
from grantpath.graph.client.unreachable import not_neo4j, unreachable
from grantpath.graph.errors import Unavailable

if TYPE_CHECKING:
    import neo4j

FORBIDDEN = "Neo.ClientError.Security.Forbidden"
TIMED_OUT = "Neo.ClientError.Transaction.TransactionTimedOut"  # by the server's own limit
TIMED_OUT_OURS = f"{TIMED_OUT}ClientConfiguration"
READ_ONLY = (  # the errors of a write by a user who may only read, and in a database that can only be read
    FORBIDDEN,
    "Neo.ClientError.General.ForbiddenOnReadOnlyDatabase",
    "Neo.ClientError.General.WriteOnReadOnlyAccessDatabase",
)
CONNECTIONS = 100  # in one pool; further callers wait for a free one
IDLE_SECONDS = 30.0  # a connection idle for this long is probed by the system, and tested by the driver before use


def open_driver(connection: Connection, timeout: float) -> "neo4j.Driver":
    """A driver that opens connections on demand, each within `timeout` seconds.

    Raises Unavailable if the address is not one of a Neo4j server, InvalidInput.
    """
    # Imported late: `import neo4j` loads pandas, numpy and pyarrow if they are installed.
    from neo4j import GraphDatabase

    from grantpath.graph.client import login

    require_address(connection.uri)
    auth = login.manager(connection.uri, connection.login)
    driver = GraphDatabase.driver(auth=auth, **options(connection, timeout))
    login.renew_refused(driver, auth, timeout)
    return driver


def options(connection: Connection, timeout: float) -> dict[str, Any]:
    """The arguments for a driver, except the login. Raises InvalidInput."""
    return {
        **tls.options(connection.uri, connection.ca),
        "connection_timeout": timeout,
        "connection_acquisition_timeout": timeout,
        "max_transaction_retry_time": timeout,
        "max_connection_pool_size": CONNECTIONS,
        "liveness_check_timeout": IDLE_SECONDS,
        "notifications_min_severity": "OFF",
        "user_agent": "grantpath",
    }


def ping(driver: "neo4j.Driver", database: str) -> None:
    """Runs a trivial query. Raises the driver's errors."""
    cypher.load("ping").run(partial(driver.execute_query, database_=database))


def failures() -> tuple[type[Exception], ...]:
    """The exceptions that the driver raises for a server that fails, refuses or cannot be reached."""
    from neo4j.exceptions import DriverError, Neo4jError

    return Neo4jError, DriverError, OSError


def is_retryable(error: Exception) -> bool:
    """Does the driver report that a retry may succeed?"""
    from neo4j.exceptions import DriverError, Neo4jError

    return isinstance(error, Neo4jError | DriverError) and error.is_retryable()


def code_of(error: Exception) -> str | None:
    """The server's error code; None if the error is not from the server."""
    from neo4j.exceptions import Neo4jError

    return error.code if isinstance(error, Neo4jError) else None


def is_of_reader(error: Exception) -> bool:
    """Is it an error, in words, about a user or a database that may only read?"""
    cause = error.__cause__
    return isinstance(cause, Exception) and code_of(cause) in READ_ONLY


def is_of_driver(error: BaseException) -> bool:
    """Is it one of the driver's own errors?"""
    from neo4j.exceptions import DriverError, Neo4jError

    return isinstance(error, Neo4jError | DriverError)


def in_words(uri: str, error: Exception) -> Unavailable:
    """An error of the driver or the server as a message to the user of `uri`."""
    from neo4j.exceptions import (
        AuthError,
        ConfigurationError,
        Neo4jError,
        ServiceUnavailable,
        SessionExpired,
        UnsupportedServerProduct,
    )

    from grantpath.graph.client.login import LOCKED

    uri, code = shown(uri), code_of(error) or ""
    if isinstance(error, AuthError):
        return Unavailable(f"{uri} refuses the login: check auth=, or NEO4J_USER and NEO4J_PASSWORD")
    if code == LOCKED:
        return Unavailable(
            f"{uri} refuses every login of this user for a while, after several wrong ones: check auth=, or NEO4J_USER "
            "and NEO4J_PASSWORD, here and in other programs; then ask again"
        )
    if isinstance(error, Neo4jError) and code == FORBIDDEN:
        text = (error.message or "").splitlines()[0]
        return Unavailable(f"{uri}: the database user lacks a privilege: {text}; grant it, see docs/operating.md")
    if isinstance(error, ServiceUnavailable | SessionExpired | OSError):
        return unreachable(uri, error)
    if isinstance(error, UnsupportedServerProduct):
        return not_neo4j(uri)
    if isinstance(error, ConfigurationError):
        return not_an_address(uri)
    text = ((error.message if isinstance(error, Neo4jError) else None) or str(error)).splitlines()[0]
    if code == "Neo.ClientError.Database.DatabaseNotFound":
        return Unavailable(
            f"{uri} has no such database: {text}; check database=, or NEO4J_DATABASE, or create it "
            "there (Neo4j Community has only one database for graphs, neo4j)"
        )
    if code.startswith("Neo.ClientError.Statement"):
        return Unavailable(f"{uri} cannot run a query: {text}; use Neo4j 5.26 LTS or 2026.x")
    if code in (TIMED_OUT, TIMED_OUT_OURS):
        limit = (
            "db.transaction.timeout of the server" if code == TIMED_OUT else "timeout=, --timeout, GRANTPATH_TIMEOUT"
        )
        return Unavailable(f"{uri} did not answer within the timeout; ask again, or with a longer one ({limit})")
    return Unavailable(f"{uri} did not answer: {text}; ask again")
