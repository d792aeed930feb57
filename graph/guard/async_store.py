"""The database for an event loop: synchronous code in a greenlet waits here without blocking the loop.

Questions use the driver's async API. Work that waits for locks, i.e. changes and the rare questions that writers
disturb for long, runs in threads over the synchronous driver: its heartbeats and queues need threads, too, and a
cancelled task must not leave a commit halfway.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from grantpath.graph.client import telemetry
from grantpath.graph.client.async_pool import AsyncPool
from grantpath.graph.client.bridge import in_bridge, on_event_loop, wait_for
from grantpath.graph.client.connection import Connection
from grantpath.graph.client.workers import Workers
from grantpath.graph.errors import Unavailable
from grantpath.graph.guard.store import STALL_LIMIT, Store
from grantpath.graph.guard.transaction import Writing

if TYPE_CHECKING:
    import neo4j

QUESTIONS, CHANGES = 16, 32  # threads
Result = TypeVar("Result")


class AsyncStore(Store):
    """One database, used by greenlets of one event loop and by the threads of `changes`."""

    def __init__(self, connection: Connection, timeout: float = 10.0, stall_limit: float = STALL_LIMIT) -> None:
        """Raises InvalidInput, Unavailable."""
        super().__init__(connection, timeout, stall_limit)
        self._connection = connection
        self._questions = Workers("questions", QUESTIONS, timeout)
        self.changes = Workers("changes", CHANGES, timeout)
        self._pool: AsyncPool | None = None
        self._ending = False

    async def close_all(self) -> None:
        """Closes every connection, once the changes that have begun are done; later calls raise Unavailable."""
        pool, self._pool, self._ending = self._pool, None, True
        try:
            await asyncio.to_thread(self._end)
        finally:
            if pool is not None:
                await pool.close()

    def _end(self) -> None:
        self.changes.close()
        self._questions.close()
        self.close()

    # ---- what a greenlet waits for -------------------------------------------------------------------------------
    def pause(self, seconds: float) -> None:
        if in_bridge():
            wait_for(asyncio.sleep(seconds))
        else:
            super().pause(seconds)

    def transaction(self, work: Callable[["neo4j.ManagedTransaction"], Result]) -> Result:
        return self.apart(partial(super().transaction, work))

    def write(self, root: str, work: Callable[[Writing], Result], keep: bool = True, looked: bool = False) -> Result:
        return self.apart(partial(super().write, root, work, keep, looked))

    def apart(self, work: Callable[[], Result]) -> Result:
        if in_bridge():
            return wait_for(self._questions.run(work))
        self._need_thread()
        return work()

    def _ask_once(
        self, text: str, parameters: Mapping[str, Any], meanwhile: Callable[[], None] | None = None
    ) -> "list[neo4j.Record]":
        """`meanwhile` is not called on an event loop, where other tasks run meanwhile."""
        if not in_bridge():
            self._need_thread()
            return super()._ask_once(text, parameters, meanwhile)
        began = time.perf_counter()
        answer = wait_for(self._opened().ask(text, parameters))
        telemetry.queried(text, began)
        return answer

    def _opened(self) -> AsyncPool:
        if self._ending:
            raise Unavailable(f"the connection to {self.uri} was closed; open another: AsyncAuthorizer.open(...)")
        if self._pool is None:
            self._pool = AsyncPool(self._connection, self._timeout, self._questions)
        return self._pool

    def _need_thread(self) -> None:
        """Raises Unavailable on an event loop, which a synchronous query would block."""
        if on_event_loop():
            raise Unavailable(f"{self.uri} cannot be asked here without blocking the event loop; await the question")
