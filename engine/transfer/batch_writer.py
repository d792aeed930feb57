"""Sends the batches of a bulk write to the server while the caller prepares the next one."""

from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from types import TracebackType
from typing import Any

from grantpath import cypher
from grantpath.graph.guard.bulk_write import LANES, Bulk

Row = Mapping[str, Any]
UNDER_WAY = 2 * LANES  # the server executes one batch in each lane, and receives the next one meanwhile


class BatchWriter:
    """Writes independent batches. At the end of its block, no batch is under way any more."""

    def __init__(self, bulk: Bulk, written: Callable[[int], None]) -> None:
        """`written` receives the number of facts of each batch, once it is written."""
        self._bulk = bulk
        self._written = written
        self._threads = ThreadPoolExecutor(UNDER_WAY, "grantpath-batch")
        self._under_way = deque[tuple[Future[Row], int, Callable[[Row], None] | None]]()

    def __enter__(self) -> "BatchWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            if kind is None:
                self.settle()
        finally:
            self._threads.shutdown()  # waits, so that undoing the load finds all that was written

    def put(self, query: str, count: int, then: Callable[[Row], None] | None = None, **parameters: Any) -> None:
        """Sends a batch of `count` facts, after waiting for the oldest one if UNDER_WAY batches are under way. `then`
        receives the batch's row later.

        Raises the errors of the earlier batch: Inconsistent if another caller has undone this load, Unavailable.
        """
        if len(self._under_way) == UNDER_WAY:
            self._take_oldest()
        write, given = cypher.load(query).run, {**self._bulk.next_batch(), **parameters}
        future = self._threads.submit(copy_context().run, lambda: write(self._bulk.write, **given))
        self._under_way.append((future, count, then))

    def settle(self) -> None:
        """Waits for all batches under way. Raises their errors."""
        while self._under_way:
            self._take_oldest()

    def _take_oldest(self) -> None:
        future, count, then = self._under_way.popleft()
        row = future.result()
        if then is not None:
            then(row)
        self._written(count)
