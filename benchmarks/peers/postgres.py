"""Starts a separate PostgreSQL for a measured server, only reachable from this machine, in a temporary folder."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from peers.interface import NotInstalled
from peers.programs import Server, free_port, run

DEBIAN = Path("/usr/lib/postgresql")  # has a folder for each version
SETTINGS = {"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "shared_buffers": "512MB"}
USER = "postgres"


class Postgres:
    """An empty PostgreSQL, which `close` removes. Its settings are the defaults, including those for durability."""

    def __init__(self) -> None:
        self._programs = _programs()
        self._folder = tempfile.TemporaryDirectory()
        user = USER if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root
        data, port = Path(self._folder.name) / "data", str(free_port())
        data.mkdir()
        if user:
            Path(self._folder.name).chmod(0o755)
            shutil.chown(data, USER)
        self._address = ["-h", "127.0.0.1", "-p", port, "-U", USER]
        self.uri = f"postgres://{USER}@127.0.0.1:{port}/postgres?sslmode=disable"
        options = ["-D", str(data), "-U", USER, "-A", "trust", "-E", "UTF8"]
        run([str(self._programs / "initdb"), *options], data, user=user)
        settings = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
        command: list[str | Path] = [self._programs / "postgres", "-D", data, "-p", port, *settings]
        self._server = Server(command, self._ready, user)

    def analyze(self) -> None:
        """Updates the statistics of the planner after a load."""
        run([str(self._programs / "vacuumdb"), "--analyze", "--quiet", *self._address, USER], Path("/"))

    def close(self) -> None:
        self._server.close()
        self._folder.cleanup()

    def _ready(self) -> bool:
        return subprocess.run([self._programs / "pg_isready", "-q", *self._address]).returncode == 0


def _programs() -> Path:
    """The folder with the programs of the newest PostgreSQL. Raises NotInstalled."""
    named = shutil.which("postgres")
    folders = [Path(named).resolve().parent] if named else [each / "bin" for each in sorted(DEBIAN.glob("*"))]
    if not folders or not (folders[-1] / "initdb").exists():
        raise NotInstalled("PostgreSQL is not installed")
    return folders[-1]
