"""A snapshot for Spark: its tables as views and as a GraphFrame; and the function that writes small tables."""

import logging
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from grantpath.engine.facts.snapshot.snapshot_reader import SnapshotReader
from grantpath.graph.extras import require_extra
from grantpath.graph.files.parquet_writer import write_file
from grantpath.graph.files.remote_path import AnyPath, arrow_place

if TYPE_CHECKING:
    from graphframes import GraphFrame
    from pyspark.sql import SparkSession

log = logging.getLogger("grantpath.spark")
SCHEMA = "grantpath"  # of the views


class Snapshot(SnapshotReader):
    """A complete snapshot, by its path or URI. Raises InvalidInput if the folder is not one."""

    def spark(self, spark: "SparkSession | None" = None, schema: str = SCHEMA) -> "SparkSession":
        """The Spark session, in which the snapshot's views are registered: `Snapshot(out).spark().sql("select * from
        grantpath.reach")`.

        Without `spark`, it is the running session; if there is none, a local one is started. The views are those of
        docs/governance.md, in this schema; those of a snapshot that was registered before are replaced. Raises the
        errors of `register`, and ServerError if Spark cannot start.
        """
        from grantpath.spark_sync.session.analyst_views import register  # only here: other uses need no Spark

        if spark is None:
            require_extra("spark", "a Spark session")
            from grantpath.spark_sync.session.spark_session import engine

            spark = engine(log.info).spark
        register(spark, self, schema)
        return spark

    def graph(self, spark: "SparkSession | None" = None, relationships: Collection[str] | None = None) -> "GraphFrame":
        """The snapshot as a GraphFrame. Spark reads the files when the GraphFrame is used; nothing is collected.

        Without `spark`, it is in the running session; if there is none, a local one with GraphFrames is started.

        Vertices: `id` (the reference), `type`, `name` (the last segment, unquoted), `exists`. Edges: `src`, `dst`,
        `relationship` (MEMBER_OF, HAS_ROLE, ALLOW, DENY, OWNS, TAGGED, CHILD_OF), `effect` and `privilege` (null unless
        ALLOW or DENY). `relationships` limits the edges to these. Raises InvalidInput for an unknown relationship, or
        an unreadable policy; ServerError if the session has no GraphFrames or is one of Spark Connect.
        """
        from grantpath.spark_sync.session.graph_frame import (
            graph_frame,  # only here: other uses of a snapshot need no Spark
        )

        return graph_frame(self, spark, relationships)


def write_table(
    folder: AnyPath, name: str, columns: Mapping[str, Any] | pa.Table, distinct: Collection[str] = ()
) -> None:
    """Writes a table as a folder with one part file. A dictionary would only slow down the columns in `distinct`,
    whose values are not repeated."""
    (folder / name).mkdir()
    table = pa.table(columns)
    with_dictionary = [column for column in table.column_names if column not in distinct]
    place, filesystem = arrow_place(folder / name / "part-00000.parquet")
    write_file(table, place, use_dictionary=with_dictionary, filesystem=filesystem)
