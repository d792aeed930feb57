"""Reads the tables of a bulk import from CSV and JSON lines, row by row."""

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from grantpath.engine.transfer import tables
from grantpath.engine.transfer.table_formats import COMPRESSIONS
from grantpath.engine.transfer.tables import MAX_LINE_BYTES, Column, Problems, Source, Table, check_columns
from grantpath.graph.errors import InvalidInput
from grantpath.graph.language.inputs import read_json
from grantpath.graph.messages import short

# The most bytes to which the compressed files of a table may be decompressed, for each of their bytes and in addition.
RATIO = 100
FREE_BYTES = 256_000_000
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNREADABLE = (OSError, EOFError, zlib.error, pa.ArrowException)


class _Builder:
    """Builds a table row by row, and numbers the distinct values of each column."""

    def __init__(self, source: Source, columns: Sequence[str]) -> None:
        self._source = source
        self._columns = columns
        self._known: list[dict[str, int]] = [{} for _ in columns]
        self._codes: list[list[int]] = [[] for _ in columns]
        self._rows: list[int] = []

    def add(self, number: int, values: Sequence[str]) -> None:
        if len(self._rows) == tables.MAX_ROWS:
            raise InvalidInput(f"{self._source.place(number)}: more than {tables.MAX_ROWS:,} rows; load it in parts")
        self._rows.append(number)
        for known, codes, value in zip(self._known, self._codes, values, strict=True):
            codes.append(known.setdefault(value, len(known)))

    def table(self) -> Table:
        columns = {
            column: Column(np.array(codes, dtype=np.int64), list(known))
            for column, known, codes in zip(self._columns, self._known, self._codes, strict=True)
        }
        return Table(self._source.table, self._source, columns, np.array(self._rows, dtype=np.int64))


def read_text_table(source: Source, columns: Sequence[str], optional: Sequence[str], problems: Problems) -> Table:
    """Reads one table. Rows with other columns or types are added to `problems`. A value of an `optional` column that
    is missing is empty.

    Raises InvalidInput for a file that cannot be read, a row that is too long, and compressed files that contain far
    more than files of their size can have without repetition.
    """
    builder = _Builder(source, [*columns, *optional])
    for number, values in text_rows(source, columns, optional):
        if isinstance(values, str):
            problems.row(source, number, values)
        else:
            builder.add(number, values)
    return builder.table()


def text_rows(
    source: Source, columns: Sequence[str], optional: Sequence[str] = ()
) -> Iterator[tuple[int, Sequence[str] | str]]:
    """The rows of a table: the number of each, and its values in the order of `columns` and `optional`, or its problem
    as a text.

    Raises InvalidInput as `read_text_table`.
    """
    rows = _csv_rows if source.format == "csv" else _json_rows
    budget = _Budget(source)
    for part in range(len(source.parts)):
        yield from rows(_Lines(source, part, budget), columns, optional)


class _Budget:
    """Counts the decompressed bytes of a table."""

    def __init__(self, source: Source) -> None:
        packed = [part for part in source.parts if part.name.endswith(COMPRESSIONS)]
        self._source = source
        self._allowed = FREE_BYTES + RATIO * sum(part.stat().st_size for part in packed)
        self._left = self._allowed

    def take(self, number: int, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise InvalidInput(
                f"{self._source.place(number)}: the compressed files of the table contain more than "
                f"{self._allowed / 1e6:,.0f} MB ({FREE_BYTES / 1e6:,.0f} MB plus {RATIO} times their size), so they "
                "repeat rows; remove the duplicates, or decompress the files"
            )


class _Lines:
    """The lines of a part file in UTF-8, with their line ends. Raises InvalidInput.

    `begin_row` must be called at the start of each row, because the size of a row is limited, too.
    """

    def __init__(self, source: Source, part: int, budget: _Budget) -> None:
        self.line = 0  # the last one that was read
        self._source = source
        self._part = part
        self._budget = budget
        self._row_bytes = 0

    @property
    def file(self) -> Path:
        return self._source.parts[self._part]

    def number(self, line: int) -> int:
        return self._source.number(self._part, line)

    def place(self, line: int) -> str:
        return self._source.place(self.number(line))

    def begin_row(self) -> None:
        self._row_bytes = 0

    def __iter__(self) -> Iterator[str]:
        packed = self.file.name.endswith(COMPRESSIONS)
        try:
            with _open(self.file) as opened:
                for line in iter(lambda: opened.readline(MAX_LINE_BYTES + 1), b""):
                    self.line += 1
                    self._row_bytes += len(line)
                    if self._row_bytes > MAX_LINE_BYTES:
                        raise InvalidInput(
                            f"{self.place(self.line)}: longer than {MAX_LINE_BYTES:,} bytes; write one row per line"
                        )
                    if packed:
                        self._budget.take(self.number(self.line), len(line))
                    try:
                        yield line.decode("utf-8-sig" if self.line == 1 else "utf-8")
                    except UnicodeDecodeError:
                        raise InvalidInput(f"{self.place(self.line)}: not UTF-8; write the file in UTF-8") from None
        except _UNREADABLE as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            after = f" after line {self.line:,}" if self.line else ""
            raise InvalidInput(f"{self.file} cannot be read{after}: {reason[:300]}; check the file") from None


def _open(file: Path) -> io.BufferedReader | gzip.GzipFile:
    """Opens a file for reading, and decompresses it as its ending says. Raises OSError and errors of libraries."""
    if not file.name.endswith(COMPRESSIONS):
        return file.open("rb")
    if not file.stat().st_size:
        raise OSError("it is empty, but a compressed file is not")
    if file.name.endswith(".gz"):
        return gzip.open(file, "rb")
    return io.BufferedReader(pa.CompressedInputStream(pa.OSFile(str(file)), "zstd"))


def _csv_rows(
    lines: _Lines, columns: Sequence[str], optional: Sequence[str]
) -> Iterator[tuple[int, Sequence[str] | str]]:
    reader = csv.reader(lines, strict=True)
    line = 1
    try:
        header = next(reader, [])
        check_columns(lines.place(1), header, columns, optional)
        order = [header.index(column) if column in header else None for column in (*columns, *optional)]
        lines.begin_row()
        line = reader.line_num + 1
        for row in reader:
            if len(row) == len(header):
                yield lines.number(line), ["" if at is None else row[at] for at in order]
            elif row:
                yield lines.number(line), f"has {len(row)} values, not {len(header)}; write {','.join(header)}"
            lines.begin_row()
            line = reader.line_num + 1
    except csv.Error as error:
        quoting = "quote a value that contains a comma or a quote, and double the quotes in it"
        if "new-line character" in str(error):
            ends = "a line ends with a carriage return alone; convert the file to line feeds, or quote such a value"
            raise InvalidInput(f"{lines.place(line)}: {ends}") from None
        remedy = "shorten the value" if "field limit" in str(error) else quoting
        raise InvalidInput(f"{lines.place(line)}: {error}; {remedy}") from None


def _json_rows(
    lines: _Lines, columns: Sequence[str], optional: Sequence[str]
) -> Iterator[tuple[int, Sequence[str] | str]]:
    example = json.dumps(dict.fromkeys(columns, "..."))
    for text in lines:
        lines.begin_row()
        if not text.strip():
            continue
        number = lines.number(lines.line)
        try:
            row = read_json(text)
        except ValueError as error:
            yield number, f"{error}; each line must be one object, e.g. {example}"
            continue
        if isinstance(row, dict):
            row = {**row, **{column: "" for column in optional if row.get(column) is None}}
        wrong = _wrong_object(row, [*columns, *optional])
        yield number, f"{wrong}; write {example}" if wrong else [row[column] for column in (*columns, *optional)]


def _wrong_object(row: Any, columns: Sequence[str]) -> str | None:
    if not isinstance(row, dict):
        return "the line is not an object"
    for key in row:
        if key not in columns:
            return f"the column {key!r} is unknown"
    for column in columns:
        if column not in row:
            return f"the column {column!r} is missing"
        if row[column] is None:
            return f"the column {column!r} is null; give it a value"
        if not isinstance(row[column], str):
            return f"the column {column!r} is {short(json.dumps(row[column]))}, which is not a string"
        if _SURROGATE.search(row[column]):
            return f"the column {column!r} must be a string without unpaired surrogates"
    return None
