"""Runs synchronous code in a greenlet, from which it can wait for awaitables of an event loop.

The code runs in the thread of the event loop. When it waits, its greenlet is suspended, the event loop continues with
other tasks, and the greenlet is resumed with the result. So one synchronous engine serves both kinds of callers.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

Result = TypeVar("Result")


class _Bridge(greenlet):
    """The greenlet of one call; the coroutine `bridged` awaits what the call waits for."""


def in_bridge() -> bool:
    """Does this code run in a greenlet of `bridged`, so that it can call `wait_for`?"""
    return isinstance(getcurrent(), _Bridge)


def on_event_loop() -> bool:
    """Does this thread run an event loop, so that nothing may block it?"""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def wait_for(awaitable: Awaitable[Result]) -> Result:
    """The result of an awaitable; only for code in a greenlet of `bridged`. Raises what the awaitable raises, and
    CancelledError if the caller's task is cancelled."""
    parent = getcurrent().parent
    assert in_bridge() and parent is not None, "only code that `bridged` runs can wait for an awaitable"
    result: Result = parent.switch(awaitable)
    return result


async def bridged(work: Callable[[], Result]) -> Result:
    """The result of `work`, which runs in a greenlet with a copy of the caller's context. Raises what `work` raises."""
    bridge = _Bridge(work)
    bridge.gr_context = copy_context()
    step: Any = bridge.switch()
    while not bridge.dead:
        try:
            value = await step
        except BaseException as error:
            step = bridge.throw(error)
        else:
            step = bridge.switch(value)
    result: Result = step
    return result
