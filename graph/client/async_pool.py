"""Connections for questions on an event loop, over the driver's async API."""

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import neo4j
from neo4j.auth_management import AsyncAuthManager, AsyncAuthManagers
from neo4j.exceptions import Neo4jError

from grantpath.graph.client import driver_internals, login
from grantpath.graph.client.address import need_address
from grantpath.graph.client.connection import Connection
from grantpath.graph.client.connections import limit_waits
from grantpath.graph.client.driver import options
from grantpath.graph.client.workers import Workers


class AsyncPool:
    """The connections of one event loop to one server, for queries that never wait for a lock."""

    def __init__(self, connection: Connection, timeout: float, workers: Workers) -> None:
        """`timeout`: seconds to open a connection, to wait for a free one and for the server's next message. Providers
        of logins run in `workers`.

        Raises Unavailable if the address is not one of a Neo4j server, InvalidInput.
        """
        need_address(connection.uri)
        self._database = connection.database
        self._timeout = timeout
        auth = _manager(connection, workers)
        self._driver = neo4j.AsyncGraphDatabase.driver(auth=auth, **options(connection, timeout))

        def limited(opener: Any) -> Any:
            async def run(*given: Any) -> Any:
                opened = await _open(opener, given, auth, timeout)
                limit_waits(opened, timeout, silence=timeout)
                return opened

            return run

        driver_internals.wrap_opener(self._driver, limited, driver_internals.UNLIMITED)

    async def ask(self, text: str, parameters: Mapping[str, Any]) -> list[neo4j.Record]:
        """The rows of a query. If the caller is cancelled, the connection is closed and not used again. Raises the
        driver's errors."""
        async with self._driver.session(database=self._database) as session:
            result = await session.run(neo4j.Query(text, timeout=self._timeout), dict(parameters))
            return [record async for record in result]

    async def close(self) -> None:
        """Closes every connection."""
        await self._driver.close()


class AsyncRenewed(AsyncAuthManager):
    """The login of a provider, for the async driver. The provider may block, so it is called in a thread."""

    def __init__(self, renewed: login.Renewed, workers: Workers) -> None:
        self.renewed = renewed
        self._workers = workers

    async def get_auth(self) -> Any:
        """The current login; a new one if the current one has expired. Raises Unavailable if the provider fails."""
        return self.renewed.current() or await self._workers.run(self.renewed.get_auth)

    async def handle_security_exception(self, auth: Any, error: Neo4jError) -> bool:
        """Can a retry succeed after the server refused `auth`?"""
        return await self._workers.run(partial(self.renewed.handle_security_exception, auth, error))

    async def may_retry(self, used: Any, error: Neo4jError, until: float) -> bool:
        """Can a connection be opened after the server refused the login `used`? Waits for the next login."""
        return await self._workers.run(partial(self.renewed.may_retry, used, error, until))


def _manager(connection: Connection, workers: Workers) -> AsyncAuthManager:
    auth = connection.login
    if callable(auth):
        return AsyncRenewed(login.Renewed(connection.uri, auth), workers)
    return AsyncAuthManagers.static(auth)


async def _open(opened: Any, given: tuple[Any, ...], auth: AsyncAuthManager, timeout: float) -> Any:
    """Opens a connection; with the provider's next login if the server refuses the last one."""
    if not isinstance(auth, AsyncRenewed):
        return await opened(*given)
    until = time.monotonic() + timeout
    while True:
        used = await auth.get_auth()
        try:
            connection = await opened(*given)
        except Neo4jError as error:
            if not await auth.may_retry(used, error, until):
                raise
        else:
            auth.renewed.accept(connection)
            return connection
