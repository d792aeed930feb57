"""An embedded server for one test file, in its own folder, that tests may kill and suspend."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from grantpath.engine import Authorizer
from grantpath.engine.policy import policy
from grantpath.engine.tenants import registry
from grantpath.graph.client.connection import Connection
from grantpath.graph.embedded import process as server_process
from grantpath.graph.embedded.connect import connection
from grantpath.graph.embedded.home import Record
from grantpath.graph.embedded.server import down, up
from grantpath.graph.guard.store import Store

from .suspended import suspend


class OwnServer:
    """A server that has the same address after each start."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._pid: int | None = None
        self.connection: Connection

    def start(self) -> None:
        self._pid = up(home=self._home, progress=lambda line: None).pid
        self.connection = connection()

    def kill(self) -> None:
        """Kills it with SIGKILL, and waits for its end."""
        assert self._pid
        process = psutil.Process(self._pid)
        os.kill(self._pid, signal.SIGKILL)
        process.wait(30)

    def suspend(self) -> None:
        assert self._pid
        suspend(self._pid)

    def resume(self) -> None:
        assert self._pid
        os.kill(self._pid, signal.SIGCONT)

    def stop(self) -> None:
        down(home=self._home)

    def tenant(self, root: str, policy_name: str, timeout: float) -> Authorizer:
        """An authorizer with its own store; creates the root, with retries, if it does not exist."""
        model = policy.load(policy_name)
        reference = model.root(root)
        patient = Store(self.connection, timeout=60.0)
        registry.create(patient, reference.text, model, reference)
        patient.close()
        return Authorizer(Store(self.connection, timeout), reference.text, model, reference)


@contextmanager
def own_server(home: Path) -> Iterator[OwnServer]:
    """Starts the server, and stops it at the end; `connection()` and new processes use it meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRANTPATH_HOME", str(home))
        patch.setenv("GRANTPATH_HEAP", "384m")
        patch.setenv("GRANTPATH_PAGECACHE", "64m")
        patch.delenv("NEO4J_URI", raising=False)
        patch.setattr(server_process, "USUAL", Record(free_port(), free_port()))
        mine = OwnServer(home)
        try:
            mine.start()
            yield mine
        finally:
            mine.stop()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
