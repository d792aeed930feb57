"""Shared fixtures: one server per run (embedded, in a container, or a running one) and new tenants on it."""

import os
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import pytest

from grantpath.engine import Authorizer
from grantpath.engine.change import renaming
from grantpath.engine.policy import policy
from grantpath.engine.policy.schema import BUILT_IN
from grantpath.engine.tenants import registry
from grantpath.graph.client.connection import Connection
from grantpath.graph.embedded.connect import connection
from grantpath.graph.embedded.home import JVM_OPTIONS, RELEASES, SETTINGS
from grantpath.graph.embedded.server import up
from grantpath.graph.guard.store import Store

from .support import closing_lines, shared_home, tiers

if TYPE_CHECKING:
    from .support.tls_server import TlsServer

SERVER = "GRANTPATH_TEST_SERVER"  # embedded (default), docker, or uri (then NEO4J_URI, NEO4J_USER, NEO4J_PASSWORD)
PASSWORD = "only-for-tests"
# A server that one test starts lives for seconds: compiling its code thoroughly costs more than it saves.
SHORT_LIVED = JVM_OPTIONS.replace("-XX:+UseG1GC", "-XX:+UseSerialGC\n-XX:TieredStopAtLevel=1")
Closing = Callable[[str], None]
SPARK_SETTINGS = Path(__file__).parent / "support" / "spark_settings"
with_schema = WeakSet[Store]()  # the stores whose server has the constraints and indexes
BUILT_IN_NAMES = {file.stem for file in BUILT_IN.glob("*.yaml")}
built_in = cache(policy.load)  # compiling a policy anew for each test takes longer than the test


class Tenants:
    """Creates tenants with a private suffix, and removes them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._made: list[str] = []

    def __call__(self, policy_name: str = "gravitino", given: Iterable[str] = (), root: str = "ml") -> Authorizer:
        """Creates a tenant with these facts, all of which must be valid."""
        model = (built_in if policy_name in BUILT_IN_NAMES else policy.load)(policy_name)
        reference = model.root(root)
        tenant = f"{reference.text}~{uuid.uuid4().hex}"
        self._made.append(tenant)
        with pytest.MonkeyPatch.context() as patch:
            if self._store in with_schema:
                patch.setattr(registry, "create_schema", lambda _: None)
            registry.create(self._store, tenant, model, reference)
        with_schema.add(self._store)
        authorizer = Authorizer(self._store, tenant, model, reference)
        problems = [problem for problem in authorizer.given(given) if problem]
        assert not problems, "\n".join(problems)
        return authorizer

    def remove(self) -> None:
        """Removes the tenants that were created since the last call, once no thread is reading a copy of one.

        Such a thread would log that the tenant does not exist any more, in the log of the next test.
        """
        for thread in threading.enumerate():
            if thread.name == "grantpath-replica":
                thread.join(60)
        while self._made:
            registry.remove(self._store, self._made.pop())


class NoTimer:
    """What has ended stays until a test asks; tests/engine/change/test_end_timer.py tests the timer."""

    def watch(self, store: Store, root: str) -> None:
        """Does nothing."""

    def forget(self, store: Store) -> None:
        """Does nothing."""


@pytest.fixture(scope="session", autouse=True)
def home_of_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keeps tests away from the user's own data, and from a database that the user's variables name."""
    home = shared_home.folder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRANTPATH_HOME", str(home))
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        for name in ("GRANTPATH_EMBEDDED", "GRANTPATH_CONFIG", "GRANTPATH_PROFILE", "GRANTPATH_TIMEOUT"):
            patch.delenv(name, raising=False)
        if os.environ.get(SERVER) != "uri":
            for name in ("NEO4J_URI", "NEO4J_USER", "NEO4J_USERNAME", "NEO4J_PASSWORD", "NEO4J_PASSWORD_FILE"):
                patch.delenv(name, raising=False)
        for name, small in (("GRANTPATH_HEAP", "512m"), ("GRANTPATH_PAGECACHE", "128m")):
            patch.setenv(name, os.environ.get(name, small))
        patch.setattr("grantpath.graph.embedded.home.JVM_OPTIONS", SHORT_LIVED)
        patch.setenv("SPARK_CONF_DIR", str(SPARK_SETTINGS))
        patch.setattr("grantpath.graph.guard.store.timer", NoTimer())
        yield home


@pytest.fixture(scope="session")
def server(home_of_tests: Path) -> Iterator[Connection]:
    """The server of the tests, which `connection()` and the command line also use."""
    kind = os.environ.get(SERVER, "embedded")
    if kind == "embedded":
        yield from _embedded(home_of_tests)
    elif kind == "docker":
        yield from _container()
    elif kind == "uri" and os.environ.get("NEO4J_URI"):
        yield connection()
    else:
        pytest.exit(f"{SERVER}={kind}: choose embedded, docker, or uri with NEO4J_URI set", returncode=2)


@pytest.fixture(scope="session")
def store(server: Connection) -> Iterator[Store]:
    """One store for all tenants; a test that breaks connections opens its own."""
    opened = Store(server, timeout=60)  # other tests share the machine, and a cold server plans slowly
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def tls(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[TlsServer]":
    """A separate server that only accepts TLS, for tests that change logins or check certificates."""
    from .support.tls_server import tls_server

    with tls_server(tmp_path_factory.mktemp("tls")) as server:
        yield server


@pytest.fixture
def tenant(store: Store) -> Iterator[Tenants]:
    """Creates tenants, e.g. `auth = tenant("gravitino", given=[...])`, and removes them after the test."""
    tenants = Tenants(store)
    yield tenants
    tenants.remove()


@pytest.fixture(scope="module")
def module_tenant(store: Store) -> Iterator[Tenants]:
    """Like `tenant`, for tenants that the tests of one file share."""
    tenants = Tenants(store)
    yield tenants
    tenants.remove()


def _embedded(home: Path) -> Iterator[Connection]:
    """The embedded server of the run; the first worker process that needs it starts it. It keeps its plans: tenants
    come and go here, and a server that sees the statistics change plans every query again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("grantpath.graph.embedded.home.JVM_OPTIONS", JVM_OPTIONS)
        patch.setattr("grantpath.graph.embedded.home.SETTINGS", SETTINGS + "dbms.cypher.min_replan_interval=1h\n")
        patch.setenv("GRANTPATH_HEAP", "1g")
        patch.setenv("GRANTPATH_PAGECACHE", "256m")
        up(home=home)
    yield connection()


def _container() -> Iterator[Connection]:
    from testcontainers.neo4j import Neo4jContainer

    line = os.environ.get("GRANTPATH_NEO4J") or "5.26"
    image = f"neo4j:{RELEASES[line].number}-community"
    with (
        Neo4jContainer(image, password=PASSWORD) as container,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("NEO4J_URI", container.get_connection_url())
        patch.setenv("NEO4J_USER", container.username)
        patch.setenv("NEO4J_PASSWORD", container.password)
        yield connection()


@pytest.fixture
def schema(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Creates the constraints and indexes once, for tests that create many roots by product code."""
    registry.create_schema(store)
    monkeypatch.setattr(registry, "create_schema", lambda _: None)


@pytest.fixture
def large_renames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes nearly every rename and move one with many facts, whose delta is two references."""
    monkeypatch.setattr(renaming, "LISTED", 2)


@pytest.fixture
def closing(pytestconfig: pytest.Config) -> Closing:
    """Adds a line to pytest's final output, since the output of passing tests is not shown."""
    return closing_lines.lines(pytestconfig).append


def pytest_addoption(parser: pytest.Parser) -> None:
    tiers.add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    tiers.begin()
    shared_home.begin(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    shared_home.end(config)
    tiers.end()


def pytest_runtest_setup(item: pytest.Item) -> None:
    tiers.require_in_time(item.config, item)


@pytest.hookimpl(trylast=True)  # counts the tests that -k and -m have selected
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tiers.select(config, items, tiers.why_no_browser(os.environ.get(SERVER, "embedded") == "embedded"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from .support.spark_worker import OneSparkWorker

    return OneSparkWorker(config, log) if config.option.dist == "loadfile" else None


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    closing_lines.gather(node)


def pytest_sessionfinish(session: pytest.Session) -> None:
    closing_lines.hand_over(session.config)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Prints the tests' lines, the omitted tests, and every Browser test that could not run."""
    skipped = terminalreporter.stats.get("skipped", [])
    for report in skipped:
        if "browser" in report.keywords:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            terminalreporter.write_line(f"NOT RUN: {report.nodeid}: {reason}", red=True, bold=True)
    tiers.report(terminalreporter, config)
