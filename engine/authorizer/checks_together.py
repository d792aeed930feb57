"""Checks of one event loop that wait at the same time: one thread answers all of them from the copy, at one proof."""

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from copy import copy
from functools import partial
from typing import TYPE_CHECKING

from grantpath.engine.answers.decision import Decision
from grantpath.engine.authorizer.authorizer import Authorizer
from grantpath.graph.client.workers import Workers

if TYPE_CHECKING:
    from grantpath.engine.facts.copy.replica import Replica

Check = Callable[[], Decision]
Outcome = Decision | BaseException | None
"""A decision, an error, or None if the copy could not be proved current."""
Asked = tuple[Check, "asyncio.Future[Outcome]"]


class ChecksTogether:
    """Answers the checks of one event loop in groups.

    While a thread answers one group, the next one forms. The proof of a group is read after it is complete, so it is
    never older than a check in the group.
    """

    def __init__(self, auth: Authorizer, workers: Workers) -> None:
        self._auth = auth
        self._workers = workers
        self._next: list[Asked] = []
        self._running: asyncio.Task[None] | None = None

    async def run(self, replica: "Replica", check: Check) -> Decision:
        """The decision of a check of `auth`, whose copy is `replica`. Raises the errors of the check, and Unavailable.

        If the copy cannot be proved current, the check runs in a thread of its own.
        """
        outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._next.append((partial(copy_context().run, check), outcome))
        if self._running is None:
            self._running = asyncio.create_task(self._answer_groups(replica))
        found = await outcome
        if isinstance(found, BaseException):
            raise found
        return found if found is not None else await self._workers.run(check)

    async def _answer_groups(self, replica: "Replica") -> None:
        try:
            while self._next:
                group = [(check, outcome) for check, outcome in self._next if not outcome.done()]
                self._next = []
                found = await self._answers(replica, [check for check, _ in group])
                for (_, outcome), each in zip(group, found, strict=True):
                    if not outcome.done():  # it is done if its caller was cancelled meanwhile
                        outcome.set_result(each)
        finally:
            self._running = None

    async def _answers(self, replica: "Replica", checks: list[Check]) -> list[Outcome]:
        work = partial(replica.at_one_proof, self._auth.policy, partial(_outcomes, checks))
        try:
            found = await self._workers.run(work)
        except Exception as error:
            return [copy(error) for _ in checks]
        return [None for _ in checks] if found is None else found


def _outcomes(checks: list[Check]) -> list[Outcome]:
    return [_outcome(check) for check in checks]


def _outcome(check: Check) -> Outcome:
    try:
        return check()
    except BaseException as error:
        return error
