"""All uses of what the neo4j driver and server do not document, each with what is done without it.

The driver has no options for some limits that a store needs, so this module reaches into its pools, connections and
sessions, and reads the status of transactions. Each part is looked at before it is used: a version of the driver that
lacks it, or has something else in its place, works without the feature, and a warning names what is missing, once in a
process.
"""

import logging
import re
import socket
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

log = logging.getLogger("grantpath.driver")
Opener = Callable[..., Any]
UNLIMITED = "connections do not notice a server that hangs, and interrupted calls may leave them unusable"


@cache
def _warn(part: str, without: str) -> None:
    """Warns that the driver lacks a part; once in a process."""
    from neo4j import __version__

    text = "the neo4j driver %s has no %s: %s; use a version that grantpath is tested with"
    log.warning(text, __version__, part, without)


def wrap_opener(driver: Any, wrapped: Callable[[Opener], Opener], without: str) -> bool:
    """Replaces the function by which a driver opens connections, `opener`, by `wrapped(opener)`.

    Returns false, and changes nothing, if the driver has no such function. `without`: the consequence, for the warning.
    """
    pool = getattr(driver, "_pool", None)
    opener = getattr(pool, "opener", None)
    if not callable(opener):
        _warn("Driver._pool.opener", without)
        return False
    pool.opener = wrapped(opener)  # type: ignore[union-attr]
    return True


def limit_silence(connection: Any, seconds: float) -> None:
    """Limits how long a connection waits for the next message. Without it, only the server limits a query."""
    limit = getattr(getattr(connection, "socket", None), "set_read_timeout", None)
    if not callable(limit):
        _warn("Connection.socket.set_read_timeout", "a server that hangs is noticed only by the system's probes")
    else:
        limit(seconds)


def raw_socket(connection: Any) -> socket.socket | None:
    """The operating system's socket of a connection; None if the driver does not show it."""
    raw = getattr(getattr(connection, "socket", None), "_socket", None)
    if not isinstance(raw, socket.socket):
        without = "a lost server is noticed late, and a forked child keeps the sockets of its parent"
        _warn("Connection.socket._socket", without)
        return None
    return raw


def wrap_messages(connection: Any, wrapped: Callable[[str, Callable[[], Any]], Callable[[], Any]]) -> None:
    """Replaces the steps that read and send one message by `wrapped(name, step)`."""
    for name in ("fetch_message", "send_all"):
        step = getattr(connection, name, None)
        if not callable(step):
            _warn(f"Connection.{name}", "a call that is interrupted from outside may leave its connection unusable")
        else:
            setattr(connection, name, wrapped(name, step))


def wrap_statements(connection: Any, wrapped: Callable[[str], str], without: str) -> None:
    """Makes a connection send `wrapped(text)` instead of the text of each statement. `without`: the consequence if the
    driver has no such step, for the warning."""
    run = getattr(connection, "run", None)
    if not callable(run):
        _warn("Connection.run", without)
        return
    connection.run = lambda text, *given, **options: run(wrapped(text), *given, **options)


def drop(connection: Any) -> None:
    """Closes a connection at once, without a message to the server."""
    (getattr(connection, "kill", None) or connection.close)()


def begin_with_next_query(session: Any) -> AbstractContextManager[Any]:
    """Within it, BEGIN is sent together with the first query. Without it, BEGIN takes a round trip of its own."""
    pipelined = getattr(session, "_pipelined_begin", None)
    if not isinstance(pipelined, AbstractContextManager):
        _warn("Session._pipelined_begin", "each change takes a round trip more")
        return nullcontext()
    return pipelined


def keep_password(connection: Any) -> None:
    """Makes a connection that was opened with a password keep that login, as the server does.

    The driver would log it in again with each new password, and fail while the server locks the user out.
    """
    auth, log_in_again = getattr(connection, "auth_dict", None), getattr(connection, "re_auth", None)
    if not isinstance(auth, dict) or not callable(log_in_again):
        _warn("Connection.re_auth", "open connections log in again with each new password")
        return
    if auth.get("scheme") != "basic":
        return

    def re_auth(*given: Any, force: bool = False, **options: Any) -> bool:
        still = bool(connection.auth_dict) and not force  # empty: the server has revoked it
        return False if still else bool(log_in_again(*given, force=force, **options))

    connection.re_auth = re_auth


def blockers(status: str, others: Collection[str]) -> frozenset[str]:
    """The ids of the transactions that a transaction waits for, by its status in SHOW TRANSACTIONS.

    The status of a waiting transaction names them, in a form that the server does not document. If it names none, the
    transaction may wait for any of `others`, the other transactions of its root.
    """
    if not status.lower().startswith("blocked"):
        return frozenset()
    return frozenset(re.findall(r"[\w.-]+-transaction-\d+", status)) or frozenset(others)
