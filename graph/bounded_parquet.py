"""Reads untrusted Parquet files, and checks how much memory a file needs before it decodes anything.

A Parquet file of one kilobyte can contain millions of rows, or repeat one long string a million times. So the column
types and the decoded size are read from the file's footer and checked against limits. String columns are read as
dictionaries, which store a repeated string once. A string must not be longer than a reference.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from grantpath.graph.errors import InvalidInput
from grantpath.graph.messages import short
from grantpath.graph.reference import MAX_REFERENCE_BYTES

Kind = Literal["text", "int", "bool"]
FREE_BYTES = 256_000_000  # bytes of memory that every file may take
RATIO = 100  # more bytes of memory for each byte of the file
MAX_TEXT_BYTES = 2 * MAX_REFERENCE_BYTES  # a reference may be written with more quotes than it needs
_ROW_BYTES = {"text": 4, "int": 8, "bool": 1}  # of one value; the texts themselves are not included
_DICTIONARY = pa.dictionary(pa.int32(), pa.string())


def read_bounded(
    files: Sequence[Path],
    kinds: Mapping[str, Kind],
    columns: Sequence[str] | None = None,
    chosen: pads.Expression | None = None,
    max_text: int = MAX_TEXT_BYTES,
) -> pa.Table:
    """The rows of these files (parts of one table) that match `chosen`, with these columns.

    `kinds` lists every column that the files must have. A string column is dictionary<int32, string> (null in a column
    without any value). Raises InvalidInput for a file that cannot be read, has other columns or types, would take
    more memory than FREE_BYTES plus RATIO times its size, or contains a string longer than `max_text` bytes.
    """
    wanted = list(kinds) if columns is None else list(columns)
    at = files[0]
    try:
        taken = allowed = 0
        for at in files:
            with pq.ParquetFile(at) as parquet:
                _check_types(at, parquet.schema_arrow, kinds)
                taken += _decoded_bytes(parquet, {name: kinds[name] for name in wanted})
            allowed += RATIO * at.stat().st_size
            _check_size(at, taken, FREE_BYTES + allowed)
        at = files[0]
        texts = [name for name, kind in kinds.items() if kind == "text"]
        options = pads.ParquetReadOptions(dictionary_columns=texts)
        source = pads.dataset([str(file) for file in files], format=pads.ParquetFileFormat(read_options=options))
        table = source.to_table(columns=wanted, filter=chosen).unify_dictionaries()
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InvalidInput(_unreadable(at, error)) from None
    for name in wanted:
        _check_texts(at, name, table[name], max_text)
    return table


def codes(column: pa.ChunkedArray) -> tuple[pa.Array, pa.Array]:
    """A string column as (the index of each row's value, the distinct values)."""
    if pa.types.is_null(column.type):
        column = column.cast(_DICTIONARY)
    whole = column.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):  # it has no chunks, or more rows than one chunk can have
        whole = pa.concat_arrays([pa.array([], _DICTIONARY), *whole.chunks])
    return whole.indices, whole.dictionary


def _check_types(file: Path, schema: pa.Schema, kinds: Mapping[str, Kind]) -> None:
    names = ", ".join(kinds)
    for name in schema.names:
        if name not in kinds:
            raise InvalidInput(f"{file}: the column {short(name)!r} is unknown; the columns are {names}")
    for name, kind in kinds.items():
        if schema.names.count(name) != 1:
            what = "missing" if name not in schema.names else "duplicated"
            raise InvalidInput(f"{file}: the column {name!r} is {what}; the columns are {names}")
        found = schema.field(name).type
        if not _fits(found, kind):
            written = {"text": "strings", "int": "integers", "bool": "booleans"}[kind]
            raise InvalidInput(f"{file}: the column {name!r} has the type {short(str(found))}; write it as {written}")


def _fits(found: pa.DataType, kind: Kind) -> bool:
    plain = found.value_type if pa.types.is_dictionary(found) else found
    tests = {
        "text": (pa.types.is_string, pa.types.is_large_string, pa.types.is_null),
        "int": (pa.types.is_signed_integer,),
        "bool": (pa.types.is_boolean,),
    }[kind]
    return any(test(plain) for test in tests)


def _decoded_bytes(parquet: pq.ParquetFile, kinds: Mapping[str, Kind]) -> int:
    """The bytes of memory that these columns need once decoded, by the file's footer."""
    footer = parquet.metadata
    taken: int = footer.num_rows * sum(_ROW_BYTES[kind] for kind in kinds.values())
    for group in range(footer.num_row_groups):
        row_group = footer.row_group(group)
        for at in range(row_group.num_columns):
            column = row_group.column(at)
            if column.path_in_schema in kinds:
                taken += column.total_uncompressed_size
    return taken


def _check_size(file: Path, taken: int, allowed: int) -> None:
    if taken > allowed:
        raise InvalidInput(
            f"{file}: would take {taken / 1e6:,.0f} MB of memory, but at most {allowed / 1e6:,.0f} MB are allowed "
            f"({FREE_BYTES / 1e6:,.0f} MB plus {RATIO} times the size of the file); write it with less repetition, "
            "or split it"
        )


def _check_texts(file: Path, name: str, column: pa.ChunkedArray, max_text: int) -> None:
    for chunk in column.chunks if pa.types.is_dictionary(column.type) else ():
        longest = pc.max(pc.binary_length(chunk.dictionary)).as_py()
        if longest is not None and longest > max_text:
            raise InvalidInput(
                f"{file}: the column {name!r} contains a value of {longest:,} bytes; at most {max_text:,} are "
                "allowed; shorten it"
            )


def _unreadable(file: Path, error: Exception) -> str:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    if "Not yet implemented" in reason:  # delta encodings of texts
        return f"{file}: the encoding of its strings is not supported; write them with plain or dictionary encoding"
    return f"{file} cannot be read as Parquet: {reason[:300]}; write the file again"
