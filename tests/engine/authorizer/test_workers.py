"""The threads of an event loop: each call gets its own result and context, and waits for a free thread to a limit."""

import asyncio
import contextvars
import threading
import time

import pytest

from grantpath.engine import Unavailable
from grantpath.graph.client.workers import Workers

here: contextvars.ContextVar[str] = contextvars.ContextVar("here")


def test_many_calls_get_their_own_results_errors_and_context() -> None:
    def work(number: int) -> tuple[int, str]:
        caller = here.get()
        here.set(f"call {number}")
        time.sleep(0.001)
        if number % 10 == 9:
            raise LookupError(f"call {number}")
        return number, f"{here.get()} of {caller}"

    async def ask() -> list[object]:
        here.set("the loop")
        workers = Workers("tests", 8, 60)
        calls = (workers.run(lambda number=number: work(number)) for number in range(500))  # type: ignore[misc]
        found = await asyncio.gather(*calls, return_exceptions=True)
        assert here.get() == "the loop"
        workers.close()
        return [str(each) if isinstance(each, LookupError) else each for each in found]

    wanted = [f"call {at}" if at % 10 == 9 else (at, f"call {at} of the loop") for at in range(500)]
    assert asyncio.run(ask()) == wanted


def test_busy_threads_are_waited_for_up_to_the_limit() -> None:
    async def ask() -> None:
        workers, free = Workers("tests", 1, 0.05), threading.Event()
        first = asyncio.create_task(workers.run(lambda: free.wait(30)))
        await asyncio.sleep(0.01)
        with pytest.raises(Unavailable, match="none of the 1 threads for tests was free"):
            await workers.run(lambda: True)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        with pytest.raises(Unavailable):  # the work of the cancelled task still has the thread
            await workers.run(lambda: True)
        free.set()
        assert await workers.run(lambda: 1) == 1
        workers.close()
        with pytest.raises(Unavailable, match="closed"):
            await workers.run(lambda: 1)

    asyncio.run(ask())
