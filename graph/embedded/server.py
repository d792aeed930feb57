"""The embedded Neo4j server: up, down and status."""

import logging
import os
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import neo4j
from neo4j.exceptions import AuthError, DriverError, Neo4jError

from grantpath.graph.artifacts.folder_lock import lock_folder
from grantpath.graph.artifacts.jars import ensure_jars
from grantpath.graph.artifacts.java import java_for
from grantpath.graph.client.connection import USER
from grantpath.graph.client.driver import ping
from grantpath.graph.embedded import browser_files, process
from grantpath.graph.embedded.home import LOOPBACK, Record, ServerHome, server_home
from grantpath.graph.errors import InvalidInput, ServerError
from grantpath.graph.messages import short
from grantpath.graph.progress import ReportLine

# The driver also logs the errors that it raises; without a handler Python would print them.
logging.getLogger("neo4j").addHandler(logging.NullHandler())

log = logging.getLogger("grantpath.server")

SWITCH, NEVER = "GRANTPATH_EMBEDDED", "never"

START_SECONDS = 180.0  # includes recovery after a crash
ANSWER_SECONDS = 30.0  # for a server that is already running
STARTS = 3  # another process may take a port between our check and Neo4j's start
TAKEN = re.compile(r"Address (\S+ is )?already in use")  # as Bolt and as HTTP say it


@dataclass(frozen=True)
class ServerStatus:
    """The embedded server of one release line of Neo4j; the addresses are None while it is not running."""

    running: bool
    version: str
    uri: str | None
    user: str
    password_file: Path | None
    browser: str | None
    pid: int | None
    home: Path


def up(version: str | None = None, home: Path | None = None, progress: ReportLine | None = None) -> ServerStatus:
    """Starts the embedded server unless it is running; returns when it answers queries.

    `version` is 5.26 or 2026 (None: GRANTPATH_NEO4J, else 5.26). `progress` receives a line for each slow step and
    each unusual event (None: the standard error stream). Raises ServerError, also if GRANTPATH_EMBEDDED=never forbids
    the server.
    """
    _check_allowed()
    where = server_home(version, home)
    report = progress or _to_stderr
    where.create()
    with lock_folder(where.folder):
        if not _await_answer(where, ANSWER_SECONDS):
            _start(where, report)
            log.info("started Neo4j %s in %s", where.release.number, where.folder)
    return status(where.line, where.folder.parent)


def down(version: str | None = None, home: Path | None = None) -> bool:
    """Stops the embedded server; False if it was not running. Raises ServerError if it does not end."""
    where = server_home(version, home)
    if not where.folder.exists():
        return False
    with lock_folder(where.folder):
        pid = process.find(where)
        if pid is not None:
            process.stop(where, pid)
            log.info("stopped Neo4j %s in %s", where.release.number, where.folder)
    return pid is not None


def status(version: str | None = None, home: Path | None = None) -> ServerStatus:
    """The status of the embedded server, without starting it or waiting for it.

    Raises ServerError if it is not running and its folder cannot be used.
    """
    found = seen(server_home(version, home))
    if not found.running:
        server_home(version, home).check()
    return found


def seen(where: ServerHome) -> ServerStatus:
    pid, record = process.find(where), where.recall()
    here = record if pid is not None else None
    return ServerStatus(
        running=here is not None,
        version=where.release.number,
        uri=_uri(here) if here else None,
        user=USER,
        password_file=where.password_file if where.password_file.exists() else None,
        browser=f"http://{LOOPBACK}:{here.http}/browser/" if here else None,
        pid=pid,
        home=where.folder,
    )


def _check_allowed() -> None:
    """Raises ServerError if the embedded server is forbidden, InvalidInput for another value of the variable."""
    switch = os.environ.get(SWITCH)
    if switch == NEVER:
        raise ServerError(
            f"{SWITCH}=never forbids the embedded server: name a server by --uri or NEO4J_URI, or unset the variable"
        )
    if switch:
        raise InvalidInput(f"{SWITCH}={short(switch)} is not a valid value; write {NEVER}, or unset the variable")


def _uri(record: Record) -> str:
    return f"bolt://{LOOPBACK}:{record.bolt}"


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _start(where: ServerHome, progress: ReportLine) -> None:
    java = java_for(where.release.java, progress)
    jars = ensure_jars(where.release.lock, progress)
    jars = [browser_files.unpacked(jars, where.folder / browser_files.FOLDER), *jars]
    where.password()
    for attempt in range(STARTS):
        ports, notes = process.choose_ports(where)
        for note in notes:
            progress(note)
        progress(f"starting Neo4j {where.release.number}")
        where.configure(ports, jars)
        where.remember(ports)
        process.start(where, java, ports)
        if _await_answer(where, START_SECONDS):
            return
        if attempt == STARTS - 1 or not TAKEN.search(where.start_log()):
            raise ServerError(f"Neo4j ended while starting: {_cause(where)}; its logs are in {where.logs}")


def _await_answer(where: ServerHome, seconds: float) -> bool:
    """True once the server answers, False if it is not running; raises ServerError if it refuses or stays silent."""
    deadline = time.monotonic() + seconds
    while True:
        pid, record = process.find(where), where.recall()
        if pid is None:
            return False
        if record is None:
            raise ServerError(
                f"a server runs in {where.folder} (pid {pid}), but server.json, which has its ports, is missing; "
                "run `grantpath down`, then `grantpath up`"
            )
        # Another program may listen on the port, and must not receive the password.
        if process.listens(pid, record.bolt) and _answers(_uri(record), where):
            return True
        if time.monotonic() > deadline:
            raise ServerError(
                f"Neo4j (pid {pid}) is running but has not answered for {seconds:.0f} s; its logs are in "
                f"{where.logs}; `grantpath down` stops it"
            )
        time.sleep(0.1)


def _answers(uri: str, where: ServerHome) -> bool:
    try:
        with neo4j.GraphDatabase.driver(
            uri,
            auth=(USER, where.password()),
            connection_timeout=5.0,
            connection_acquisition_timeout=10.0,
            max_transaction_retry_time=0.0,
        ) as driver:
            ping(driver, "neo4j")
            return True
    except AuthError as error:
        raise ServerError(
            f"the server in {where.folder} refuses the password in {where.password_file}; write the right one there"
        ) from error
    except (DriverError, Neo4jError, OSError):
        return False


def _cause(where: ServerHome) -> str:
    """The innermost cause in the output of the last start, without its stack trace."""
    lines = [line for line in where.start_log().splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by: ") or " ERROR " in line]
    cause = causes[-1] if causes else ". ".join(lines[:2]) or "it printed nothing"
    about_memory = "memory" in cause.lower() or "heap" in cause.lower()
    return cause.removeprefix("Caused by: ") + (" (GRANTPATH_HEAP sets the heap)" if about_memory else "")
