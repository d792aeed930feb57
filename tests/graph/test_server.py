"""The embedded server: one per home, on loopback, with its own password, permanent data and clear errors."""

import contextlib
import json
import os
import stat
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import neo4j
import psutil
import pytest
from neo4j.exceptions import AuthError

from grantpath.graph.client.connection import Connection
from grantpath.graph.embedded.connect import connection
from grantpath.graph.embedded.home import server_home
from grantpath.graph.embedded.server import ServerStatus, down, status, up
from grantpath.graph.errors import ServerError, Unavailable

from ..conftest import SERVER

UP = (
    "import sys; from pathlib import Path; from grantpath.graph.embedded.server import up;"
    " print(up(home=Path(sys.argv[1])).pid)"
)


def silent(line: str) -> None:
    """Ignores the progress of a start."""


def login(running: ServerStatus) -> neo4j.Driver:
    assert running.uri and running.password_file
    password = running.password_file.read_text().strip()
    return neo4j.GraphDatabase.driver(running.uri, auth=(running.user, password), connection_timeout=30.0)


def listeners(pid: int) -> set[tuple[str, int]]:
    """(address, port) of every TCP or UDP socket on which others could reach this process."""
    sockets = psutil.Process(pid).net_connections("inet")
    return {
        (found.laddr.ip, found.laddr.port)
        for found in sockets
        if found.status in (psutil.CONN_LISTEN, psutil.CONN_NONE)
    }


@pytest.fixture(scope="module", autouse=True)
def small_heap() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRANTPATH_HEAP", "512m")
        patch.delenv("GRANTPATH_NEO4J", raising=False)
        yield


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("server") / "größe 1"
    yield folder
    down(home=folder)


@pytest.fixture(scope="module")
def running(request: pytest.FixtureRequest, home_of_tests: Path) -> ServerStatus:
    """The server of the session if it is an embedded one, else the server of this module."""
    if os.environ.get(SERVER, "embedded") != "embedded":
        own: ServerStatus = request.getfixturevalue("own")
        return own
    request.getfixturevalue("server")
    return status(home=home_of_tests)


@pytest.fixture(scope="module")
def own(home: Path) -> ServerStatus:
    """The server of this module, started by three processes at once."""
    starters = [
        subprocess.Popen([sys.executable, "-c", UP, home], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    printed = [starter.communicate(timeout=300) for starter in starters]
    assert len({pid for pid, _ in printed}) == 1, printed
    assert sum(output.count("starting Neo4j") for _, output in printed) == 1
    found = status(home=home)
    assert str(found.pid) == printed[0][0].strip()
    return found


def test_running_server_has_its_version_and_home(running: ServerStatus) -> None:
    assert running.running and running.version.startswith("5.26.")
    assert running.home.name == "5.26"
    assert up(home=running.home.parent) == running
    with login(running) as driver:
        versions = driver.execute_query("CALL dbms.components() YIELD versions").records[0]["versions"]
    assert versions == [running.version]


def test_server_listens_on_loopback_only(running: ServerStatus) -> None:
    assert running.pid and running.uri and running.browser
    found = listeners(running.pid)
    assert {address.removeprefix("::ffff:") for address, _ in found} == {"127.0.0.1"}
    assert {f"bolt://127.0.0.1:{port}" for _, port in found} >= {running.uri}
    assert len(found) == 2


def test_secrets_are_readable_by_the_owner_only(running: ServerStatus) -> None:
    assert running.password_file and running.uri
    assert stat.S_IMODE(running.password_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(running.home.stat().st_mode) == 0o700
    password = running.password_file.read_text().strip()
    assert len(password) >= 20
    assert password not in repr(Connection(running.uri, "neo4j", password)) + repr(running)
    with (
        neo4j.GraphDatabase.driver(running.uri, auth=("neo4j", "neo4j")) as driver,
        pytest.raises(AuthError),
    ):
        driver.verify_connectivity()


def test_browser_is_served_with_the_bolt_address(running: ServerStatus) -> None:
    assert running.browser and running.uri
    with urllib.request.urlopen(running.browser, timeout=60) as page:
        assert b"<title>Neo4j Browser</title>" in page.read()
    with urllib.request.urlopen(running.browser.removesuffix("browser/"), timeout=60) as answer:
        assert json.load(answer)["bolt_direct"] == running.uri


def test_pages_of_other_origins_are_not_answered(running: ServerStatus) -> None:
    """A page of another web server in the user's browser must not read from this one."""
    assert running.browser
    own = running.browser.removesuffix("/browser/")
    for path in ("/", "/db/neo4j/tx/commit"):
        for origin in ("http://evil.example", "null", own.replace("127.0.0.1", "localhost")):
            asked = urllib.request.Request(
                own + path, headers={"Origin": origin}, method="OPTIONS" if "db" in path else "GET"
            )
            with urllib.request.urlopen(asked, timeout=60) as answer:
                assert answer.headers.get("Access-Control-Allow-Origin") in (None, own), (path, origin)


def test_wrong_logins_do_not_lock_the_user_out(running: ServerStatus) -> None:
    """Another user of the machine could send wrong logins."""
    assert running.uri
    for _ in range(6):
        with (
            neo4j.GraphDatabase.driver(running.uri, auth=("neo4j", "a guess")) as driver,
            pytest.raises(AuthError, match=r"(?i)unauthorized"),
        ):
            driver.verify_connectivity()
    with login(running) as driver:
        driver.verify_connectivity()


@pytest.mark.slow
def test_connection_follows_arguments_and_variables(
    own: ServerStatus, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert own.uri and own.password_file
    for variable in ("NEO4J_URI", "NEO4J_USER", "NEO4J_USERNAME", "NEO4J_PASSWORD"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("GRANTPATH_HOME", str(home))
    embedded = Connection(own.uri, "neo4j", own.password_file.read_text().strip())
    assert connection() == embedded
    assert connection(own.uri) == embedded
    with pytest.raises(Unavailable, match=r"no password for bolt://example\.com:7687: set NEO4J_PASSWORD"):
        connection("bolt://example.com:7687")
    monkeypatch.setenv("NEO4J_URI", "neo4j://example.com:7687")
    monkeypatch.setenv("NEO4J_PASSWORD", "s3cret")
    assert connection() == Connection("neo4j://example.com:7687", "neo4j", "s3cret")
    monkeypatch.setenv("NEO4J_USERNAME", "ann")
    assert connection("bolt://localhost:1").user == "ann"
    monkeypatch.setenv("NEO4J_USER", "bob")
    assert connection("bolt://localhost:1") == Connection("bolt://localhost:1", "bob", "s3cret")


@pytest.mark.slow
def test_record_of_another_process_is_corrected(own: ServerStatus, home: Path) -> None:
    where = server_home("5.26", home)
    record = where.recall()
    assert record
    where.remember(replace(record, pid=os.getpid()))
    assert status(home=home).pid == own.pid
    where.remember(replace(record, pid=2**22 - 1))
    assert up(home=home).pid == own.pid


@pytest.mark.slow
def test_lost_record_is_named(own: ServerStatus, home: Path) -> None:
    where = server_home("5.26", home)
    record = where.recall()
    assert record
    (own.home / "server.json").write_text("{")
    try:
        with pytest.raises(ServerError, match=rf"pid {own.pid}.*server\.json.*grantpath down"):
            up(home=home)
    finally:
        where.remember(record)


@pytest.mark.slow
def test_wrong_password_file_is_named(own: ServerStatus, home: Path) -> None:
    assert own.password_file
    right = own.password_file.read_text()
    own.password_file.write_text("not this one\n")
    try:
        with pytest.raises(ServerError, match=r"refuses the password in .*password; write the right one there"):
            up(home=home)
    finally:
        own.password_file.write_text(right)


@pytest.mark.slow
def test_data_and_password_survive_a_stop(own: ServerStatus, home: Path) -> None:
    assert own.password_file
    password = own.password_file.read_text()
    with login(own) as driver:
        driver.execute_query("CREATE (:Kept {name: 'Ann'})")
    assert down(home=home) is True
    assert own.pid
    with contextlib.suppress(psutil.NoSuchProcess):
        assert psutil.Process(own.pid).status() == psutil.STATUS_ZOMBIE
    stopped = status(home=home)
    assert not stopped.running and (stopped.uri, stopped.browser, stopped.pid) == (None, None, None)
    assert down(home=home) is False
    again = up(home=home, progress=silent)
    assert again.password_file and again.password_file.read_text() == password
    with login(again) as driver:
        assert driver.execute_query("MATCH (k:Kept) RETURN k.name AS name").records[0]["name"] == "Ann"
