"""Reads untrusted Parquet files, and checks how much memory a file needs before it decodes anything.

A Parquet file of one kilobyte can contain millions of rows, or repeat one long string a million times. So the column
types and the decoded size are read from the file's footer and checked against limits. String columns are read as
dictionaries, which store a repeated string once, unless the file stores the column without a dictionary. The length of
a string is limited. A stream checks a file in the same way, and decodes a bounded number of rows at a time. Pages that
have a checksum are verified; Spark writes checksums, and snapshots have them.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from grantpath.graph.errors import InvalidInput
from grantpath.graph.files import parquet_footer
from grantpath.graph.files.parquet_footer import Chunk, Footer, read_footer
from grantpath.graph.files.remote_path import AnyPath, arrow_place, reason_of, size_of
from grantpath.graph.language.reference import MAX_REFERENCE_BYTES
from grantpath.graph.messages import short

Kind = Literal["text", "int", "bool"]
FREE_BYTES = 256_000_000  # bytes of memory that the files of one table may take together, whatever their size
RATIO = 100  # more bytes of memory for each byte of the files
MAX_TEXT_BYTES = 2 * MAX_REFERENCE_BYTES  # a reference may be written with more quotes than it needs
STREAM_ROWS, STREAM_BYTES = 262_144, 64_000_000  # the most in a part of a streamed table
_ROW_BYTES = {"text": 4, "int": 8, "bool": 1}  # of one value; the texts themselves are not included
_DICTIONARY = pa.dictionary(pa.int32(), pa.string())
_DELTA = {parquet_footer.DELTA_BYTES, parquet_footer.DELTA_LENGTH}
# the encodings of a column without a dictionary, and of its levels
_PLAIN = {parquet_footer.PLAIN, parquet_footer.RLE, parquet_footer.BIT_PACKED}
_VERIFIED = {"page_checksum_verification": True}
_UNREADABLE = (pa.ArrowException, OSError, UnicodeDecodeError, OverflowError)


def read_bounded(
    files: Sequence[AnyPath],
    kinds: Mapping[str, Kind],
    columns: Sequence[str] | None = None,
    chosen: pads.Expression | None = None,
    max_text: int = MAX_TEXT_BYTES,
) -> pa.Table:
    """The rows of these files (parts of one table) that match `chosen`, with these columns.

    `kinds` lists every column that the files must have. A string column has the type dictionary<int32, string> (null if
    it has no value), or string if the files store it without a dictionary, which is faster if few strings are repeated.
    Raises InvalidInput if a file cannot be read, has other columns or types, or contains a string longer than
    `max_text` bytes, or if the files together would take more memory than FREE_BYTES plus RATIO times their size.
    """
    wanted = list(kinds) if columns is None else list(columns)
    try:
        return _read(files, kinds, wanted, chosen, max_text)
    except InvalidInput:
        for file in files if len(files) > 1 else ():
            _read([file], kinds, wanted, chosen, max_text)  # raises the error with the name of the damaged file
        raise


def _read(
    files: Sequence[AnyPath],
    kinds: Mapping[str, Kind],
    wanted: Sequence[str],
    chosen: pads.Expression | None,
    max_text: int,
) -> pa.Table:
    footers = _check_footers(files, kinds, wanted)
    if any(_delta(footer, kinds) for footer in footers.files):
        return _read_delta(files, kinds, footers, chosen, max_text).select(wanted)
    try:
        repeated = [name for name in _texts(kinds) if name not in footers.plain]
        options = pads.ParquetReadOptions(dictionary_columns=repeated)
        places = [arrow_place(file) for file in files]
        scan = pads.ParquetFragmentScanOptions(**_VERIFIED)
        form = pads.ParquetFileFormat(read_options=options, default_fragment_scan_options=scan)
        source = pads.dataset([name for name, _ in places], format=form, filesystem=places[0][1])
        table = source.to_table(columns=wanted, filter=chosen).unify_dictionaries()
    except _UNREADABLE as error:
        raise InvalidInput(_unreadable(files[0], error)) from None
    if chosen is None:
        _check_rows(files[0], len(table), footers.rows)
    for name in wanted:
        _check_texts(files[0], name, table[name], max_text)
    return table


def _read_delta(
    files: Sequence[AnyPath],
    kinds: Mapping[str, Kind],
    footers: "_Footers",
    chosen: pads.Expression | None,
    max_text: int,
) -> pa.Table:
    """The rows of files of which some encode texts by their differences, read in small parts."""
    parts = [footers.schema.empty_table()]
    taken, allowed = 0, FREE_BYTES + RATIO * sum(map(size_of, files))
    for file, footer in zip(files, footers.files, strict=True):
        for part in _parts(file, footer, kinds, footers.schema, max_text):
            rows = part if chosen is None else part.filter(chosen)
            taken += rows.nbytes
            _check_size(file, taken, allowed)
            parts.append(rows)
    return pa.concat_tables(parts).combine_chunks()


@dataclass(frozen=True)
class TableStream:
    """The rows of a table, to be read once, in the order of its files. `tables` are parts of it, with this schema."""

    schema: pa.Schema
    rows: int
    tables: Iterator[pa.Table]


def stream_bounded(files: Sequence[AnyPath], kinds: Mapping[str, Kind]) -> TableStream:
    """Like `read_bounded`, with plain strings, but not all in memory: about one row group of a file at a time.

    A table has at most STREAM_ROWS rows, and strings of at most STREAM_BYTES bytes. The footers are checked at once;
    the iterator raises InvalidInput for rows that cannot be read, or a string longer than MAX_TEXT_BYTES.
    """
    footers = _check_footers(files, kinds, list(kinds))
    parts = zip(files, footers.files, strict=True)
    tables = (each for file, footer in parts for each in _parts(file, footer, kinds, footers.schema, MAX_TEXT_BYTES))
    return TableStream(footers.schema, footers.rows, tables)


def row_count(files: Sequence[AnyPath]) -> int:
    """The number of rows of these files, from their footers. Raises InvalidInput for a file that cannot be read."""
    return sum(_footer(file).rows for file in files)


def announced(file: AnyPath) -> tuple[int, int]:
    """The number of rows of a file, and their bytes before compression, by its footer. Raises InvalidInput for a file
    that cannot be read."""
    footer = _footer(file)
    return footer.rows, footer.size


def column_names(file: AnyPath) -> list[str]:
    """The columns of a file. Raises InvalidInput for a file that cannot be read."""
    with _opened(file) as opened:
        return list(opened.parquet.schema_arrow.names)


def _footer(file: AnyPath) -> Footer:
    with _opened(file) as opened:
        return opened.footer()


class _Opened(NamedTuple):
    """A Parquet file, and its bytes."""

    parquet: pq.ParquetFile
    raw: pa.NativeFile

    def footer(self) -> Footer:
        """Raises pyarrow's errors if the footer is damaged."""
        return read_footer(self.raw, self.parquet.schema.names)


@contextmanager
def _opened(file: AnyPath, **options: Any) -> Iterator[_Opened]:
    """Opens a file. Raises InvalidInput if it cannot be read, now or in the block; opening a pipe would block."""
    if isinstance(file, Path) and file.exists() and not file.is_file():
        raise InvalidInput(f"{file} must be a regular file, not a folder, device or pipe; write it again")
    try:
        name, filesystem = arrow_place(file)
        with filesystem.open_input_file(name) as raw, pq.ParquetFile(raw, **_VERIFIED, **options) as parquet:
            yield _Opened(parquet, raw)
    except _UNREADABLE as error:
        raise InvalidInput(_unreadable(file, error)) from None


def codes(column: pa.ChunkedArray) -> tuple[pa.Array, pa.Array]:
    """A string column as (the index of each row's value, the distinct values)."""
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.string()).dictionary_encode()
    whole = column.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):  # it has no chunks, or more rows than one chunk can have
        whole = pa.concat_arrays([pa.array([], _DICTIONARY), *whole.chunks])
    return whole.indices, whole.dictionary


def _texts(kinds: Mapping[str, Kind]) -> list[str]:
    return [name for name, kind in kinds.items() if kind == "text"]


@dataclass(frozen=True)
class _Footers:
    """The contents of the footers of files. `schema` has plain strings, and the integers of the first file. `plain` are
    the columns that all files store without a dictionary, so that each repetition of a value takes space."""

    files: tuple[Footer, ...]
    schema: pa.Schema
    plain: frozenset[str]

    @property
    def rows(self) -> int:
        return sum(footer.rows for footer in self.files)


def _check_footers(files: Sequence[AnyPath], kinds: Mapping[str, Kind], wanted: Sequence[str]) -> _Footers:
    """Checks the types and the decoded size of these files."""
    taken = allowed = 0
    schema, plain, footers = None, frozenset(kinds), list[Footer]()
    for file in files:
        with _opened(file) as opened:
            stored, footer = opened.parquet.schema_arrow, opened.footer()
        _check_types(file, stored, kinds)
        taken += _decoded_bytes(footer, {name: kinds[name] for name in wanted})
        plain -= {chunk.column for chunk in footer.chunks if not chunk.encodings <= _PLAIN}
        schema = schema or _schema(stored, kinds)
        allowed += RATIO * size_of(file)
        footers.append(footer)
        _check_size(file, taken, FREE_BYTES + allowed)
    return _Footers(tuple(footers), schema, plain)


def _schema(stored: pa.Schema, kinds: Mapping[str, Kind]) -> pa.Schema:
    types = {name: pa.string() if kind == "text" else _plain(stored.field(name).type) for name, kind in kinds.items()}
    return pa.schema(list(types.items()))


def _delta(footer: Footer, kinds: Mapping[str, Kind]) -> list[Chunk]:
    """The parts of text columns with an encoding that Arrow cannot read as a dictionary. It stores a text as the
    difference to the text before it, so that its size is unknown until then."""
    return [chunk for chunk in footer.chunks if kinds.get(chunk.column) == "text" and _DELTA & chunk.encodings]


def _parts(
    file: AnyPath, footer: Footer, kinds: Mapping[str, Kind], schema: pa.Schema, max_text: int
) -> Iterator[pa.Table]:
    """The rows of a file. Strings are read as dictionaries, and decoded only when their lengths are known. A string in
    a delta encoding may be as long as its part of the file, so only a few rows are read at a time."""
    delta, rows = _delta(footer, kinds), STREAM_ROWS
    if delta:
        longest = max(1, *(chunk.size for chunk in delta))
        rows = min(rows, max(1, (FREE_BYTES + RATIO * size_of(file)) // (2 * longest)))
    read_dictionary = [name for name in _texts(kinds) if name not in {chunk.column for chunk in delta}]
    with _opened(file, read_dictionary=read_dictionary, pre_buffer=False) as opened:
        before = 0
        for batch in opened.parquet.iter_batches(rows, columns=list(kinds)):
            table = pa.Table.from_batches([batch]).select(schema.names)
            longest = max(
                (_check_texts(file, name, table[name], max_text, before) for name in _texts(kinds)), default=0
            )
            step = min(STREAM_ROWS, STREAM_BYTES // max(longest, 1))
            for begin in range(0, len(table), step):
                yield table.slice(begin, step).cast(schema)
            before += len(table)
    _check_rows(file, before, footer.rows)


def _check_types(file: AnyPath, schema: pa.Schema, kinds: Mapping[str, Kind]) -> None:
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
    plain = _plain(found)
    tests = {
        "text": (_is_text, pa.types.is_null),
        "int": (pa.types.is_signed_integer,),
        "bool": (pa.types.is_boolean,),
    }[kind]
    return any(test(plain) for test in tests)


def _plain(found: pa.DataType) -> pa.DataType:
    return found.value_type if pa.types.is_dictionary(found) else found


def _decoded_bytes(footer: Footer, kinds: Mapping[str, Kind]) -> int:
    """The bytes of memory that these columns need once decoded, by the file's footer."""
    fixed = footer.rows * sum(_ROW_BYTES[kind] for kind in kinds.values())
    return fixed + sum(chunk.size for chunk in footer.chunks if chunk.column in kinds)


def _check_rows(file: AnyPath, read: int, announced: int) -> None:
    if read != announced:
        raise InvalidInput(f"{file} has {read:,} rows, but its footer announces {announced:,}; write the file again")


def _check_size(file: AnyPath, taken: int, allowed: int) -> None:
    if taken > allowed:
        raise InvalidInput(
            f"{file}: would take {taken / 1e6:,.0f} MB of memory, but at most {allowed / 1e6:,.0f} MB are allowed "
            f"({FREE_BYTES / 1e6:,.0f} MB plus {RATIO} times the size of the file); write it with less repetition, "
            "or split it"
        )


def _check_texts(file: AnyPath, name: str, column: pa.ChunkedArray, max_text: int, before: int = 0) -> int:
    """The bytes of the longest string. Raises InvalidInput if it is too long, or if a string is not UTF-8. `before` is
    the number of rows before these."""
    found = 0
    for chunk in column.chunks if _is_text(column.type) else ():
        try:
            chunk.validate(full=True)
            values = chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk
            values.validate(full=True)
        except pa.ArrowInvalid as error:
            raise InvalidInput(_bad_text(file, name, chunk, before, error)) from None
        longest = pc.max(pc.binary_length(values.cast(pa.large_string()))).as_py() or 0
        if longest > max_text:
            raise InvalidInput(
                f"{file}: the column {name!r} contains a value of {longest:,} bytes; at most {max_text:,} are "
                "allowed; shorten it"
            )
        found = max(found, longest)
        before += len(chunk)
    return found


def _bad_text(file: AnyPath, name: str, chunk: pa.Array, before: int, error: Exception) -> str:
    """The message for a damaged array of strings, of which one may not be UTF-8; `before` as in `_check_texts`."""
    for row, value in enumerate(chunk, before + 1):
        try:
            value.as_py()
        except UnicodeDecodeError:
            return f"{file}: row {row}: the column {name!r} is not UTF-8; write it in UTF-8"
        except pa.ArrowException:  # an index that is not in the dictionary
            break
    return _unreadable(file, error)


def _is_text(type_: pa.DataType) -> bool:
    plain = _plain(type_)
    tests = (pa.types.is_string, pa.types.is_large_string, getattr(pa.types, "is_string_view", None))
    return any(test(plain) for test in tests if test)


def _unreadable(file: AnyPath, error: Exception) -> str:
    return f"{file} cannot be read as Parquet: {reason_of(error)}; write the file again"
