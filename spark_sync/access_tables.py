"""Writes the tables of a bulk answer for its readers: reach, exposure and intervals, by name instead of condition."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from grantpath.engine.facts.intervals import Ints
from grantpath.engine.facts.snapshot_reader import ints
from grantpath.spark_sync.snapshot import Snapshot, write_table
from grantpath.spark_sync.spark_session import place, read_parquet

_WORD = pa.dictionary(pa.int32(), pa.string())


class Name(NamedTuple):
    """A privilege or operation on a type, and the number of its condition. Equal conditions share a number."""

    name: str
    type: str
    condition: int


def listed_objects(source: Snapshot, type_: str) -> Ints:
    """The positions of the existing objects of a type, without hidden ones."""
    chosen = source.numbering.of_type(type_) & source.numbering.exists
    chosen[source.hidden] = False
    return np.flatnonzero(chosen)


class AccessTables:
    """Writes tables into `folder` from the raw rows in its folder `raw`."""

    def __init__(self, spark: SparkSession, folder: Path, listed: list[Name], source: Snapshot) -> None:
        self._spark, self._folder, self._listed, self._source = spark, folder, listed, source
        names = pa.table(
            {
                "name": [each.name for each in listed],
                "type": [each.type for each in listed],
                "condition": pa.array([each.condition for each in listed], pa.int32()),
            }
        )
        write_table(folder, "names", names)

    def named(self, what: str, common: Sequence[tuple[int, ...]], columns: list[str], out: str) -> int:
        """Writes the rows into `out`, one for each name of their condition. Returns the number of rows written."""
        schema = pa.schema([("condition", pa.int32()), *((column, pa.int64()) for column in columns)])
        arrays = [pa.array([row[at] for row in common], field.type) for at, field in enumerate(schema)]
        path = self._folder / "raw" / f"common-{out}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.Table.from_arrays(arrays, schema=schema), path)
        rows = read_parquet(self._spark, path)
        own = self._folder / "raw" / f"what={what}"
        if own.exists():
            renamed = [F.col(old).alias(new) for old, new in zip("abc", columns, strict=False)]
            rows = rows.union(read_parquet(self._spark, own).select("condition", *renamed))
        names = F.broadcast(read_parquet(self._spark, self._folder / "names"))
        joined = rows.join(names, "condition").select(columns[0], "name", "type", *columns[1:])
        joined.write.parquet(place(self._folder / out))
        return int(pads.dataset(self._folder / out).count_rows())

    def exposure(self) -> dict[tuple[str, str], int]:
        """Writes the number of allowed users by object and name. Returns the number of pairs by (name, type)."""
        steps = self._folder / "raw" / "what=step"
        table = pads.dataset(steps).to_table() if steps.exists() else None
        conditions = table["condition"].to_numpy() if table else np.empty(0, np.int32)
        pairs: dict[tuple[str, str], int] = {}
        schema = pa.schema([("position", pa.int64()), ("name", _WORD), ("type", _WORD), ("users", pa.int64())])
        (self._folder / "exposure").mkdir()
        with pq.ParquetWriter(self._folder / "exposure" / "part-00000.parquet", schema) as writer:
            for each in self._listed:
                pairs[each.name, each.type] = 0
                if table is None or each.condition not in conditions:
                    continue
                mine = table.filter(pa.array(conditions == each.condition))
                targets = listed_objects(self._source, each.type)
                count = np.zeros(len(targets) + 1, np.int64)
                np.add.at(count, ints(mine, "a"), ints(mine, "b"))
                count = np.cumsum(count)[:-1]
                some = count > 0
                pairs[each.name, each.type] = int(count.sum())
                words = [pa.array([word] * int(some.sum()), pa.string()).dictionary_encode() for word in each[:2]]
                writer.write_table(pa.Table.from_arrays([targets[some], *words, count[some]], schema=schema))
        return pairs
