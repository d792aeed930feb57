"""Checks of one event loop that wait at the same time: one thread answers all of them from the copy, at one proof."""

import asyncio
import logging
from collections.abc import Callable
from contextvars import Context, copy_context
from functools import partial
from typing import TYPE_CHECKING

from grantpath.engine.answers.decision import Decision
from grantpath.engine.authorizer.authorizer import Authorizer
from grantpath.graph.errors import NotInMemory
from grantpath.graph.guard.async_store import AsyncStore

if TYPE_CHECKING:
    from grantpath.engine.facts.copy.replica import Replica

log = logging.getLogger("grantpath.replica")
PATIENCE = 0.1  # the part of the timeout for which a group waits until the one before it is answered
Check = Callable[[], Decision]
Outcome = Decision | BaseException | None
"""A decision, an error, or None if the database must answer."""
Asked = tuple[Check, "asyncio.Future[Outcome]"]


class ChecksTogether:
    """Answers the checks of one event loop in groups.

    While a thread answers one group, the next one forms. The proof of a group is read after it is complete, so it is
    never older than a check in the group.
    """

    def __init__(self, auth: Authorizer, store: AsyncStore) -> None:
        self._auth = auth
        self._store = store
        self._next: list[Asked] = []
        self._answering: set[asyncio.Task[None]] = set()
        self._last: asyncio.Task[None] | None = None  # the group that the next one waits for

    async def run(self, replica: "Replica", check: Check) -> Decision:
        """The decision of a check of `auth`, whose copy is `replica`. Raises the errors of the check, and Unavailable.

        A check that needs the database runs in a thread of its own.
        """
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._next.append((partial(copy_context().run, check), outcome))
        self._begin(replica)
        found = await outcome
        if isinstance(found, BaseException):
            raise found
        return found if found is not None else await self._store.questions.run(check)

    def _begin(self, replica: "Replica") -> None:
        """Begins to answer the next group, if there is one, unless another group is being answered."""
        group = [(check, outcome) for check, outcome in self._next if not outcome.done()]
        if self._last is not None or not group:
            return
        self._next = []
        loop = asyncio.get_running_loop()
        self._last = task = loop.create_task(self._answer(replica, group), context=Context())
        # the server may hang: the next group must not wait for as long as this one
        timer = loop.call_later(self._store.timeout * PATIENCE, self._go_on, task, replica)

        def ended(task: "asyncio.Task[None]") -> None:
            timer.cancel()
            self._answering.discard(task)
            if not task.cancelled() and (error := task.exception()) is not None:
                log.error("%s: a group of checks was not answered from memory", self._auth.tenant, exc_info=error)
            for _, outcome in group:
                if not outcome.done():  # the task was cancelled, or failed
                    outcome.set_result(None)
            self._go_on(task, replica)

        self._answering.add(task)
        task.add_done_callback(ended)

    def _go_on(self, task: "asyncio.Task[None]", replica: "Replica") -> None:
        if self._last is task:
            self._last = None
            self._begin(replica)

    async def _answer(self, replica: "Replica", group: list[Asked]) -> None:
        outcomes = partial(_outcomes, self._store, [check for check, _ in group])
        found = await self._store.questions.run(partial(replica.at_one_proof, self._auth.policy, outcomes))
        for (_, outcome), each in zip(group, found or [None for _ in group], strict=True):
            if not outcome.done():  # it is done if its caller was cancelled meanwhile
                outcome.set_result(each)


def _outcomes(store: AsyncStore, checks: list[Check]) -> list[Outcome]:
    """The outcomes of checks that ask the copy. One that asks the database would delay the others."""
    with store.not_asked():
        return [_outcome(check) for check in checks]


def _outcome(check: Check) -> Outcome:
    try:
        return check()
    except NotInMemory:
        return None
    except BaseException as error:
        return error
