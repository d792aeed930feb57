"""A server that hangs, stops or refuses, and a wrong event loop or process: clear errors, and the loop goes on."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from grantpath.engine import AsyncAuthorizer, Authorizer, GrantpathError, Unavailable, Unknown
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.async_store import AsyncStore

from ...conftest import Closing
from ...support.lateness import Lateness
from ...support.proxy import Proxy
from .conftest import NewRoot

FACTS = [
    "add catalog:hr",
    "add role:analyst",
    "member user:bob of role:analyst",
    "allow USE_CATALOG on catalog:hr to role:analyst",
]
YES = ("user:bob", "USE_CATALOG", "catalog:hr")
TIMEOUT = 4.0  # seconds
LAG = 1.0  # seconds, besides what the machine is late
IN_A_CHILD = """
import asyncio, os, sys
from grantpath import AsyncAuthorizer, Unavailable

async def ask(auth):
    return (await auth.check("user:bob", "USE_CATALOG", "catalog:hr")).allowed

async def main():
    async with AsyncAuthorizer.open(sys.argv[1]) as auth:
        assert await ask(auth)
        child = os.fork()
        if not child:
            try:
                asyncio.new_event_loop().run_until_complete(ask(auth))
            except Unavailable as error:
                os._exit(0 if "belongs to another event loop or process" in str(error) else 2)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert await ask(auth)

asyncio.run(main())
"""


@pytest.fixture
def made(new_root: NewRoot) -> Authorizer:
    return new_root(FACTS)


@pytest.fixture
def proxy(server: Connection) -> Iterator[Proxy]:
    opened = Proxy(server.uri)
    yield opened
    opened.close()


def opened(made: Authorizer, server: Connection, uri: str, timeout: float) -> AsyncAuthorizer:
    store = AsyncStore(Connection(uri, server.user, server.password), timeout)
    return AsyncAuthorizer(Authorizer(store, made.tenant, made.policy, made.root), store)


async def longest_lag(until: asyncio.Event) -> float:
    """The longest time for which the loop did not run its tasks."""
    longest = 0.0
    while not until.is_set():
        began = time.perf_counter()
        await asyncio.sleep(0.01)
        longest = max(longest, time.perf_counter() - began - 0.01)
    return longest


def test_loop_goes_on_while_the_server_hangs(
    made: Authorizer, server: Connection, proxy: Proxy, closing: Closing
) -> None:
    """Questions, a change and a login wait; each ends with Unavailable, and other tasks run meanwhile."""

    async def failure(work: Callable[[], object]) -> object:
        with suppress(Unavailable):
            return await work()  # type: ignore[misc]
        return Unavailable

    async def run() -> None:
        async with opened(made, server, proxy.uri, timeout=TIMEOUT) as auth:
            assert await auth.check(*YES)
            proxy.frozen.set()
            ended, began = asyncio.Event(), time.perf_counter()
            lag = asyncio.create_task(longest_lag(ended))
            works = [lambda: auth.check(*YES)] * 150 + [lambda: auth.change("add user:x")] * 2
            found = await asyncio.gather(*map(failure, works))
            seconds = time.perf_counter() - began
            ended.set()
            closing(
                f"event loop: 150 checks and 2 changes on a server that hangs: all ended after {seconds:.1f} s "
                f"(timeout {TIMEOUT:.0f} s), the longest lag of the loop was {await lag * 1_000:.0f} ms"
            )
            assert found == [Unavailable] * 152
            assert seconds < 30
            assert lag.result() < LAG + lateness.worst

    with Lateness() as lateness:
        asyncio.run(run())


def test_lost_connections_are_replaced(made: Authorizer, server: Connection, proxy: Proxy) -> None:
    async def run() -> None:
        async with opened(made, server, proxy.uri, timeout=30.0) as auth:
            for _ in range(3):
                assert all(await asyncio.gather(*(auth.check(*YES) for _ in range(20))))
                proxy.doom()
            assert proxy.lost

    asyncio.run(run())


def test_stopped_server_is_an_error_and_not_an_answer(made: Authorizer, server: Connection, proxy: Proxy) -> None:
    async def run() -> None:
        async with opened(made, server, proxy.uri, timeout=5.0) as auth:
            assert await auth.check(*YES)
            proxy.close()
            proxy.doom()
            for work in (auth.check(*YES), auth.change("add user:x"), auth.who("USE_CATALOG", "catalog:hr")):
                with pytest.raises(Unavailable, match="cannot be reached"):
                    await work

    asyncio.run(run())


def test_closed_authorizer_says_so(made: Authorizer, server: Connection) -> None:
    async def run() -> None:
        auth = opened(made, server, server.uri, timeout=30.0)
        async with auth:
            assert await auth.check(*YES)
        await auth.close()  # a second time
        for work in (auth.check(*YES), auth.change("add user:x"), auth.log()):
            with pytest.raises(Unavailable, match="closed"):
                await work

    asyncio.run(run())


def test_another_event_loop_gets_one_clear_error(made: Authorizer, server: Connection) -> None:
    async def make() -> AsyncAuthorizer:
        auth = opened(made, server, server.uri, timeout=30.0)
        assert await auth.check(*YES)
        return auth

    async def other() -> None:
        for work in (auth.check(*YES), auth.change("add user:x"), auth.who("USE_CATALOG", "catalog:hr"), auth.close()):
            with pytest.raises(Unavailable, match=f"{made.tenant} belongs to another event loop or process"):
                await work

    first = asyncio.new_event_loop()
    auth = first.run_until_complete(make())
    asyncio.run(other())
    assert first.run_until_complete(auth.check(*YES))
    first.run_until_complete(auth.close())
    first.close()


def test_forked_child_gets_one_clear_error(made: Authorizer, server: Connection) -> None:
    login = {"NEO4J_URI": server.uri, "NEO4J_USER": server.user, "NEO4J_PASSWORD": server.password}
    ran = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", IN_A_CHILD, made.tenant],
        env=os.environ | login,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_synchronous_query_on_the_loop_is_refused(made: Authorizer, server: Connection) -> None:
    """It would block every task; the text of a decision is complete without it."""

    async def run() -> None:
        async with opened(made, server, server.uri, timeout=30.0) as auth:
            with pytest.raises(Unavailable, match="without blocking the event loop; await the question"):
                auth._inner.check(*YES)
            decision = await auth.check("user:bop", *YES[1:])
            assert decision.missing == ["user:bop does not exist: add user:bop"]

    asyncio.run(run())


def test_opening_succeeds_or_names_the_error(server: Connection, made: Authorizer) -> None:
    given = {"uri": server.uri, "auth": (server.user, server.password)}

    async def run() -> None:
        async with AsyncAuthorizer.open(made.tenant, **given) as auth:  # type: ignore[arg-type]
            assert await auth.check(*YES)
        auth = await AsyncAuthorizer.open(made.tenant, **given)  # type: ignore[arg-type]
        assert (auth.tenant, auth.root, auth.policy.name) == (made.tenant, made.root, "gravitino")
        await auth.close()
        with pytest.raises(Unknown, match="does not exist"):
            await AsyncAuthorizer.open("metalake:none-of-this-name", **given)  # type: ignore[arg-type]
        with pytest.raises(GrantpathError):
            async with AsyncAuthorizer.open(made.tenant, uri="http://x"):
                pass
        opening = asyncio.ensure_future(_await(AsyncAuthorizer.open(made.tenant, **given)))  # type: ignore[arg-type]
        await asyncio.sleep(0.01)
        opening.cancel()
        with suppress(asyncio.CancelledError):
            await (await opening).close()

    asyncio.run(run())


async def _await(opening: object) -> AsyncAuthorizer:
    return await opening  # type: ignore[misc,no-any-return]


def test_provider_of_logins_may_block_without_blocking_the_loop(made: Authorizer, server: Connection) -> None:
    """The provider waits for the loop to run another task."""
    asked, ran = threading.Event(), threading.Event()

    def provider() -> tuple[str, str]:
        asked.set()
        assert ran.wait(60), "the loop is blocked"
        return server.user, server.password

    async def other() -> None:
        while not asked.is_set():
            await asyncio.sleep(0.01)
        ran.set()

    async def run() -> None:
        store = AsyncStore(Connection(server.uri, "", "", auth=provider), timeout=30.0)
        async with AsyncAuthorizer(Authorizer(store, made.tenant, made.policy, made.root), store) as auth:
            task = asyncio.create_task(other())
            assert all(await asyncio.gather(*(auth.check(*YES) for _ in range(20))))
            await task

    asyncio.run(run())
