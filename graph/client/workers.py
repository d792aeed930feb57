"""Threads for work that can block: an event loop hands it over and goes on meanwhile."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from typing import Any, TypeVar

from grantpath.graph.errors import Unavailable

Result = TypeVar("Result")


class Workers:
    """A limited number of threads, for the callers of one event loop."""

    def __init__(self, what: str, size: int, seconds: float) -> None:
        """`what` names the work in errors; a caller waits up to `seconds` for a free thread."""
        self._what = what
        self._size = size
        self._seconds = seconds
        self._free = asyncio.Semaphore(size)
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="grantpath")

    async def run(self, work: Callable[[], Result]) -> Result:
        """The result of `work`, which runs in a thread with a copy of the caller's context.

        If the caller is cancelled, `work` continues in its thread, and its result is dropped. Raises Unavailable if no
        thread was free in time, and what `work` raises.
        """
        try:
            async with asyncio.timeout(self._seconds):
                await self._free.acquire()
        except TimeoutError:
            raise Unavailable(
                f"none of the {self._size} threads for {self._what} was free within {self._seconds:g} s; try again, or "
                "open with a larger timeout"
            ) from None
        loop = asyncio.get_running_loop()

        def give_back(_: "Future[Any]") -> None:
            with suppress(RuntimeError):  # the event loop was closed meanwhile
                loop.call_soon_threadsafe(self._free.release)

        try:
            future = self._threads.submit(copy_context().run, work)
        except RuntimeError:
            self._free.release()
            raise Unavailable(f"the threads for {self._what} were closed; open another AsyncAuthorizer") from None
        future.add_done_callback(give_back)
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Waits for the work that has begun, and ends the threads."""
        self._threads.shutdown()
