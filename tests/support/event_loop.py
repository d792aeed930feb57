"""An event loop in a thread, and authorizers on it that tests can call like synchronous ones."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any, TypeVar, cast

from grantpath.engine import AsyncAuthorizer, Authorizer
from grantpath.engine.authorizer.async_listing import AsyncListing
from grantpath.engine.policy.policy import Policy
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.async_store import AsyncStore
from grantpath.graph.language.reference import Reference

from ..conftest import Tenants

Result = TypeVar("Result")


class Loop:
    """A running event loop with one store."""

    def __init__(self, server: Connection) -> None:
        self._loop = asyncio.new_event_loop()
        Thread(target=self._loop.run_forever, daemon=True).start()
        self._store = AsyncStore(server, timeout=60)

    def run(self, work: Awaitable[Result]) -> Result:
        """The result of `work`, which runs on the loop."""

        async def awaited() -> Result:
            return await work

        return asyncio.run_coroutine_threadsafe(awaited(), self._loop).result(300)

    def authorizer(self, tenant: str, policy: Policy, root: Reference) -> Authorizer:
        """An AsyncAuthorizer of a tenant, with the methods of a synchronous one."""

        async def made() -> AsyncAuthorizer:
            return AsyncAuthorizer(Authorizer(self._store, tenant, policy, root), self._store)

        return cast(Authorizer, _Called(self, self.run(made())))

    def close(self) -> None:
        self.run(self._store.close_all())
        self._loop.call_soon_threadsafe(self._loop.stop)


class _Called:
    """The methods of an AsyncAuthorizer; each call waits for the result."""

    def __init__(self, loop: Loop, auth: AsyncAuthorizer) -> None:
        self._loop = loop
        self._auth = auth

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._auth, name)
        return self._waiting(method) if callable(method) else method

    def _waiting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            got = method(*given, **named)
            if isinstance(got, AsyncListing):
                return self._loop.run(_all_of(got))
            return self._loop.run(got) if inspect.isawaitable(got) else got

        return call


async def _all_of(listing: AsyncListing) -> list[str]:
    return [ref async for ref in listing]


class AsyncTenants(Tenants):
    """Creates tenants that are asked on an event loop."""

    def __init__(self, tenants: Tenants, loop: Loop) -> None:
        self._tenants = tenants
        self._loop = loop

    def __call__(self, policy_name: str = "gravitino", given: Iterable[str] = (), root: str = "ml") -> Authorizer:
        made = self._tenants(policy_name, given, root)
        return self._loop.authorizer(made.tenant, made.policy, made.root)


@contextmanager
def running_loop(server: Connection) -> Iterator[Loop]:
    loop = Loop(server)
    try:
        yield loop
    finally:
        loop.close()
