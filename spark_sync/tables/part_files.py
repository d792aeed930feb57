"""Parquet files for the tables of other engines: plain strings, in the order of the rows."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from grantpath.graph.files.parquet_writer import open_writer

PART_ROWS = 5_000_000  # a file has at most about this many rows


@dataclass(frozen=True)
class PartFile:
    """A file of a table, and its footer."""

    path: Path
    footer: pq.FileMetaData


def write_parts(folder: Path, schema: pa.Schema, tables: Iterable[pa.Table]) -> list[PartFile]:
    """Writes the tables into the new folder, each as one row group. The file names are in the order of the rows.

    If there are no tables, no file is written. The writers of Delta and Iceberg libraries are not used, because they
    keep more than one table in memory, or write the tables in another order.
    """
    folder.mkdir(parents=True)
    parts: list[PartFile] = []
    writer, path, rows = None, folder, 0
    try:
        for table in tables:
            if writer is None:
                path = folder / f"part-{len(parts):05}.parquet"
                # omit Arrow's schema, so that every engine reads the plain types of Parquet
                writer, rows = open_writer(path, schema, compression="zstd", store_schema=False), 0
            writer.write_table(table.cast(schema), row_group_size=len(table))
            rows += len(table)
            if rows >= PART_ROWS:
                parts.append(_closed(path, writer))
                writer = None
        if writer is not None:
            parts.append(_closed(path, writer))
            writer = None
    finally:
        if writer is not None:
            writer.close()
    return parts


def _closed(path: Path, writer: pq.ParquetWriter) -> PartFile:
    writer.close()
    return PartFile(path, pq.read_metadata(path))
