"""Reads the tables of a bulk import from Parquet, and checks their sizes before anything is decoded."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from grantpath.engine.transfer import tables
from grantpath.engine.transfer.tables import MAX_LINE_BYTES, Column, Problems, Source, Table
from grantpath.graph.errors import InvalidInput
from grantpath.graph.files.bounded_parquet import Kind, announced, codes, column_names, read_bounded

# Distinct rows take at least about a byte each in a compressed file. A file far below that repeats a few rows.
FREE_ROWS = 100_000
ROWS_PER_BYTE = 20
FREE_BYTES = 10_000_000
BYTES_PER_BYTE = 100


def read_parquet_table(source: Source, columns: Sequence[str], optional: Sequence[str], problems: Problems) -> Table:
    """Reads one table. Rows with an empty value are added to `problems`. Values of `optional` columns may be missing.

    Raises InvalidInput for a file that cannot be read, has other columns or types, has far more rows or decoded bytes
    than a file of its size can have without repetition, or contains a string that is not UTF-8, or is longer than a
    line of a text table may be.
    """
    _check_footers(source)
    # A text that is too long for a reference is reported later, with its row.
    there = [column_names(part) for part in source.parts]
    some = [each for each in optional if any(each in names for names in there)]
    parts = []
    for part, names in zip(source.parts, there, strict=True):
        kinds: dict[str, Kind] = dict.fromkeys([*columns, *(each for each in some if each in names)], "text")
        parts.append(read_bounded([part], kinds, max_text=MAX_LINE_BYTES))
    encoded = {column: _encoded([_texts(part, column) for part in parts]) for column in (*columns, *some)}
    numbers = np.concatenate(
        [source.number(at, 1) + np.arange(len(part), dtype=np.int64) for at, part in enumerate(parts)]
    )
    kept = np.ones(len(numbers), dtype=np.bool_)
    for column in optional:
        one = encoded.get(column, Column(np.full(len(numbers), -1, dtype=np.int64), []))
        encoded[column] = Column(np.where(one.codes < 0, len(one.values), one.codes), [*one.values, ""])
    for column, one in encoded.items():
        for row in np.flatnonzero((one.codes < 0) & kept).tolist():
            problems.row(source, int(numbers[row]), f"the column {column!r} is empty; give it a value")
        kept &= one.codes >= 0
    found = {column: Column(one.codes[kept], one.values) for column, one in encoded.items()}
    return Table(source.table, source, found, numbers[kept])


def _check_footers(source: Source) -> None:
    """Raises InvalidInput if the footers announce more data than files of this size may contain."""
    sizes = [announced(part) for part in source.parts]
    rows, taken = (sum(size) for size in zip(*sizes, strict=True))
    size = sum(part.stat().st_size for part in source.parts)
    if rows > tables.MAX_ROWS:
        raise InvalidInput(f"{source.path}: more than {tables.MAX_ROWS:,} rows; load it in parts")
    if rows > FREE_ROWS + ROWS_PER_BYTE * size or taken > FREE_BYTES + BYTES_PER_BYTE * size:
        raise InvalidInput(
            f"{source.path}: its {size:,} bytes decode to {rows:,} rows of {taken:,} bytes, so it repeats rows or long "
            "texts; remove the duplicates"
        )


def _texts(part: pa.Table, column: str) -> pa.ChunkedArray:
    """A column of a part file, empty if the part does not have it."""
    return part.column(column) if column in part.column_names else pa.chunked_array([pa.nulls(len(part), pa.string())])


def _encoded(parts: Sequence[pa.ChunkedArray]) -> Column:
    """A column with a code for each row; a missing value has the code -1."""
    chunks = [pa.DictionaryArray.from_arrays(*codes(part)) for part in parts]
    indices, values = codes(pa.chunked_array(chunks))
    return Column(indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64), values.to_pylist())
