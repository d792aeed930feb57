"""Reads the tables of a bulk import from Parquet, and checks their sizes before anything is decoded."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from grantpath.engine.transfer import tables
from grantpath.engine.transfer.tables import MAX_LINE_BYTES, Column, Problems, Table
from grantpath.graph.bounded_parquet import codes, read_bounded
from grantpath.graph.errors import InvalidInput

# Distinct rows take at least about a byte each in a compressed file. A file far below that repeats a few rows.
FREE_ROWS = 100_000
ROWS_PER_BYTE = 20
FREE_BYTES = 10_000_000
BYTES_PER_BYTE = 100


def read_parquet(name: str, file: Path, columns: Sequence[str], problems: Problems) -> Table:
    """Reads one table. Rows with an empty value are added to `problems`.

    Raises InvalidInput for a file that cannot be read, has other columns or types, has far more rows or decoded bytes
    than a file of its size can have without repetition, or contains a string longer than a line of a text table may be.
    """
    _check_footer(file)
    # A text that is too long for a reference is reported later, with its row.
    table = read_bounded([file], dict.fromkeys(columns, "text"), max_text=MAX_LINE_BYTES)
    encoded = {column: _encoded(table.column(column)) for column in columns}
    kept = np.ones(table.num_rows, dtype=np.bool_)
    for column, one in encoded.items():
        for row in np.flatnonzero((one.codes < 0) & kept).tolist():
            problems.line(file, row + 1, f"the column {column!r} is empty; give it a value")
        kept &= one.codes >= 0
    lines = np.flatnonzero(kept).astype(np.int64)
    return Table(name, file, {c: Column(one.codes[lines], one.values) for c, one in encoded.items()}, lines + 1)


def _check_footer(file: Path) -> None:
    """Raises InvalidInput if the footer announces more data than a file of this size may contain. A damaged file
    is reported later, when it is read."""
    try:
        with pq.ParquetFile(file) as parquet:
            footer = parquet.metadata
            rows = footer.num_rows
            taken = sum(footer.row_group(at).total_byte_size for at in range(footer.num_row_groups))
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return
    size = file.stat().st_size
    if rows > tables.MAX_ROWS:
        raise InvalidInput(f"{file}: more than {tables.MAX_ROWS:,} rows; load it in parts")
    if rows > FREE_ROWS + ROWS_PER_BYTE * size or taken > FREE_BYTES + BYTES_PER_BYTE * size:
        raise InvalidInput(
            f"{file}: its {size:,} bytes decode to {rows:,} rows of {taken:,} bytes, so it repeats rows or long texts; "
            "remove the duplicates"
        )


def _encoded(column: pa.ChunkedArray) -> Column:
    """The column with a code for each row; a missing value has the code -1."""
    indices, values = codes(column)
    return Column(indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64), values.to_pylist())
