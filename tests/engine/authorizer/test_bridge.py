"""The bridge between synchronous code and an event loop, without a server."""

import asyncio
import contextvars
import threading

import pytest

from grantpath.engine import Unavailable
from grantpath.graph.client.bridge import bridged, in_bridge, on_event_loop, wait_for
from grantpath.graph.client.workers import Workers

here: contextvars.ContextVar[str] = contextvars.ContextVar("here")


async def later(value: int) -> int:
    await asyncio.sleep(0.001)
    return value


def test_synchronous_code_waits_for_awaitables_in_order() -> None:
    def work() -> list[int]:
        assert in_bridge()
        return [wait_for(later(number)) for number in range(5)]

    assert asyncio.run(bridged(work)) == list(range(5))
    assert not in_bridge() and not on_event_loop()


def test_many_calls_run_at_once_and_get_their_own_results_and_context() -> None:
    def work(number: int) -> tuple[int, str]:
        here.set(f"call {number}")
        return wait_for(later(number)), here.get()

    async def ask() -> list[tuple[int, str]]:
        here.set("caller")
        found = await asyncio.gather(*(bridged(lambda number=number: work(number)) for number in range(500)))  # type: ignore[misc]
        assert here.get() == "caller"
        return found

    assert asyncio.run(ask()) == [(number, f"call {number}") for number in range(500)]


def test_error_of_an_awaitable_is_raised_in_the_code_that_waits() -> None:
    async def fail() -> None:
        raise KeyError("from the loop")

    def work() -> str:
        with pytest.raises(KeyError, match="from the loop"):
            wait_for(fail())
        raise LookupError("from the code")

    with pytest.raises(LookupError, match="from the code"):
        asyncio.run(bridged(work))


def test_cancellation_unwinds_the_code_and_ends_the_task() -> None:
    left: list[str] = []

    def work() -> None:
        try:
            wait_for(asyncio.sleep(60))
        finally:
            wait_for(later(1))  # cleaning up may wait, too
            left.append("cleaned up")

    async def ask() -> None:
        task = asyncio.create_task(bridged(work))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await bridged(work)

    asyncio.run(ask())
    assert left == ["cleaned up"] * 2


def test_waiting_outside_of_a_bridge_is_an_error() -> None:
    async def wait() -> None:
        waiting = later(1)
        with pytest.raises(AssertionError, match="only code that `bridged` runs"):
            wait_for(waiting)
        await waiting

    asyncio.run(wait())


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
