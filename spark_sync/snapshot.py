"""A snapshot for Spark: its tables as a GraphFrame; and the function that writes small tables."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from grantpath.engine.facts.snapshot_reader import SnapshotReader

if TYPE_CHECKING:
    from graphframes import GraphFrame
    from pyspark.sql import SparkSession


class Snapshot(SnapshotReader):
    """A complete snapshot, by its path or its `file:` URI. Raises InvalidInput if the folder is not one."""

    def graph(self, spark: "SparkSession", relationships: Collection[str] | None = None) -> "GraphFrame":
        """The snapshot as a GraphFrame. Spark reads the files when the GraphFrame is used; nothing is collected.

        Vertices: `id` (the reference), `type`, `name` (the last segment, unquoted), `exists`. Edges: `src`, `dst`,
        `relationship` (MEMBER_OF, HAS_ROLE, ALLOW, DENY, OWNS, CHILD_OF), `effect` and `privilege` (null unless ALLOW
        or DENY). `relationships` limits the edges to these. Raises InvalidInput for an unknown relationship, or an
        unreadable policy; ServerError if the session has no GraphFrames or is one of Spark Connect.
        """
        from grantpath.spark_sync.graph_frame import graph_frame  # only here: other uses of a snapshot need no Spark

        return graph_frame(self, spark, relationships)


def write_table(folder: Path, name: str, columns: Mapping[str, Any] | pa.Table, distinct: Collection[str] = ()) -> None:
    """Writes a table as a folder with one part file. The columns in `distinct` get no dictionary, which would only slow
    them down, because their values are not repeated."""
    (folder / name).mkdir()
    table = pa.table(columns)
    with_dictionary = [column for column in table.column_names if column not in distinct]
    pq.write_table(table, folder / name / "part-00000.parquet", use_dictionary=with_dictionary)
