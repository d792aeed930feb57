"""Finds, starts and stops the process of an embedded server, and chooses its ports."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import psutil

from grantpath.graph.embedded.home import LOOPBACK, Record, ServerHome
from grantpath.graph.errors import ServerError

USUAL = Record(bolt=7687, http=7474)
STOP_SECONDS = 60.0
SAME_START = 5.0  # seconds: the reported start time of a process shifts a little when the system's clock is set
# The shell exits, so that init adopts the server: otherwise it would stay a zombie of this process when it ends.
DETACH = 'umask 077; "$@" </dev/null >"$CONSOLE" 2>&1 & echo $!'


def find(home: ServerHome) -> int | None:
    """The pid of the server that runs in `home`, recognized by its command line and not by a pid file alone.

    Waits for a server that is ending, since it still holds its files.
    """
    record = home.recall()
    if record and record.pid is not None:
        deadline = time.monotonic() + STOP_SECONDS
        while _is_ending(record) and time.monotonic() < deadline:
            time.sleep(0.01)
        if _is_server(record.pid, home):
            return record.pid
    if not home.folder.exists():
        return None
    return next((pid for pid in psutil.pids() if _is_server(pid, home)), None)


def _is_server(pid: int, home: ServerHome) -> bool:
    try:
        process = psutil.Process(pid)
        # Any user can give a process this command line, so its owner must be this user, the folder's owner or root.
        trusted = process.uids().real in (os.getuid(), home.folder.stat().st_uid, 0)
        return trusted and process.cmdline()[-len(home.arguments) :] == home.arguments and _is_alive(pid)
    except (psutil.Error, OSError):
        return False


def _is_ending(record: Record) -> bool:
    """A process that the system is removing has lost its command line but still has its pid and start time."""
    try:
        process = psutil.Process(record.pid)
        ours = record.started is not None and abs(process.create_time() - record.started) < SAME_START
        return ours and not process.cmdline() and _is_alive(process.pid)
    except psutil.Error:
        return False


def _is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def listens(pid: int, port: int) -> bool:
    """Does this process listen on the port?"""
    try:
        return any(
            connection.status == psutil.CONN_LISTEN and connection.laddr[1:2] == (port,)
            for connection in psutil.Process(pid).net_connections("tcp")
        )
    except psutil.Error:
        return False


def start(home: ServerHome, java: Path, ports: Record) -> None:
    """Starts the server in a session of its own, with its output in the console log, and saves its pid."""
    run = subprocess.run(
        ["/bin/sh", "-c", DETACH, "sh", str(java / "bin" / "java"), *home.arguments],
        # Java decodes folder names by the locale.
        env={**os.environ, "LC_ALL": "C.UTF-8", "CONSOLE": str(home.console_log)},
        cwd=home.folder,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    pid = int(run.stdout)
    # The process is recognized by Java's command line, which it has only after the shell's `exec`.
    while not _is_server(pid, home) and _is_alive(pid):
        time.sleep(0.01)
    with contextlib.suppress(psutil.Error):
        home.remember(replace(ports, pid=pid, started=psutil.Process(pid).create_time()))


def stop(home: ServerHome, pid: int) -> None:
    """Asks the server to end and waits for it. Raises ServerError if it does not end within STOP_SECONDS."""
    try:
        os.kill(pid, signal.SIGTERM)
        os.kill(pid, signal.SIGCONT)  # a suspended process does not handle SIGTERM
    except ProcessLookupError:
        return
    except PermissionError as error:
        raise ServerError(
            f"the server in {home.folder} (pid {pid}) belongs to another user; ask that user to stop it"
        ) from error
    deadline = time.monotonic() + STOP_SECONDS
    while _is_alive(pid):
        if time.monotonic() > deadline:
            raise ServerError(
                f"the server in {home.folder} (pid {pid}) did not stop within {STOP_SECONDS:.0f} s; "
                f"see {home.logs}; `kill -9 {pid}` ends it, committed changes are kept"
            )
        time.sleep(0.05)


def choose_ports(home: ServerHome) -> tuple[Record, list[str]]:
    """Free ports (the usual ones if possible, else those of the last run), and a line for each usual one in use."""
    record = home.recall()
    last = record or USUAL
    notes: list[str] = []
    bolt = _choose([USUAL.bolt, last.bolt], notes)
    http = _choose([USUAL.http, last.http], notes)
    return Record(bolt, http), notes


def _choose(wanted: list[int], notes: list[str]) -> int:
    chosen = next((port for port in wanted if _is_free(port)), None) or _any_free()
    if chosen != wanted[0]:
        notes.append(f"port {wanted[0]} is in use{_holder(wanted[0])}; using {chosen}")
    return chosen


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def _any_free() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def _holder(port: int) -> str:
    """The process that listens on the port, e.g. ` by java (pid 12)`; empty if the system does not show it."""
    try:
        for connection in psutil.net_connections("tcp"):
            listens = connection.status == psutil.CONN_LISTEN and connection.laddr[1:2] == (port,)
            if listens and connection.pid:
                return f" by {psutil.Process(connection.pid).name()} (pid {connection.pid})"
    except psutil.Error:
        pass
    return ""
