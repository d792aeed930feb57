"""The login from an argument, a provider or variables; it is renewed while a service runs, and never shown."""

import logging
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, LiteralString

import neo4j
import pytest

from grantpath.engine import Authorizer, InvalidInput, Unavailable
from grantpath.engine.tenants import registry
from grantpath.graph.client.connection import Connection
from grantpath.graph.client.credentials import checked
from grantpath.graph.client.login import Renewed
from grantpath.graph.embedded.connect import connection
from grantpath.graph.guard.store import Store

from ..support.tls_server import TlsServer

ROOT, CHECK = "metalake:login", ("user:bob", "USE_CATALOG", "metalake:login")
SECRET = "s3cret-of-the-tests"


class Vault:
    """Stores the user's current password for a provider."""

    def __init__(self, user: str, password: str) -> None:
        self.login = (user, password)
        self.calls = 0

    def __call__(self) -> tuple[str, str]:
        self.calls += 1
        return self.login


@pytest.fixture
def vault(tls: TlsServer) -> Iterator[Vault]:
    """The login of a user that was created for the test; the vault has its password."""
    with tls.driver() as driver:

        def admin(text: LiteralString, **given: str) -> None:
            driver.execute_query(text, given, database_="system")

        admin("CREATE USER service SET PASSWORD $password CHANGE NOT REQUIRED", password=SECRET)
        yield Vault("service", SECRET)
        admin("DROP USER service")


def opened(tls: TlsServer, auth: Any, timeout: float = 10.0) -> Authorizer:
    return Authorizer.open(ROOT, "gravitino", tls.uri("bolt+s"), timeout, create=True, auth=auth, ca=str(tls.ca))


# ---- forms of a login ---------------------------------------------------------------------------------------------
@pytest.mark.crash
@pytest.mark.slow
def test_login_is_user_and_password_or_auth_object(tls: TlsServer) -> None:
    for auth in ((tls.user, tls.password), neo4j.basic_auth(tls.user, tls.password)):
        with opened(tls, auth) as authorizer:
            assert authorizer.revision_now() >= 0


@pytest.mark.crash
@pytest.mark.slow
def test_one_process_can_use_two_servers(tls: TlsServer, server: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NEO4J_URI", "NEO4J_USER", "NEO4J_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    root, login = f"metalake:login_{uuid.uuid4().hex[:8]}", (server.user, server.password)
    with (
        opened(tls, (tls.user, tls.password)) as one,
        Authorizer.open(root, "gravitino", server.uri, create=True, auth=login) as other,
    ):
        assert one.revision_now() >= 0 and other.revision_now() >= 0
        registry.remove(other.store, root)


def test_argument_overrides_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_USER", "ann")
    monkeypatch.setenv("NEO4J_PASSWORD", "hers")
    assert connection("bolt://x").login == ("ann", "hers")
    assert connection("bolt://x", ("bob", "his")).login == ("bob", "his")
    token = neo4j.bearer_auth("token")
    assert connection("bolt://x", token).login is token


@pytest.mark.parametrize("auth", ["neo4j/p", ("neo4j",), ["neo4j", SECRET], ("neo4j", None), {"user": SECRET}, 5])
def test_invalid_login_is_refused_and_not_shown(auth: Any) -> None:
    with pytest.raises(InvalidInput, match=r"auth= is a \w+; give \(user, password\)") as caught:
        checked(auth)
    assert SECRET not in str(caught.value)


def test_no_repr_shows_a_login() -> None:
    shown = [Connection("bolt://x", "neo4j", SECRET), Connection("bolt://x", "", "", neo4j.bearer_auth(SECRET))]
    store = Store(shown[0])
    assert SECRET not in repr(shown) + repr(vars(store)) + repr(Renewed("bolt://x", lambda: ("neo4j", SECRET)))
    store.close()


# ---- passwords that change -------------------------------------------------------------------------------------------
class Service:
    """Threads that share one authorizer, ask and change continuously, and record their work and their errors."""

    def __init__(self, auth: Authorizer) -> None:
        self._auth = auth
        self._stop = Event()
        self._pool = ThreadPoolExecutor(24)
        self.checks = 0
        self.changes = 0
        self.errors: list[Exception] = []

    def start(self, readers: int, writers: int) -> None:
        for run in [self._read] * readers + [self._write] * writers:
            self._pool.submit(self._repeat, run)

    def stop(self) -> None:
        self._stop.set()
        self._pool.shutdown()

    def works(self, checks: int = 30, changes: int = 3) -> bool:
        """Does it do that much more work within a minute?"""
        before, until = (self.checks, self.changes), time.monotonic() + 60
        while time.monotonic() < until:
            if self.checks >= before[0] + checks and self.changes >= before[1] + changes:
                return True
            time.sleep(0.05)
        return False

    def _repeat(self, run: Callable[[], object]) -> None:
        while not self._stop.is_set():
            try:
                run()
            except Exception as error:
                self.errors.append(error)

    def _read(self) -> None:
        self._auth.check(*CHECK)
        self.checks += 1

    def _write(self) -> None:
        self._auth.change(f"add user:{uuid.uuid4().hex}")
        self.changes += 1


@pytest.mark.crash
@pytest.mark.slow
def test_password_is_rotated_under_running_threads(
    tls: TlsServer, vault: Vault, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Old connections continue. New ones are refused until the provider has the new password, and no caller notices."""
    caplog.set_level(logging.DEBUG, logger="grantpath")
    with opened(tls, vault, timeout=60) as auth:
        service = Service(auth)
        try:
            service.start(readers=2, writers=1)
            assert service.works()
            for turn in range(2):
                fresh = f"{SECRET}-{turn}"
                with tls.driver() as driver:
                    driver.execute_query("ALTER USER service SET PASSWORD $to", {"to": fresh}, database_="system")
                service.start(readers=4, writers=2)  # they need connections of their own
                time.sleep(0.5)
                vault.login = ("service", fresh)
                assert service.works(), service.errors[:3]
        finally:
            service.stop()
    with capsys.disabled():
        print(
            f"\npassword changed twice under 15 threads: {service.checks:,} checks, {service.changes:,} changes, "
            f"{len(service.errors)} errors; the provider was called {vault.calls} times"
        )
    assert service.errors == []
    assert vault.calls >= 3
    assert SECRET not in caplog.text


@pytest.mark.crash
@pytest.mark.slow
def test_wrong_password_names_the_remedy(tls: TlsServer, vault: Vault) -> None:
    """It raises at once if no login of the provider was ever accepted."""
    began = time.monotonic()
    with pytest.raises(Unavailable, match="refuses the login: check auth=, or NEO4J_USER and NEO4J_PASSWORD"):
        opened(tls, Vault("service", "wrong-password"), timeout=60)
    assert time.monotonic() - began < 50
    with pytest.raises(Unavailable, match="the provider in auth= raised ZeroDivisionError"):
        opened(tls, lambda: 1 / 0)
    with pytest.raises(Unavailable, match="the provider in auth= returned a NoneType; it must return"):
        opened(tls, lambda: None)


@pytest.mark.crash
@pytest.mark.slow
def test_lock_out_of_a_user_is_reported(tls: TlsServer, vault: Vault) -> None:
    """Three wrong passwords make the server refuse every login for a second."""

    def refused(_: int) -> str:
        with pytest.raises(Unavailable) as caught:
            opened(tls, ("service", "wrong-password"))
        return str(caught.value)

    texts, until = set[str](), time.monotonic() + 60
    with ThreadPoolExecutor(8) as pool:
        while len(texts) < 2 and time.monotonic() < until:
            texts.update(pool.map(refused, range(8)))
    assert any("refuses the login: check auth=" in text for text in texts)
    assert any("refuses every login of this user for a while, after several wrong ones" in text for text in texts)
