"""A bulk answer in this process: the functions of Spark's tasks, one after the other, without Spark.

Facts, closure and exposure are in memory; reach and expand, which can be much larger, are written as they come.
"""

import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from types import TracebackType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from grantpath.engine.facts.kernel.intervals import Ints, ranges
from grantpath.engine.facts.snapshot.even_ranges import even_ranges
from grantpath.graph.distinct_numbers import distinct
from grantpath.graph.files.parquet_writer import open_writer
from grantpath.graph.files.remote_path import AnyPath, arrow_place
from grantpath.spark_sync.bulk.bulk_questions import Name, Written, by_condition, listed_objects
from grantpath.spark_sync.bulk.sweep_task import Sweep, common, opened, sweep, sweep_ranges
from grantpath.spark_sync.session.snapshot import Snapshot

MOST_THREADS = 8
PARTS = 4  # of the subjects, for each thread
ROWS = 1_000_000  # rows (subject, role, holder) at a time, if roles act one by one
ROW_GROUP = 500_000  # rows of a table that are written at a time
Names = Mapping[int, Sequence[Name]]  # by condition


def write_in_process(plans: Sequence[Sweep], listed: Sequence[Name], folder: AnyPath) -> Written:
    """Writes the tables into `folder`, which has the table `names`. Raises the errors of `access`."""
    names = by_condition(listed)
    steps: dict[tuple[int, int], Ints] = {}  # by condition and block: the change in the number of users at each target
    accessible = {(each.name, each.type): 0 for each in listed}
    with ExitStack() as open_tables:
        reach = open_tables.enter_context(_Table(folder, "reach", ("subject", "objects"), names))
        expand = None
        if any(plan.expand for plan in plans):
            expand = open_tables.enter_context(_Table(folder, "expand", ("subject", "start", "last"), names))
        exposure = open_tables.enter_context(_Table(folder, "exposure", ("position", "users"), names))
        for plan in plans:
            for batch in _rows(opened(plan.folder, plan.meta), plan):
                kind = batch.column("what")
                reach.add(batch.filter(pc.equal(kind, "reach")))
                if expand is not None:
                    expand.add(batch.filter(pc.equal(kind, "interval")))
                for key, more in _steps(batch.filter(pc.equal(kind, "step"))):
                    steps[key] = steps[key] + more if key in steps else more
        for condition, some in names.items() if plans else ():
            targets = listed_objects(opened(plans[0].folder, plans[0].meta), some[0].type)
            many = _exposed(exposure, condition, targets, steps, plans[0].block)
            accessible |= {(each.name, each.type): many for each in some}
    return Written(reach.rows, accessible)


def _rows(source: Snapshot, plan: Sweep) -> Iterator[pa.RecordBatch]:
    """The rows of one pass, as Spark's tasks give them."""
    yield from common(plan, _number(0))  # first: it prepares what the threads share
    if plan.one_role:
        yield from sweep(plan, _with_roles(source))
        return
    # numpy computes outside of Python's lock, so threads use several processors
    threads = min(os.cpu_count() or 1, MOST_THREADS)
    most = max(1, source.meta.counts["closure"] // plan.rows)
    parts = even_ranges(source.files("closure"), "subject", min(most, threads * PARTS))
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[list[pa.RecordBatch]]] = deque()
        for at in range(len(parts)):
            waiting.append(pool.submit(lambda at: [*sweep_ranges(plan, parts, _number(at))], at))
            if len(waiting) > threads:  # no more, because the rows of all parts together can be large
                yield from waiting.popleft().result()
        for each in waiting:
            yield from each.result()


def _number(number: int) -> Iterator[pa.RecordBatch]:
    """The input of a task: one row with this number."""
    yield pa.record_batch([pa.array([number])], ["id"])


def _with_roles(source: Snapshot) -> Iterator[pa.RecordBatch]:
    """Rows (subject, role, holder): the principals of each subject with one of its roles, sorted."""
    roles, size = source.roles, len(source.numbering)
    pairs = distinct(roles.subject * size + roles.role)
    subject, role = pairs // size, pairs % size
    closure = source.closure(distinct(role))
    held = closure.offset[role + 1] - closure.offset[role]
    before = np.concatenate([[0], np.cumsum(held)])
    begin = 0
    while begin < len(role):
        end = max(begin + 1, int(np.searchsorted(before, before[begin] + ROWS, side="right")) - 1)
        some = held[begin:end]
        holder = closure.principal[ranges(closure.offset[role[begin:end]], some)].astype(np.int64)
        columns = np.repeat(subject[begin:end], some), np.repeat(role[begin:end], some), holder
        yield pa.record_batch([*map(pa.array, columns)], ["subject", "role", "holder"])
        begin = end


def _steps(batch: pa.RecordBatch) -> Iterator[tuple[tuple[int, int], Ints]]:
    for condition, block, packed in zip(*(batch.column(name) for name in ("condition", "a", "steps")), strict=True):
        yield (condition.as_py(), block.as_py()), np.frombuffer(packed.as_buffer(), np.int64)


def _exposed(
    exposure: "_Table", condition: int, targets: Ints, steps: Mapping[tuple[int, int], Ints], size: int
) -> int:
    """Writes the number of users of each target that has any. Returns the number of pairs of user and target."""
    pairs = before = 0
    for begin in range(0, len(targets), size):
        here = targets[begin : begin + size]
        users = before + np.cumsum(steps.get((condition, begin // size), np.zeros(len(here), np.int64)))
        some = users > 0
        exposure.write(condition, here[some], users[some])
        pairs, before = pairs + int(users.sum()), int(users[-1])
    return pairs


class _Table:
    """A table of the bulk answer: each row of a condition once for every name of it."""

    def __init__(self, folder: AnyPath, table: str, columns: Sequence[str], names: Names) -> None:
        (folder / table).mkdir()
        words = [("name", pa.string()), ("type", pa.string())]
        numbers = [(column, pa.int64()) for column in columns]
        place, filesystem = arrow_place(folder / table / "part-00000.parquet")
        self._schema = pa.schema([numbers[0], *words, *numbers[1:]])
        self._writer = open_writer(place, self._schema, use_dictionary=["name", "type"], filesystem=filesystem)
        self._names = names
        self._waiting: list[pa.Table] = []
        self.rows = self._written = 0

    def __enter__(self) -> "_Table":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            if kind is None:
                self._flush()
        finally:
            self._writer.close()

    def add(self, batch: pa.RecordBatch) -> None:
        """Adds rows of a sweep."""
        condition = batch.column("condition").to_numpy()
        numbers = [batch.column(name).to_numpy() for name in "abc"[: len(self._schema) - 2]]
        for each in np.unique(condition).tolist():
            chosen = condition == each
            self.write(each, *(column[chosen] for column in numbers))

    def write(self, condition: int, *numbers: Ints) -> None:
        """Adds rows of a condition, whose other columns are these."""
        first, *rest = map(pa.array, numbers)
        for each in self._names[condition] if len(first) else ():
            words = pa.repeat(each.name, len(first)), pa.repeat(each.type, len(first))
            self._waiting.append(pa.Table.from_arrays([first, *words, *rest], schema=self._schema))
            self.rows += len(first)
        if self.rows - self._written >= ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.concat_tables(self._waiting), row_group_size=ROW_GROUP)
            self._waiting, self._written = [], self.rows
