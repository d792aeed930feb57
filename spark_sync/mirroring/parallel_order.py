"""Numbers the entities of a large root in tree order, in Spark.

Entities are sorted by TreeKeys: the key of an ancestor is a prefix of an entity's key. Each partition has a range of
keys, and a task numbers it by itself. From the counts and boundaries of the partitions, the driver computes for each
partition the amounts to add to its numbers.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from grantpath.engine.facts.kernel.intervals import Ints
from grantpath.graph.language.reference import Reference
from grantpath.spark_sync.mirroring.graph_rows import TreeKeys

PART_ROWS = 250_000  # entities in a partition, which a task has in memory
_LOCAL = (
    "at bigint, last bigint, parent bigint, depth int, ref string, type string, exists boolean, builtin boolean, "
    "summary string"
)
_NUMBERED = "position bigint, last bigint, parent bigint, ref string, type string, exists boolean, builtin boolean"
_NONE = -1  # not known inside the partition: the parent is in an earlier one, or the subtree ends in a later one


@contextmanager
def ordered(entities: DataFrame, about: int, keys: TreeKeys, root: str) -> Iterator[DataFrame]:
    """(position, last, parent, ref, type, exists, builtin) of `entities(key, ref, type, exists, builtin)`.

    `about`: the approximate number of entities. Partitions and their rows are in order of position. Ancestors that are
    not listed are added as missing entities, and the root object (`root`) as an existing one. The result can be read
    inside the block.
    """
    parts = max(entities.sparkSession.sparkContext.defaultParallelism, -(-about // PART_ROWS))
    in_order = entities.repartitionByRange(parts, "key").sortWithinPartitions("key").persist()
    numbered = in_order.mapInArrow(partial(_number_part, _last_keys(in_order), keys, root), _LOCAL).persist()
    try:
        found = numbered.where("summary is not null").select("summary").collect()
        shifts = _shifts([_Summary(**json.loads(row.summary)) for row in found])
        in_order.unpersist()
        yield numbered.where("summary is null").drop("summary").mapInArrow(partial(_shifted, shifts), _NUMBERED)
    finally:
        numbered.unpersist()


def _last_keys(in_order: DataFrame) -> dict[int, bytes]:
    """By partition that has rows: the last key of the previous one. The first one is omitted."""
    rows = sorted(in_order.select("key").mapInArrow(_last_key, "part int, key binary").collect())
    return {row.part: bytes(before.key) for before, row in pairwise(rows)}


# ---- in a task -------------------------------------------------------------------------------------------------------
def _last_key(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A row with the number of the partition and its last key, if it has rows."""
    last = None
    for batch in batches:
        last = batch.column(0)[-1:] if batch.num_rows else last
    if last is not None:
        yield pa.RecordBatch.from_arrays([pa.array([_part()], pa.int32()), last], ["part", "key"])


def _part() -> int:
    context = TaskContext.get()
    assert context is not None
    return context.partitionId()


@dataclass(frozen=True)
class _Summary:
    """The properties of one partition that the others need.

    `closed`: for each ancestor of the first row that is in an earlier partition, the number of rows of this partition
    that are below it; -1 if all are. `open`: the rows, from the top down, whose subtrees may continue in the next
    partition.
    """

    part: int
    count: int
    closed: list[int]
    open: list[int]


class _PartNumbering:
    """Numbers the rows of one partition. They must be added in order."""

    def __init__(self, above: Sequence[bytes], keys: TreeKeys, root: str) -> None:
        """`above`: the keys of the ancestors in earlier partitions, from the root down."""
        self._keys, self._root = keys, root
        self._stack = [(key, _NONE) for key in above]
        self.closed = [-1] * len(above)
        self.rows: list[tuple[str, str, bool, bool]] = []
        self.last: list[int] = []
        self.parent: list[int] = []
        self.depth: list[int] = []

    def add(self, key: bytes, row: tuple[str, str, bool, bool]) -> None:
        stack = self._stack
        while stack and not key.startswith(stack[-1][0]):
            self._close()
        words = key.count(b"\0")
        while len(stack) * 2 < words:
            self._push(*self._missing(key, len(stack)))
        self._push(key, row)

    def _push(self, key: bytes, row: tuple[str, str, bool, bool]) -> None:
        self.depth.append(len(self._stack))
        self.parent.append(self._stack[-1][1] if self._stack else _NONE)
        self._stack.append((key, len(self.rows)))
        self.last.append(_NONE)
        self.rows.append(row)

    def _close(self) -> None:
        _, at = self._stack.pop()
        if at == _NONE:
            self.closed[len(self._stack)] = len(self.rows)
        else:
            self.last[at] = len(self.rows) - 1

    def _missing(self, key: bytes, depth: int) -> tuple[bytes, tuple[str, str, bool, bool]]:
        """The ancestor at this depth of an entity with this key."""
        if not depth:
            return b"", (self._root, self._keys.root_type, True, False)
        words = key.decode().split("\0")[: 2 * depth]
        type_ = words[-1]
        ref = Reference(type_, tuple(words[::2]), type_ in self._keys.one_segment)
        return "".join(f"{word}\0" for word in words).encode(), (ref.text, type_, False, False)

    def summary(self, part: int) -> _Summary:
        return _Summary(part, len(self.rows), self.closed, [at for _, at in self._stack if at != _NONE])


def _number_part(
    last_keys: Mapping[int, bytes], keys: TreeKeys, root: str, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The rows of a partition with numbers that begin at 0, and then a row with its summary."""
    part, numbering = _part(), None
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in ("key", "ref", "type", "exists", "builtin")]
        for key, *row in zip(*columns, strict=True):
            if numbering is None:
                numbering = _PartNumbering(_above(key, last_keys.get(part)), keys, root)
            numbering.add(key, tuple(row))
    if numbering is None:
        return
    yield from _local_batches(numbering)
    yield _local_batch({"summary": [json.dumps(vars(numbering.summary(part)))]}, 1)


def _above(key: bytes, before: bytes | None) -> list[bytes]:
    """The keys of an entity's ancestors in earlier partitions. `before` is the last key of these partitions."""
    if before is None:
        return []
    words = key.split(b"\0")[:-1]
    above = [b"".join(word + b"\0" for word in words[:end]) for end in range(0, len(words), 2)]
    return [each for each in above if before.startswith(each)]


def _local_batches(numbering: _PartNumbering) -> Iterator[pa.RecordBatch]:
    step = 50_000
    for begin in range(0, len(numbering.rows), step):
        some = slice(begin, begin + step)
        rows = numbering.rows[some]
        columns: dict[str, Any] = dict(zip(("ref", "type", "exists", "builtin"), zip(*rows, strict=True), strict=True))
        columns["at"] = np.arange(begin, begin + len(rows))
        for name in ("last", "parent", "depth"):
            columns[name] = getattr(numbering, name)[some]
        yield _local_batch(columns, len(rows))


_LOCAL_SCHEMA = pa.schema(
    [
        *((name, pa.int64()) for name in ("at", "last", "parent")),
        ("depth", pa.int32()),
        *((name, pa.string()) for name in ("ref", "type")),
        *((name, pa.bool_()) for name in ("exists", "builtin")),
        ("summary", pa.string()),
    ]
)


def _local_batch(columns: Mapping[str, Any], rows: int) -> pa.RecordBatch:
    arrays = [
        pa.array(columns[field.name], field.type) if field.name in columns else pa.nulls(rows, field.type)
        for field in _LOCAL_SCHEMA
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=_LOCAL_SCHEMA)


# ---- across partitions -----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Shift:
    """The amounts to add to the numbers of a partition: the position of its first row; by depth, the positions of the
    ancestors of the first row in earlier partitions; and the ends of the subtrees that continue in later partitions."""

    base: int
    outer: Ints
    ends: Ints


def _shifts(summaries: Sequence[_Summary]) -> dict[int, _Shift]:
    base, total = dict[int, int](), 0
    outer, ends = dict[int, list[int]](), dict[int, dict[int, int]]()
    open_: list[tuple[int, int]] = []  # by depth: the partition and position of an entity whose subtree is not complete
    for each in sorted(summaries, key=lambda summary: summary.part):
        base[each.part], ends[each.part] = total, {}
        outer[each.part] = [position for _, position in open_[: len(each.closed)]]
        kept = []
        for depth, (part, position) in enumerate(open_):
            inside = each.closed[depth] if depth < len(each.closed) else 0
            if inside < 0:
                kept.append((part, position))
            else:
                ends[part][depth] = total + inside - 1
        open_ = [*kept, *((each.part, total + at) for at in each.open)]
        total += each.count
    for depth, (part, _) in enumerate(open_):
        ends[part][depth] = total - 1
    return {part: _Shift(base[part], _column(dict(enumerate(outer[part]))), _column(ends[part])) for part in base}


def _column(by_depth: Mapping[int, int]) -> Ints:
    return np.array([by_depth.get(depth, _NONE) for depth in range(max(by_depth, default=0) + 1)], np.int64)


def _shifted(shifts: Mapping[int, _Shift], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        shift = shifts[_part()]
        at, last, parent, depth = (batch.column(name).to_numpy() for name in ("at", "last", "parent", "depth"))
        position = at + shift.base
        ends = shift.ends[np.minimum(depth, len(shift.ends) - 1)]
        above = np.where(depth > 0, shift.outer[np.clip(depth - 1, 0, len(shift.outer) - 1)], -1)
        last, parent = np.where(last >= 0, last + shift.base, ends), np.where(parent >= 0, parent + shift.base, above)
        rest = [batch.column(name) for name in ("ref", "type", "exists", "builtin")]
        names = ["position", "last", "parent", "ref", "type", "exists", "builtin"]
        yield pa.RecordBatch.from_arrays([*map(pa.array, (position, last, parent)), *rest], names)
