"""Spark's tasks read ranges of a tenant's references, each range at a revision of its own."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any

import pyarrow as pa
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from grantpath.engine.facts.set import graph_ranges
from grantpath.graph import errors
from grantpath.graph.client.connection import Connection
from grantpath.graph.errors import GrantpathError, Inconsistent, InvalidInput, ServerError
from grantpath.graph.files.remote_path import AnyPath
from grantpath.graph.guard.store import Store
from grantpath.graph.language.ends import end_of
from grantpath.spark_sync.mirroring.graph_rows import (
    RAW_DDL,
    Graph,
    TagTypes,
    TreeKeys,
    guarded_ask,
    raw_batch,
    raw_batches,
    read_graph,
)
from grantpath.spark_sync.session.spark_session import read_parquet, write_parquet

TRIES = 60  # of reading one part of a range, if changes are committed during each try
TIMEOUT = 30.0  # seconds that a task waits for a connection
ENTITIES = "ref string, type string, key binary, exists boolean, builtin boolean"
EDGES = "ref string, word string, other string"


@dataclass(frozen=True)
class RawRows:
    """The rows of all ranges, unsorted, in the columns of ENTITIES and EDGES."""

    entities: DataFrame
    members: DataFrame
    facts: DataFrame


@dataclass(frozen=True)
class TenantMarks:
    """The revision of a tenant, its creation id, the digest of its policy, and the time before which none of its facts
    ends (None: none has an end)."""

    revision: int
    made: str
    policy: str
    ends: str | None = field(default=None, compare=False)  # it can become later without a change

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "TenantMarks":
        """The marks in a row of revision.cypher."""
        ends = None if row["ends"] is None else end_of(row["ends"])
        return cls(row["revision"], row["made"] or "", row["policy"], ends)


@dataclass(frozen=True)
class RangeRead:
    """How a range was read: its first part at `revision`, the others at later revisions. `same`: whether the tenant and
    its policy were the wanted ones."""

    number: int
    revision: int
    same: bool


@dataclass(frozen=True)
class Reading:
    """The data that every task needs. It is part of the task's code, which Spark shows in no plan, log or page."""

    connection: Connection
    root: str
    made: str
    policy: str
    keys: TreeKeys
    tags: TagTypes
    bounds: Mapping[int, tuple[str, str]]  # of each range, by its number


def marks(store: Store, root: str) -> TenantMarks:
    """The revision marks of a tenant. Raises Unknown, Inconsistent if a load is in progress, Unavailable."""
    return TenantMarks.of(guarded_ask(store, root)("revision"))


def make_ready(spark: SparkSession, reading: Reading, out: AnyPath) -> None:
    """Reads empty ranges into the new folder `out`, so that later tasks begin at once: Python workers, the writer of
    files and the plans of the queries are ready. Raises the errors of `read_ranges`."""
    tasks = range(spark.sparkContext.defaultParallelism)
    read_ranges(spark, replace(reading, bounds=dict.fromkeys(tasks, ("", ""))), out)


def read_ranges(spark: SparkSession, reading: Reading, out: AnyPath) -> list[RangeRead]:
    """Writes the rows of the ranges into the new folder `out`, and returns how each range was read.

    Raises the first error of a task, InvalidInput if the login cannot be sent to tasks.
    """
    numbers = sorted(reading.bounds)
    try:
        CloudPickleSerializer().dumps(reading)  # type: ignore[no-untyped-call]
    except Exception as error:
        raise InvalidInput(
            f"the login of {reading.root} cannot be sent to Spark's tasks ({type(error).__name__}); pass a user and a "
            "password, or a provider that can be pickled"
        ) from None
    ids = spark.range(0, len(numbers), 1, len(numbers))
    rows = ids.mapInArrow(partial(_read_ranges, reading, numbers), RAW_DDL)
    write_parquet(rows.write.partitionBy("what"), out)
    if (failed := _kind(spark, out, "error")) is not None:
        kind, text = failed.select("word", "other").first() or ("", "")
        raise _error(kind, text)
    done = _kind(spark, out, "range")
    found = [] if done is None else done.select("range", "revision", "exists").collect()
    return [RangeRead(*row) for row in found]


def raw_rows(spark: SparkSession, read: Mapping[AnyPath, Sequence[int]]) -> RawRows:
    """The rows of these ranges, by the folder that `read_ranges` wrote them into."""

    def of(what: str, columns: Sequence[str], names: str) -> DataFrame:
        found = [
            part.where(F.col("range").isin(list(numbers))).selectExpr(*columns)
            for folder, numbers in read.items()
            if (part := _kind(spark, folder, what)) is not None
        ]
        return reduce(lambda one, other: one.union(other), found) if found else spark.createDataFrame([], names)

    edge = ("ref", "word", "other")
    entities = of("entity", ("ref", "word as type", "key", "exists", "builtin"), ENTITIES)
    return RawRows(entities, of("member", edge, EDGES), of("fact", edge, EDGES))


def _kind(spark: SparkSession, folder: AnyPath, what: str) -> DataFrame | None:
    """The rows of a kind that were written into a folder; None if there are none."""
    part = folder / f"what={what}"
    return read_parquet(spark, part, RAW_DDL.removeprefix("what string, ")) if part.exists() else None


def _error(kind: str, text: str) -> GrantpathError:
    """The error that a task raised, with its type."""
    found = getattr(errors, kind, ServerError)
    error: GrantpathError = found(text)
    return error


# ---- in a task -------------------------------------------------------------------------------------------------------
def _read_ranges(
    reading: Reading, numbers: Sequence[int], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The rows of the ranges. An error becomes a row, because Spark would wrap a raised error in stack traces."""
    mine = [numbers[at] for batch in batches for at in batch.column(0).to_pylist()]
    if not mine:
        return
    try:
        store = Store(reading.connection, TIMEOUT)
        try:
            for number in mine:
                yield from _read_range(store, reading, number)
        finally:
            store.close()
    except GrantpathError as error:
        yield raw_batch("error", 1, word=[type(error).__name__], other=[f"a task of Spark: {error}"])


def _read_range(store: Store, reading: Reading, number: int) -> Iterator[pa.RecordBatch]:
    low, high = reading.bounds[number]
    first: list[TenantMarks] = []
    for at, graph in _parts(store, reading, low, high):
        first = first or [at]
        same = (at.made, at.policy) == (reading.made, reading.policy)
        if not same:
            first[0] = at
            break
        yield from raw_batches(graph, reading.keys, number)
    yield raw_batch("range", 1, range=[number], revision=[first[0].revision], exists=[same])


def _parts(store: Store, reading: Reading, low: str, high: str) -> Iterator[tuple[TenantMarks, Graph]]:
    """The range in parts, each of which was read between two changes. A part during which a change was committed is
    read again, in halves."""
    root = reading.root
    rows, tries = graph_ranges.RANGE_ROWS, 0
    end, before = high, marks(store, root)
    while True:
        graph = read_graph(store, root, reading.tags, low, end)
        after = marks(store, root)
        if before == after:
            yield before, graph
            if end == high:
                return
            low, tries = end, 0
        else:
            rows, tries = max(rows // 2, 1), tries + 1
            if tries > TRIES:
                raise Inconsistent(f"{root} changed during each of {TRIES} tries to read a part of it; try again later")
            time.sleep(0.001 * tries)
        end = min(graph_ranges.range_end(store, root, low, rows) or high, high)
        # read the marks again: a change that was committed while the last part was written does not affect the next one
        before = marks(store, root)
