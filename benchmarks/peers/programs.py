"""Installs the measured servers from their registries into the cache, and runs them for this machine only."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from grantpath.graph.files.private_files import cache_folder
from peers.interface import NotInstalled

POM = (
    "<project><modelVersion>4.0.0</modelVersion><groupId>peers</groupId><artifactId>peers</artifactId>"
    "<version>1</version><dependencies><dependency>{}</dependency></dependencies></project>"
)
START = 60  # seconds within which a server must give its first answer


def built_by_go(name: str, package: str, version: str) -> Path:
    """The program of a Go package at a version. It is built once, which takes minutes. Raises NotInstalled."""

    def build(folder: Path) -> Path:
        for command in (
            ["go", "mod", "init", "peers"],  # not `go install`, which refuses modules that replace others
            ["go", "get", f"{package}@{version}"],
            ["go", "build", "-o", name, package],
        ):
            run(command, folder, {"CGO_ENABLED": "0", "GOFLAGS": "-mod=mod"})
        return folder / name

    return _installed(f"{name}-{version}", name, build)


def from_npm(name: str, package: str, version: str, path: str) -> Path:
    """The program that a package of npm contains, at `path` inside it. Raises NotInstalled."""

    def install(folder: Path) -> Path:
        run(
            ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", f"{package}@{version}"],
            folder,
        )
        return folder / "node_modules" / package / path

    return _installed(f"{name}-{version}", name, install)


def from_maven(name: str, artifact: str) -> Path:
    """The folder with the jars of an artifact, group:name:version, and of its dependencies. Raises NotInstalled."""
    group, called, version = artifact.split(":")

    def install(folder: Path) -> Path:
        needed = f"<groupId>{group}</groupId><artifactId>{called}</artifactId><version>{version}</version>"
        (folder / "pom.xml").write_text(POM.format(needed))
        run(["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"], folder)
        return folder / "jars"

    return _installed(f"{name}-{version}", "jars", install)


class Server:
    """A process of a server. It is ready when `ready()` is true, and `close` ends it. Its output goes to a temporary
    file."""

    def __init__(self, command: Sequence[str | Path], ready: Callable[[], bool], user: str | None = None) -> None:
        self._output = tempfile.TemporaryFile("w+")  # noqa: SIM115 open as long as the process
        self._process = subprocess.Popen(
            [*map(str, command)], stdin=subprocess.DEVNULL, stdout=self._output, stderr=subprocess.STDOUT, user=user
        )
        end = time.monotonic() + START
        while not ready():
            if self._process.poll() is not None or time.monotonic() > end:
                last = self._last_line()
                self.close()
                raise NotInstalled(f"{command[0]} does not start: {last}")
            time.sleep(0.05)

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._output.close()

    def _last_line(self) -> str:
        self._output.seek(0)
        return (self._output.read().strip().splitlines() or ["it printed nothing"])[-1]


def free_port() -> int:
    """A free port of the loopback address."""
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return int(each.getsockname()[1])


def connects(address: str) -> Callable[[], bool]:
    """A function that tells whether a gRPC server accepts connections at this address."""
    import grpc

    def ready() -> bool:
        with grpc.insecure_channel(address) as channel:
            try:
                grpc.channel_ready_future(channel).result(timeout=0.2)
            except grpc.FutureTimeoutError:
                return False
        return True

    return ready


def _installed(folder: str, name: str, install: Callable[[Path], Path]) -> Path:
    program = cache_folder() / "peers" / folder / name
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as fresh:
            shutil.move(install(Path(fresh)), program)
    return program


def run(
    command: Sequence[str], folder: Path, environment: dict[str, str] | None = None, user: str | None = None
) -> None:
    """Runs a command in the folder until it ends. `environment` is added to the environment of this process. Raises
    NotInstalled if the command fails."""
    try:
        environment = os.environ | (environment or {})
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, env=environment, user=user)
    except FileNotFoundError:
        raise NotInstalled(f"{command[0]} is not installed") from None
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["no reason was given"])[-1]
        raise NotInstalled(f"{' '.join(command)} failed: {last}") from None
