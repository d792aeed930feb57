"""The tables of a snapshot as a data source of Spark 4, and its changes as a stream.

    spark.read.format("grantpath").load("OUT")
    spark.readStream.format("grantpath").option("table", "changes").load("OUT")

Tasks read the files, with the checks of a snapshot: its version, its columns, and the memory that a file needs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from operator import and_, eq, ge, gt, le, lt
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads

from grantpath.engine.facts.snapshot.snapshot_reader import CHANGES, TABLES, SnapshotReader
from grantpath.graph.errors import InvalidInput, ServerError
from grantpath.graph.files.bounded_parquet import read_bounded, stream_bounded
from grantpath.graph.files.remote_path import AnyPath, path_at
from grantpath.graph.messages import short
from grantpath.spark_sync.following.change_files import change_files, next_number

try:
    from pyspark.sql.datasource import (  # type: ignore[import-not-found]
        DataSource,
        DataSourceReader,
        DataSourceStreamReader,
        InputPartition,
    )
except ImportError:
    raise ServerError(
        "the data source `grantpath` needs Spark 4.0 or newer; with Spark 3.5 use grantpath.spark_sync.register"
    ) from None

TABLE = "table"
FILTERS = "filters"
DEFAULT = "objects"
# What writes the tables that a new snapshot does not have: commands with the folder of the snapshot.
WRITERS = {
    **{name: "access {}" for name in TABLES if name.startswith("access/")},
    "access/expand": "access {} --expand NAME",
    CHANGES: "follow {}",
}
_SQL = {"int": "bigint", "text": "string", "bool": "boolean"}
_ARROW = {"int": pa.int64(), "text": pa.string(), "bool": pa.bool_()}
_COMPARISONS: dict[str, Callable[[pads.Expression, Any], pads.Expression]] = {
    "EqualTo": eq,
    "EqualNullSafe": eq,
    "GreaterThan": gt,
    "GreaterThanOrEqual": ge,
    "LessThan": lt,
    "LessThanOrEqual": le,
}


class SnapshotSource(DataSource):  # type: ignore[misc]
    """Register it once in a session: `spark.dataSource.register(SnapshotSource)`.

    `load` takes the folder of the snapshot. The option `table` selects a table of docs/snapshot.md, e.g. `closure` or
    `access/reach`; the default is `objects`. docs/snapshot.md lists the columns, which are bigint, string or boolean.
    With the option `filters` set to true, tasks evaluate comparisons, `in` and `is [not] null` on single columns when
    they read the files. That needs Spark 4.1 or newer, and `spark.sql.python.filterPushdown.enabled`. Only `changes`
    can be read as a stream. Raises InvalidInput if the folder is not a snapshot, or does not contain the table.
    """

    @classmethod
    def name(cls) -> str:
        return "grantpath"

    def schema(self) -> str:
        return ", ".join(f"{column} {_SQL[kind]}" for column, kind in TABLES[self._table()].items())

    def reader(self, schema: Any) -> "SnapshotTableReader":
        kind = FilteringReader if self._filters() else SnapshotTableReader
        return kind(self._folder(), self._table())

    def streamReader(self, schema: Any) -> "ChangeStreamReader":
        if self._table() != CHANGES:
            raise InvalidInput(f'only the changes of a snapshot are a stream; use .option("{TABLE}", "{CHANGES}")')
        return ChangeStreamReader(self._folder())

    def _folder(self) -> AnyPath:
        if "path" not in self.options:
            raise InvalidInput('the data source `grantpath` needs the folder of a snapshot; use .load("OUT")')
        return path_at(self.options["path"])

    def _table(self) -> str:
        table = self.options.get(TABLE, DEFAULT)
        if table not in TABLES:
            raise InvalidInput(f"a snapshot has no table {short(str(table))!r}; the tables are {', '.join(TABLES)}")
        return str(table)

    def _filters(self) -> bool:
        value = str(self.options.get(FILTERS, "false"))
        if value not in ("true", "false"):
            raise InvalidInput(f"{FILTERS}={short(value)} is not valid; write true or false")
        return value == "true"


class SnapshotTableReader(DataSourceReader):  # type: ignore[misc]
    """Reads one table, one file in each task."""

    def __init__(self, folder: AnyPath, table: str) -> None:
        snapshot = SnapshotReader(folder)
        if table in WRITERS and not snapshot.has(table):
            raise InvalidInput(
                f"{folder} has no table {table}; write it with `grantpath {WRITERS[table].format(folder)}`"
            )
        snapshot.require_rows(table)
        self._table, self._files = table, snapshot.files(table)
        self._chosen: list[tuple[str, str, Any]] = []  # name of the filter, column, value

    def partitions(self) -> list[Any]:
        return [InputPartition(at) for at in range(len(self._files))]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """The rows of one file that pass the filters. Raises InvalidInput if it cannot be read."""
        file, kinds = [self._files[partition.value]], TABLES[self._table]
        conditions = [_expression(*each) for each in self._chosen]
        if conditions:
            found = read_bounded(file, kinds, None, reduce(and_, conditions))
            tables: Iterable[pa.Table] = [found]
        else:
            tables = stream_bounded(file, kinds).tables
        yield from _batches(tables, kinds)


class FilteringReader(SnapshotTableReader):
    """Evaluates filters in its tasks. By default, Spark refuses a reader that has this method: it is disabled there."""

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:
        """Keeps the filters that a task can evaluate, and returns the others, which Spark evaluates."""
        for each in filters:
            column = each.attribute[0] if len(getattr(each, "attribute", ())) == 1 else None
            condition = (type(each).__name__, str(column), getattr(each, "value", None))
            if column in TABLES[self._table] and _expression(*condition) is not None:
                self._chosen.append(condition)
            else:
                yield each


class ChangeStreamReader(DataSourceStreamReader):  # type: ignore[misc]
    """Reads the files of `changes`, one in each task. An offset is the number of the next file."""

    def __init__(self, folder: AnyPath) -> None:
        SnapshotReader(folder)  # raises InvalidInput if it is not a snapshot
        self._folder = folder

    def initialOffset(self) -> dict[str, int]:
        files = change_files(self._folder)
        return {"file": files[0].number if files else next_number(self._folder)}

    def latestOffset(self) -> dict[str, int]:
        return {"file": next_number(self._folder)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Any]:
        """The files from one offset to another. Raises InvalidInput if one was removed."""
        wanted = range(start["file"], end["file"])
        found = {file.number: file.path for file in change_files(self._folder) if file.number in wanted}
        if len(found) != len(wanted):
            raise InvalidInput(f"{self._folder / CHANGES}: a file that the stream has not read was removed; restart it")
        return [InputPartition(found[number]) for number in wanted]

    def commit(self, end: dict[str, int]) -> None:
        """Does nothing: the files stay for other readers."""

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """The rows of one file. Raises InvalidInput if it cannot be read."""
        kinds = TABLES[CHANGES]
        yield from _batches(stream_bounded([partition.value], kinds).tables, kinds)


def _batches(tables: Iterable[pa.Table], kinds: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    schema = pa.schema([(column, _ARROW[kind]) for column, kind in kinds.items()])
    for table in tables:
        yield from table.select(schema.names).cast(schema).to_batches()


def _expression(kind: str, column: str, value: Any) -> pads.Expression | None:
    """A filter of Spark as an expression of Arrow; None if it has none, e.g. a comparison with null."""
    field = pads.field(column)
    if kind == "IsNull":
        return field.is_null()
    if kind == "IsNotNull":
        return field.is_valid()
    if kind == "In" and all(each is not None for each in value):
        return field.isin(list(value))
    if kind in _COMPARISONS and value is not None:
        return _COMPARISONS[kind](field, value)
    return None
