"""Reads the tables of a bulk import from Parquet."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from grantpath.engine import load_table
from grantpath.engine.load_table import Column, Problems, Table, check_columns
from grantpath.graph.errors import InvalidInput


def read_parquet(name: str, file: Path, columns: Sequence[str], problems: Problems) -> Table:
    try:
        with pq.ParquetFile(file) as parquet:
            check_columns(file, parquet.schema_arrow.names, columns, None)
            if parquet.metadata.num_rows > load_table.MAX_ROWS:
                raise InvalidInput(f"{file}: more than {load_table.MAX_ROWS:,} rows; load it in parts")
            table = parquet.read()
        for column in columns:
            kind = table.schema.field(column).type
            if not _is_text(kind):
                raise InvalidInput(f"{file}: the column {column!r} holds {kind}; write it as strings")
        encoded = {column: _encoded(table.column(column)) for column in columns}
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} cannot be read as Parquet: {str(error).splitlines()[0]}; write it anew") from None
    kept = np.ones(table.num_rows, dtype=np.bool_)
    for column, one in encoded.items():
        for row in np.flatnonzero((one.codes < 0) & kept).tolist():
            problems.line(file, row + 1, f"the column {column!r} is empty; give it a value")
        kept &= one.codes >= 0
    lines = np.flatnonzero(kept).astype(np.int64)
    return Table(name, file, {c: Column(one.codes[lines], one.values) for c, one in encoded.items()}, lines + 1)


def _is_text(kind: pa.DataType) -> bool:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return any(is_kind(plain) for is_kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_null))


def _encoded(column: pa.ChunkedArray) -> Column:
    """A missing value has the code -1."""
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    encoded = pa.concat_arrays([pa.array([], pa.large_string()), *plain.cast(pa.large_string()).chunks])
    encoded = encoded.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return Column(codes, encoded.dictionary.to_pylist())
