"""The database for an event loop: questions and changes run in threads, so that the loop never waits for them."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import local
from typing import TYPE_CHECKING, Any, TypeVar

from grantpath.graph.client.connection import Connection
from grantpath.graph.client.workers import Workers
from grantpath.graph.errors import NotInMemory, Unavailable
from grantpath.graph.guard.store import STALL_LIMIT, Store
from grantpath.graph.guard.transaction import Writing

if TYPE_CHECKING:
    import neo4j

QUESTIONS, CHANGES = 100, 32  # threads
Result = TypeVar("Result")


class _Thread(local):
    """Whether a thread must not ask the database now."""

    not_asked = False


class AsyncStore(Store):
    """One database, asked from the threads `questions` and `changes` of one event loop.

    Changes have threads of their own, because many that wait for a lock must not keep the questions waiting.
    """

    def __init__(self, connection: Connection, timeout: float = 10.0, stall_limit: float = STALL_LIMIT) -> None:
        """Raises InvalidInput, Unavailable."""
        super().__init__(connection, timeout, stall_limit)
        self.questions = Workers("questions", QUESTIONS, timeout)
        self.changes = Workers("changes", CHANGES, timeout)
        self._thread = _Thread()

    async def close_all(self) -> None:
        """Closes every connection, once the calls that have begun are done; later calls raise Unavailable."""
        await asyncio.to_thread(self._end)

    def _end(self) -> None:
        self.changes.close()
        self.questions.close()
        self.close()

    def transaction(self, work: Callable[["neo4j.ManagedTransaction"], Result]) -> Result:
        self._require_thread()
        return super().transaction(work)

    def write(
        self,
        root: str,
        work: Callable[[Writing], Result],
        commit: bool = True,
        prechecked: bool = False,
        waited: float = 0.0,
    ) -> Result:
        self._require_thread()
        return super().write(root, work, commit, prechecked, waited)

    def _ask_once(
        self, text: str, parameters: Mapping[str, Any], meanwhile: Callable[[], None] | None = None
    ) -> "list[neo4j.Record]":
        self._require_thread()
        return super()._ask_once(text, parameters, meanwhile)

    @contextmanager
    def not_asked(self) -> Iterator[None]:
        """While the block runs, a query of this thread raises NotInMemory."""
        self._thread.not_asked = True
        try:
            yield
        finally:
            self._thread.not_asked = False

    def _require_thread(self) -> None:
        """Raises Unavailable in the thread of an event loop, which a query would block."""
        if self._thread.not_asked:
            raise NotInMemory
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return
        raise Unavailable(f"{self.uri} cannot be asked here without blocking the event loop; await the question")
