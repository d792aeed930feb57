"""The folder of one embedded server: its settings, password, data and logs."""

import hashlib
import json
import os
import re
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from grantpath.graph.client.connection import USER
from grantpath.graph.errors import InvalidInput, ServerError
from grantpath.graph.messages import short

if TYPE_CHECKING:
    from grantpath.graph.artifacts.java_versions import Purpose

Line = Literal["5.26", "2026"]
LOOPBACK = "127.0.0.1"
# access_control_allow_origin: HTTP must not answer pages of other origins.
# auth_max_failed_attempts: wrong logins must not lock the user out, since any user of the machine could cause that; the
# password is random and too long to be guessed.
# connection_keep_alive: the driver gives up on a silent server after INTERVAL x PROBES seconds.
# thread_pool_shutdown_wait_time: each stop waits for twice this time, although the connections are closed already.
# use_parameter_size: if true, Neo4j plans a query again whenever the length of a list or string parameter reaches
# another power of ten, which takes longer than a thousand checks.
KEEP_ALIVE_INTERVAL = 4
KEEP_ALIVE_PROBES = 2
SETTINGS = """\
server.default_listen_address={host}
server.bolt.listen_address={host}:{bolt}
server.bolt.advertised_address={host}:{bolt}
server.bolt.connection_keep_alive={interval}s
server.bolt.connection_keep_alive_probes={probes}
server.bolt.connection_keep_alive_for_requests=ALL
server.http.listen_address={host}:{http}
server.http.advertised_address={host}:{http}
server.https.enabled=false
dbms.security.http_access_control_allow_origin=http://{host}:{http}
dbms.security.auth_max_failed_attempts=0
server.memory.pagecache.size={pagecache}
db.tx_log.preallocate=false
db.relationship_grouping_threshold=1
db.tx_log.rotation.retention_policy=512M size
dbms.usage_report.enabled=false
client.allow_telemetry=false
db.logs.query.enabled=OFF
internal.cypher.use_parameter_size=false
internal.server.bolt.thread_pool_shutdown_wait_time=1s
"""
# By default 2026.x announces itself on the local network and to the vendor's console.
QUIET_2026 = """\
dbms.fleet_manager.enabled=false
server.fleet_discovery.enabled=false
server.http.x_forward.enabled=false
"""
JVM_OPTIONS = """\
-Xms{heap}
-Xmx{heap}
-XX:+UseG1GC
-XX:-OmitStackTraceInFastThrow
-XX:+ExitOnOutOfMemoryError
-Dfile.encoding=UTF-8
-Dlog4j2.disable.jmx=true
-Dio.netty.tryReflectionSetAccessible=true
--add-opens=java.base/java.nio=ALL-UNNAMED
--add-opens=java.base/java.io=ALL-UNNAMED
--add-opens=java.base/sun.nio.ch=ALL-UNNAMED
--add-opens=java.base/java.util.concurrent=ALL-UNNAMED
-classpath
"{classpath}"
"""


@dataclass(frozen=True)
class Release:
    """The parts of the set-up that differ between the release lines of Neo4j."""

    lock: Path
    main_class: str
    java: "Purpose"
    settings: str = ""

    @property
    def number(self) -> str:
        """The full version in the lock file, e.g. 5.26.30."""
        found = re.search(r"^org\.neo4j:neo4j:(\S+)", self.lock.read_text(encoding="utf-8"), re.MULTILINE)
        assert found, f"{self.lock} lists no org.neo4j:neo4j"
        return found[1]


def _lock(line: str) -> Path:
    return Path(__file__).parents[1] / "artifacts" / f"neo4j-{line}.lock"


RELEASES: dict[str, Release] = {
    "5.26": Release(_lock("5.26"), "org.neo4j.server.CommunityEntryPoint", "neo4j-5"),
    "2026": Release(_lock("2026"), "org.neo4j.server.Neo4jCommunity", "neo4j-2026", QUIET_2026),
}


@dataclass(frozen=True)
class Record:
    """The ports of a server and, once it is started, its pid and start time."""

    bolt: int
    http: int
    pid: int | None = None
    started: float | None = None


@dataclass(frozen=True)
class ServerHome:
    """The folder of one server; `line` is its release line of Neo4j."""

    folder: Path
    line: str

    @property
    def release(self) -> Release:
        return RELEASES[self.line]

    @property
    def password_file(self) -> Path:
        return self.folder / "password"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def console_log(self) -> Path:
        """The output of Java itself; Neo4j writes its own logs to the same folder."""
        return self.logs / "console.log"

    def start_log(self) -> str:
        """The output of the last start: Java's own if it has any, else Neo4j's log."""
        console, log = (
            path.read_text(errors="replace") if path.exists() else ""
            for path in (self.console_log, self.logs / "neo4j.log")
        )
        console = console.strip("\x06\n ")  # Neo4j prints an ACK character when it is up
        return console or log.rpartition(" INFO  Starting...")[2]

    @property
    def _record(self) -> Path:
        return self.folder / "server.json"

    @property
    def arguments(self) -> list[str]:
        """The arguments of `java`. They also identify the process of this server."""
        conf = self.folder / "conf"
        return [
            f"@{conf / 'java.args'}",
            self.release.main_class,
            f"--home-dir={self.folder}",
            f"--config-dir={conf}",
        ]

    def create(self) -> None:
        """Creates the folders, readable by their owner only. Raises ServerError."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.folder.chmod(0o700)
            for name in ("conf", "data", "logs"):
                (self.folder / name).mkdir(exist_ok=True)
        except OSError as error:
            raise self._useless(str(error.strerror)) from error

    def check(self) -> None:
        """Raises ServerError if `create` could not create the folders."""
        there = next(path for path in (self.folder, *self.folder.parents) if os.path.exists(path))
        if not there.is_dir():
            raise self._useless(f"{there} is not a folder")
        if not os.access(there, os.W_OK | os.X_OK):
            raise self._useless(f"{there} is not writable")

    def _useless(self, why: str) -> ServerError:
        return ServerError(
            f"{self.folder} cannot be used for the server's data ({why}); name another folder in GRANTPATH_HOME"
        )

    def configure(self, ports: Record, jars: list[Path]) -> None:
        """Writes Neo4j's settings and Java's arguments."""
        heap, pagecache = _size("GRANTPATH_HEAP", "1g"), _size("GRANTPATH_PAGECACHE", "512m")
        settings = SETTINGS.format(
            host=LOOPBACK,
            bolt=ports.bolt,
            http=ports.http,
            interval=KEEP_ALIVE_INTERVAL,
            probes=KEEP_ALIVE_PROBES,
            pagecache=pagecache,
        )
        options = JVM_OPTIONS.format(heap=heap, classpath=os.pathsep.join(map(str, jars)))
        # both have paths, whose bytes may be no text in this locale
        (self.folder / "conf" / "neo4j.conf").write_bytes(os.fsencode(settings + self.release.settings))
        (self.folder / "conf" / "java.args").write_bytes(os.fsencode(options))

    def remember(self, record: Record) -> None:
        """Saves the ports and the process of the last start."""
        fresh = self._record.with_suffix(".new")
        fresh.write_text(json.dumps(asdict(record)), encoding="utf-8")
        fresh.replace(self._record)

    def recall(self) -> Record | None:
        """The record that `remember` saved; None if it is missing or unreadable."""
        try:
            return Record(**json.loads(self._record.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def password(self) -> str:
        """The password of the server's only user; a new server gets a random one.

        Raises ServerError if the server has data but the password file is missing or empty.
        """
        known = self.password_file.read_text(encoding="utf-8").strip() if self.password_file.exists() else ""
        if known:
            self.password_file.chmod(0o600)
            return known
        if (self.folder / "data" / "databases").exists():
            raise ServerError(
                f"{self.password_file} is missing or empty, and the data in {self.folder} need that password; "
                "restore the file, or delete the folder to start with an empty graph"
            )
        password = secrets.token_urlsafe(18)
        self._set_initial(password)
        descriptor = os.open(self.password_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
            os.fchmod(descriptor, 0o600)
            handle.write(password + "\n")
        return password

    def _set_initial(self, password: str) -> None:
        """Writes the same file as Neo4j's `set-initial-password`, so that the default password never works."""
        salt = secrets.token_bytes(32)
        digest = hashlib.sha256(salt + password.encode()).digest()
        for _ in range(1023):
            digest = hashlib.sha256(digest).digest()
        folder = self.folder / "data" / "dbms"
        folder.mkdir(exist_ok=True)
        credential = f"SHA-256,{digest.hex()},{salt.hex()},1024"
        (folder / "auth.ini").write_text(f"{USER}:{credential}:\n", encoding="utf-8")


def server_home(version: str | None, home: Path | None) -> ServerHome:
    """The folder for a release line of Neo4j: in `home`, GRANTPATH_HOME or $XDG_DATA_HOME/grantpath, else in the
    system's folder for data (on Linux ~/.local/share/grantpath).

    `version` None means GRANTPATH_NEO4J, else 5.26. Raises InvalidInput for a line without a lock file.
    """
    line = version or os.environ.get("GRANTPATH_NEO4J") or "5.26"
    require_release(line)
    if home is None and (named := os.environ.get("GRANTPATH_HOME")):
        home = Path(named)
    if home is None:
        home = _data_folder()
    return ServerHome(home.expanduser().resolve() / line, line)


def _data_folder() -> Path:
    if named := os.environ.get("XDG_DATA_HOME"):
        return Path(named) / "grantpath"
    import platformdirs

    return platformdirs.user_data_path("grantpath")


def _size(variable: str, default: str) -> str:
    value = os.environ.get(variable) or default
    require_size(f"{variable}={short(value)}", value)
    return value


def require_size(what: str, value: str) -> None:
    """Raises InvalidInput, which begins with `what`, if the value is not a memory size such as 512m."""
    if not re.fullmatch(r"[0-9]+[kmgKMG]", value):
        raise InvalidInput(f"{what} is not a memory size; write a number and a unit, e.g. 512m")


def require_release(line: str) -> None:
    """Raises InvalidInput for a release line of Neo4j that the embedded server cannot be."""
    if line not in RELEASES:
        raise InvalidInput(f"Neo4j {short(repr(line))} is not supported; choose one of {', '.join(RELEASES)}")
