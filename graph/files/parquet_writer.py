"""Writes Parquet files whose pages have checksums: readers then notice a damaged file."""

from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

if TYPE_CHECKING:
    import pyarrow as pa


def open_writer(place: Any, schema: "pa.Schema", **options: Any) -> pq.ParquetWriter:
    """A writer of a file, table by table."""
    return pq.ParquetWriter(place, schema, write_page_checksum=True, **options)


def write_file(table: "pa.Table", place: Any, **options: Any) -> None:
    """Writes a table as a file."""
    pq.write_table(table, place, write_page_checksum=True, **options)
