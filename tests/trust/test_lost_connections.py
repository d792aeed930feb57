"""After a connection is lost, or an answer is only half read, the next answer is right."""

import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier

import pytest
from neo4j._async_compat.network._bolt_socket import BoltSocketBase

from grantpath.engine import Authorizer, GrantpathError, Unavailable
from grantpath.graph.client.connection import Connection
from grantpath.graph.client.driver import IDLE_SECONDS
from grantpath.graph.guard.store import Store

from ..conftest import Tenants
from ..support.one_grant import ALLOWED, FACTS
from ..support.proxy import Proxy
from ..support.tiers import others_slow

DENIED = ("user:bob", "CREATE_SCHEMA", "catalog:hr")
ASKING = 8  # threads


@pytest.fixture
def proxy(server: Connection) -> Iterator[Proxy]:
    made = Proxy(server.uri)
    yield made
    made.close()


@pytest.fixture
def auth(tenant: Tenants, server: Connection, proxy: Proxy) -> Iterator[Authorizer]:
    made = tenant(given=FACTS)
    store = Store(Connection(proxy.uri, server.user, server.password), timeout=30.0)
    yield Authorizer(store, made.tenant, made.policy, made.root)
    store.close()


def test_question_survives_a_lost_connection(auth: Authorizer, proxy: Proxy) -> None:
    barrier = Barrier(ASKING)

    def ask(_: int) -> tuple[bool, bool]:
        barrier.wait(60)
        return auth.check(*ALLOWED).allowed, auth.check(*DENIED).allowed

    with ThreadPoolExecutor(ASKING) as pool:
        assert list(pool.map(ask, range(ASKING))) == [(True, False)] * ASKING
        for _ in range(3):
            lost = proxy.lost
            proxy.doom()
            assert list(pool.map(ask, range(ASKING))) == [(True, False)] * ASKING
            assert proxy.lost > lost


def test_lost_server_is_asked_only_twice(auth: Authorizer, proxy: Proxy) -> None:
    assert auth.check(*ALLOWED)
    proxy.close()
    proxy.doom()
    began = time.monotonic()
    with pytest.raises(Unavailable, match="cannot be reached"):
        auth.check(*ALLOWED)
    assert time.monotonic() - began < 25


def test_system_probes_idle_connections(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Firewalls then keep the connections, and a lost peer is detected."""
    seen: list[dict[str, int]] = []
    names = ("SO_KEEPALIVE", "TCP_KEEPIDLE", "TCP_USER_TIMEOUT")
    send: Callable[[BoltSocketBase, bytes], None] = BoltSocketBase.sendall

    def sendall(self: BoltSocketBase, data: bytes) -> None:
        levels = (socket.SOL_SOCKET, socket.IPPROTO_TCP, socket.IPPROTO_TCP)
        values = [
            self._socket.getsockopt(level, getattr(socket, name)) for level, name in zip(levels, names, strict=True)
        ]
        seen.append(dict(zip(names, values, strict=True)))
        send(self, data)

    monkeypatch.setattr(BoltSocketBase, "sendall", sendall)
    assert auth.check(*ALLOWED)
    assert seen[-1] == {"SO_KEEPALIVE": 1, "TCP_KEEPIDLE": IDLE_SECONDS, "TCP_USER_TIMEOUT": 15_000}


# ---- an exception in the middle of an answer -------------------------------------------------------------------------
class Interrupted(BaseException):
    """Like gevent's Timeout and KeyboardInterrupt."""


class SoftTimeLimit(Exception):
    """Like Celery's."""


def raising(at: int, error: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """Raises once after the read with that number, whose data is lost. Returns whether it has raised."""
    receive: Callable[[BoltSocketBase, memoryview, int], int] = BoltSocketBase.recv_into
    reads = [0]

    def recv_into(self: BoltSocketBase, buffer: memoryview, nbytes: int) -> int:
        got = receive(self, buffer, nbytes)
        reads[0] += 1
        if reads[0] == at:
            raise error
        return got

    monkeypatch.setattr(BoltSocketBase, "recv_into", recv_into)
    return lambda: reads[0] >= at


@pytest.mark.parametrize("error", [Interrupted, SoftTimeLimit, TimeoutError])
def test_answer_is_right_after_an_interrupted_answer(auth: Authorizer, error: type[BaseException]) -> None:
    """An interruption at any read of an answer does not affect the next answer."""
    at, left = 1, 0
    assert auth.check(*ALLOWED)
    while True:
        with pytest.MonkeyPatch.context() as patch:
            raised = raising(at, error, patch)
            try:
                assert auth.check(*ALLOWED).allowed
            except error:
                left += 1
            if not raised():
                break
        assert not auth.check(*DENIED).allowed and auth.check(*ALLOWED).allowed
        at += 1
    assert at > 4 and (left or error is TimeoutError)  # a TimeoutError is taken for a lost connection


@pytest.mark.parametrize("error", others_slow([Interrupted, SoftTimeLimit]))
def test_change_succeeds_after_an_interrupted_change(auth: Authorizer, error: type[BaseException]) -> None:
    """An interruption at some reads of a change does not block the root, and the log agrees with the graph."""
    for at in range(1, 60, 6):
        with pytest.MonkeyPatch.context() as patch:
            raising(at, error, patch)
            with suppress(error, GrantpathError):
                auth.change(f"add user:u{at}", id=f"u{at}")
        assert auth.change(f"add user:v{at}").id
        assert bool(auth.log(id=f"u{at}")) is (f"user:u{at}" in there(auth))


def there(auth: Authorizer) -> set[str]:
    return {each["ref"] for each in auth.ask("tenant_state")["entities"]}
