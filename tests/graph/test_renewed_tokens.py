"""Tokens of a provider, against a fake server, because Neo4j Community has no single sign-on: when they are renewed."""

import time
from collections.abc import Callable
from typing import Any

import neo4j
import pytest
from neo4j.auth_management import ExpiringAuth
from neo4j.exceptions import Neo4jError

from grantpath.graph.client.login import EXPIRED, LOCKED, REFUSED, Renewed, renew_refused


def refusal(code: str) -> Neo4jError:
    return Neo4jError._hydrate_neo4j(code=code, message="fake")


class Tokens:
    """A provider of tokens t1, t2, ..., each valid for the given time."""

    def __init__(self, seconds: float | None = None) -> None:
        self.given = 0
        self.seconds = seconds

    def __call__(self) -> ExpiringAuth | neo4j.Auth:
        self.given += 1
        token = neo4j.bearer_auth(f"t{self.given}")
        return token if self.seconds is None else ExpiringAuth(token).expires_in(self.seconds)


class FakeConnection:
    def __init__(self, token: str) -> None:
        self.auth_dict = {"scheme": "bearer", "credentials": token}


class FakeServer:
    """Replaces a driver with its pool: opens a connection if it accepts the token."""

    def __init__(self, login: Renewed, timeout: float) -> None:
        self.accepts = "t1"
        self.code = REFUSED
        self.tries = 0
        self.locked_until = 0  # refuses every login before this try
        self._pool = self
        self.opener: Callable[[], Any] = lambda: self._open(login)
        renew_refused(self, login, timeout)  # type: ignore[arg-type]

    def _open(self, login: Renewed) -> "FakeConnection":
        self.tries += 1
        token = login.get_auth().credentials  # type: ignore[union-attr]
        if token != self.accepts or self.tries < self.locked_until:
            raise refusal(self.code)
        return FakeConnection(str(token))


def pass_time(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Advances the clocks, so that no test has to sleep."""
    for name in ("time", "monotonic"):
        clock = getattr(time, name)
        monkeypatch.setattr(time, name, lambda clock=clock: clock() + seconds)


def token_of(server: FakeServer) -> str:
    return str(server.opener().auth_dict["credentials"])


def test_token_is_used_until_it_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = Tokens(seconds=60)
    login = Renewed("bolt://x", tokens)
    assert login.get_auth() is login.get_auth() and tokens.given == 1
    pass_time(monkeypatch, 61)
    assert login.get_auth() == neo4j.bearer_auth("t2") and tokens.given == 2


@pytest.mark.parametrize("code", [REFUSED, EXPIRED])
def test_token_that_the_server_refuses_is_replaced(code: str) -> None:
    tokens = Tokens()
    login = Renewed("bolt://x", tokens)
    server = FakeServer(login, timeout=60)
    assert token_of(server) == "t1"
    server.accepts, server.code = "t3", code
    assert token_of(server) == "t3"
    assert tokens.given == 3 and server.tries >= 4


def test_lock_out_is_retried_with_the_same_login() -> None:
    login = Renewed("bolt://x", Tokens())
    server = FakeServer(login, timeout=60)
    server.opener()
    server.code, server.locked_until = LOCKED, server.tries + 4
    assert token_of(server) == "t1"
    assert server.tries == server.locked_until


def test_endless_refusals_end_at_the_timeout() -> None:
    login = Renewed("bolt://x", Tokens())
    server = FakeServer(login, timeout=1)
    server.opener()
    server.accepts = "no token at all"
    began = time.monotonic()
    with pytest.raises(Neo4jError):
        server.opener()
    assert 1 <= time.monotonic() - began < 30


def test_open_connection_with_an_expired_token_gets_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Does the same as the driver: returns the refused token, and retries once if there is another one."""
    login = Renewed("bolt://x", Tokens())
    used = login.get_auth()
    pass_time(monkeypatch, 1)
    assert login.handle_security_exception(used, refusal(EXPIRED))
    assert login.get_auth() == neo4j.bearer_auth("t2")
    assert login.handle_security_exception(used, refusal(EXPIRED)), "another thread has renewed it already"
    assert not login.handle_security_exception(used, refusal("Neo.ClientError.Security.Forbidden"))
