"""Connections to a server of Neo4j, and its errors in words that name the remedy."""

from typing import Any

import neo4j
from neo4j import GraphDatabase
from neo4j.exceptions import AuthError, ConfigurationError, Forbidden, Neo4jError, ServiceUnavailable, SessionExpired

from grantpath.graph import login, tls
from grantpath.graph.errors import Unavailable
from grantpath.graph.server import Connection


def open_driver(connection: Connection, timeout: float) -> neo4j.Driver:
    """A driver that opens its connections when they are needed, each within `timeout` seconds. Raises InvalidInput."""
    auth = login.manager(connection.uri, connection.login)
    driver = GraphDatabase.driver(
        **tls.options(connection.uri, connection.ca),
        auth=auth,
        connection_timeout=timeout,
        connection_acquisition_timeout=timeout,
        max_transaction_retry_time=timeout,
        notifications_min_severity="OFF",
        user_agent="grantpath",
    )
    login.renew_refused(driver, auth, timeout)
    return driver


def open_reader(connection: Connection, timeout: float) -> neo4j.Driver:
    """The same; no connection of it waits longer than `timeout` seconds for the server's next word.

    A server that hangs keeps its connections open, and of itself the driver waits as long as the server once asked
    it to, minutes or for ever. There is no option for it, hence the way round by the pool; tests/test_down.py sees
    whether it holds.
    """
    driver = open_driver(connection, timeout)
    pool = driver._pool
    opened = pool.opener

    def opener(*given: Any) -> Any:
        connection = opened(*given)
        connection.socket.set_read_timeout(timeout)
        return connection

    pool.opener = opener
    return driver


def in_words(uri: str, error: Exception) -> Unavailable:
    """What an error of the driver or the server means to who uses `uri`."""
    if isinstance(error, AuthError):
        return Unavailable(f"{uri} refuses the login: check auth=, or NEO4J_USER and NEO4J_PASSWORD")
    if isinstance(error, Neo4jError) and error.code == login.LOCKED:
        return Unavailable(
            f"{uri} refuses every login of this user for a while, after several wrong ones: check auth=, or NEO4J_USER "
            "and NEO4J_PASSWORD, here and in other programs; then ask again"
        )
    if isinstance(error, Forbidden):
        said = (error.message or "").splitlines()[0]
        return Unavailable(f"{uri}: the database user lacks a privilege: {said}; grant it, see docs/operating.md")
    if problem := tls.unavailable(uri, error):
        return problem
    if isinstance(error, ServiceUnavailable | SessionExpired | OSError):
        return Unavailable(f"{uri} cannot be reached: start the server (`grantpath up`), or check --uri")
    if isinstance(error, ConfigurationError):
        return Unavailable(f"{uri} is no address of a Neo4j server: write bolt://HOST:7687 or neo4j://HOST")
    said = ((error.message if isinstance(error, Neo4jError) else None) or str(error)).splitlines()[0]
    if isinstance(error, Neo4jError) and (error.code or "").startswith("Neo.ClientError.Statement"):
        return Unavailable(f"{uri} cannot run a query: {said}; is it Neo4j 5.26 LTS or 2026.x?")
    return Unavailable(f"{uri} did not answer: {said}; ask again")
