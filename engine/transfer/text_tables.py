"""Reads the tables of a bulk import from CSV and JSON lines, row by row."""

import csv
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from grantpath.engine.transfer import tables
from grantpath.engine.transfer.tables import MAX_LINE_BYTES, Column, Problems, Table, check_columns, place
from grantpath.graph.errors import InvalidInput

_SURROGATE = re.compile("[\ud800-\udfff]")


class _Builder:
    """Builds a table row by row, and numbers the distinct values of each column."""

    def __init__(self, file: Path, columns: Sequence[str]) -> None:
        self._file = file
        self._columns = columns
        self._known: list[dict[str, int]] = [{} for _ in columns]
        self._codes: list[list[int]] = [[] for _ in columns]
        self._lines: list[int] = []

    def add(self, line: int, values: Sequence[str]) -> None:
        if len(self._lines) == tables.MAX_ROWS:
            raise InvalidInput(f"{place(self._file, line)}: more than {tables.MAX_ROWS:,} rows; load it in parts")
        self._lines.append(line)
        for known, codes, value in zip(self._known, self._codes, values, strict=True):
            codes.append(known.setdefault(value, len(known)))

    def table(self, name: str) -> Table:
        columns = {
            column: Column(np.array(codes, dtype=np.int64), list(known))
            for column, known, codes in zip(self._columns, self._known, self._codes, strict=True)
        }
        return Table(name, self._file, columns, np.array(self._lines, dtype=np.int64))


def read_csv(name: str, file: Path, columns: Sequence[str], problems: Problems) -> Table:
    builder = _Builder(file, columns)
    reader = csv.reader(_text_lines(file), strict=True)
    line = 1
    try:
        header = next(reader, [])
        check_columns(file, header, columns, 1)
        order = [header.index(column) for column in columns]
        line = reader.line_num + 1
        for row in reader:
            if len(row) == len(columns):
                builder.add(line, [row[at] for at in order])
            elif row:
                problems.line(file, line, f"has {len(row)} values, not {len(columns)}; write {','.join(header)}")
            line = reader.line_num + 1
    except csv.Error as error:
        raise InvalidInput(f"{place(file, line)}: {error}; quote a value that contains a comma or a quote") from None
    return builder.table(name)


def read_jsonl(name: str, file: Path, columns: Sequence[str], problems: Problems) -> Table:
    builder = _Builder(file, columns)
    example = json.dumps(dict.fromkeys(columns, "..."))
    for line, text in enumerate(_text_lines(file), 1):
        if not text.strip():
            continue
        try:
            row = json.loads(text, object_pairs_hook=_unique_keys)
        except (ValueError, RecursionError) as error:
            problems.line(file, line, f"{error}; each line must be one object, e.g. {example}")
            continue
        wrong = _wrong_object(row, columns)
        if wrong:
            problems.line(file, line, f"{wrong}; write {example}")
        else:
            builder.add(line, [row[column] for column in columns])
    return builder.table(name)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise ValueError("duplicate key")
    return row


def _wrong_object(row: Any, columns: Sequence[str]) -> str | None:
    if not isinstance(row, dict):
        return "the line is not an object"
    for key in row:
        if key not in columns:
            return f"the column {key!r} is unknown"
    for column in columns:
        if column not in row:
            return f"the column {column!r} is missing"
        if not isinstance(row[column], str) or _SURROGATE.search(row[column]):
            return f"the column {column!r} must be a string without unpaired surrogates"
    return None


def _text_lines(file: Path) -> Iterator[str]:
    """The lines of a file in UTF-8, with their line ends. Raises InvalidInput."""
    try:
        with file.open("rb") as opened:
            for number, line in enumerate(iter(lambda: opened.readline(MAX_LINE_BYTES + 1), b""), 1):
                if len(line) > MAX_LINE_BYTES:
                    raise InvalidInput(
                        f"{place(file, number)}: longer than {MAX_LINE_BYTES:,} bytes; write one row per line"
                    )
                try:
                    yield line.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError:
                    raise InvalidInput(f"{place(file, number)}: not UTF-8; write the file in UTF-8") from None
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}; check the file") from None
