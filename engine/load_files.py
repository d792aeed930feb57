"""Reads the files of a bulk import, one a table, and collects what is wrong with their rows."""

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from grantpath.graph.errors import InvalidInput
from grantpath.graph.reference import short

Ints = npt.NDArray[np.int64]
TABLES: Mapping[str, Sequence[str]] = {
    "subjects": ("ref",),
    "objects": ("ref",),
    "members": ("member", "of"),
    "owners": ("object", "owner"),
    "grants": ("effect", "privilege", "object", "subject"),
}
FORMATS = ("parquet", "csv", "jsonl")
# beside the tables while a dump writes them: a part of it reads like a smaller estate
UNFINISHED = "dump.unfinished"
SHOWN = 20
MAX_LINE_BYTES = 1_000_000
MAX_ROWS = 20_000_000  # a Parquet file says so before it is read: a small one may hold any number
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Column:
    """Values that repeat: each different one once, and for every row which it is."""

    codes: Ints
    values: Sequence[str]


@dataclass(frozen=True)
class Table:
    """One file: its columns, and for every row its line there (in Parquet its number)."""

    name: str
    file: Path | None
    columns: Mapping[str, Column]
    lines: Ints

    def __len__(self) -> int:
        return len(self.lines)


def place(file: Path, line: int) -> str:
    """How a message names a line of a file."""
    return f"{file}: row {line}" if file.suffix == ".parquet" else f"{file}:{line}"


@dataclass
class Problems:
    """What is wrong, by table and line; texts are made for those that are shown."""

    _found: list[tuple[Path, Ints, Callable[[int], str]]] = field(default_factory=list)

    def line(self, file: Path, line: int, text: str) -> None:
        """One line."""
        self._found.append((file, np.array([line], dtype=np.int64), lambda _: text))

    def rows(self, table: Table, rows: Ints, say: Callable[[int], str]) -> None:
        """Rows of a table that break a rule; `say(row)` tells what is wrong."""
        if table.file and len(rows):
            by_line = dict(zip(table.lines[rows].tolist(), rows.tolist(), strict=True))
            self._found.append((table.file, table.lines[rows], lambda line: say(by_line[line])))

    def raise_any(self) -> None:
        """Raises InvalidInput with the first ones and their number, if there are any."""
        lines = {(list(TABLES).index(file.stem), int(line)) for file, found, _ in self._found for line in found}
        if not lines:
            return
        texts = [self._text(list(TABLES)[table], line) for table, line in sorted(lines)[:SHOWN]]
        if len(lines) > SHOWN:
            texts.append(f"... and {len(lines) - SHOWN:,} more")
        rows = f"{len(lines):,} bad row{'s' * (len(lines) > 1)}"
        raise InvalidInput(f"nothing is loaded, {rows}:", *texts)

    def _text(self, table: str, line: int) -> str:
        file, say = next((file, say) for file, lines, say in self._found if file.stem == table and line in lines)
        return f"{place(file, line)}: {say(line)}"


def read(directory: Path, problems: Problems, progress: Callable[[int, int], None]) -> dict[str, Table]:
    """All tables of a folder; a missing file is an empty table. Rows that cannot be read go to `problems`.

    Raises InvalidInput for a folder or file that is wrong as a whole.
    """
    files = _files(directory)
    tables = {}
    for at, (name, columns) in enumerate(TABLES.items()):
        file = files.get(name)
        if file is None:
            tables[name] = Table(name, None, {column: Column(_none(), []) for column in columns}, _none())
        else:
            tables[name] = _READERS[file.suffix](name, file, columns, problems)
        progress(at + 1, len(TABLES))
    return tables


def _none() -> Ints:
    return np.empty(0, dtype=np.int64)


def _files(directory: Path) -> dict[str, Path]:
    try:
        listed = sorted(directory.iterdir())
    except (OSError, ValueError):
        raise InvalidInput(
            f"{short(str(directory))} is no folder: name one that holds {', '.join(TABLES)} as {_formats()}"
        ) from None
    if directory / UNFINISHED in listed:
        raise InvalidInput(
            f"{directory} holds a part of a dump, which was cut off or is under way; name another folder"
        )
    files: dict[str, Path] = {}
    for file in listed:
        if file.suffix.removeprefix(".") not in FORMATS:
            continue
        if file.stem in files:
            raise InvalidInput(f"{file}: {files[file.stem].name} is there too; keep one file for {file.stem}")
        if file.stem in TABLES:
            files[file.stem] = file
            if not file.is_file():
                raise InvalidInput(f"{file} is no plain file (a folder, a device, a pipe); write the table there")
        elif close := get_close_matches(file.stem.lower(), TABLES, n=1, cutoff=0.8):
            raise InvalidInput(f"{file} is no table: did you mean {close[0]}{file.suffix}?")
    if not files:  # whoever restores from it has named the wrong folder
        raise InvalidInput(
            f"{short(str(directory))} holds no table: name a folder with {', '.join(TABLES)} as {_formats()}"
        )
    return files


def _formats() -> str:
    return f".{FORMATS[0]}, .{FORMATS[1]} or .{FORMATS[2]}"


def _check_columns(file: Path, found: Sequence[str], wanted: Sequence[str], line: int | None) -> None:
    where = file if line is None else place(file, line)
    for name in found:
        if name not in wanted:
            raise InvalidInput(f"{where}: the column {name!r} is unknown; the columns are {', '.join(wanted)}")
    for name in wanted:
        if found.count(name) != 1:
            what = "missing" if name not in found else "there twice"
            raise InvalidInput(f"{where}: the column {name!r} is {what}; the columns are {', '.join(wanted)}")


# ---- Parquet -------------------------------------------------------------------------------------------------------
def _read_parquet(name: str, file: Path, columns: Sequence[str], problems: Problems) -> Table:
    try:
        with pq.ParquetFile(file) as parquet:
            _check_columns(file, parquet.schema_arrow.names, columns, None)
            if parquet.metadata.num_rows > MAX_ROWS:
                raise InvalidInput(f"{file}: more than {MAX_ROWS:,} rows; load it in parts")
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


# ---- CSV and JSON lines ------------------------------------------------------------------------------------------
class _Builder:
    """Takes rows one by one, and numbers the different values of each column."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        self._known: list[dict[str, int]] = [{} for _ in columns]
        self._codes: list[list[int]] = [[] for _ in columns]
        self._lines: list[int] = []

    def add(self, line: int, values: Sequence[str]) -> None:
        self._lines.append(line)
        for known, codes, value in zip(self._known, self._codes, values, strict=True):
            codes.append(known.setdefault(value, len(known)))

    def table(self, name: str, file: Path) -> Table:
        columns = {
            column: Column(np.array(codes, dtype=np.int64), list(known))
            for column, known, codes in zip(self._columns, self._known, self._codes, strict=True)
        }
        return Table(name, file, columns, np.array(self._lines, dtype=np.int64))


def _read_csv(name: str, file: Path, columns: Sequence[str], problems: Problems) -> Table:
    builder = _Builder(columns)
    reader = csv.reader(_text_lines(file), strict=True)
    line = 1
    try:
        header = next(reader, [])
        _check_columns(file, header, columns, 1)
        order = [header.index(column) for column in columns]
        line = reader.line_num + 1
        for row in reader:
            if len(row) == len(columns):
                builder.add(line, [row[at] for at in order])
            elif row:
                problems.line(file, line, f"{len(row)} values, not {len(columns)}: write {','.join(header)}")
            line = reader.line_num + 1
    except csv.Error as error:
        raise InvalidInput(f"{place(file, line)}: {error}; a value with a comma or a quote is put in quotes") from None
    return builder.table(name, file)


def _read_jsonl(name: str, file: Path, columns: Sequence[str], problems: Problems) -> Table:
    builder = _Builder(columns)
    example = json.dumps(dict.fromkeys(columns, "..."))
    for line, text in enumerate(_text_lines(file), 1):
        if not text.strip():
            continue
        try:
            row = json.loads(text, object_pairs_hook=_no_key_twice)
        except (ValueError, RecursionError) as error:
            problems.line(file, line, f"{error}; each line is one object, as {example}")
            continue
        wrong = _wrong_object(row, columns)
        if wrong:
            problems.line(file, line, f"{wrong}; write {example}")
        else:
            builder.add(line, [row[column] for column in columns])
    return builder.table(name, file)


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise ValueError("a key is there twice")
    return row


def _wrong_object(row: Any, columns: Sequence[str]) -> str | None:
    if not isinstance(row, dict):
        return "not an object"
    for key in row:
        if key not in columns:
            return f"the column {key!r} is unknown"
    for column in columns:
        if column not in row:
            return f"the column {column!r} is missing"
        if not isinstance(row[column], str) or _SURROGATE.search(row[column]):
            return f"the column {column!r} is not a text"
    return None


def _text_lines(file: Path) -> Iterator[str]:
    """The lines of a file in UTF-8, with their ends. Raises InvalidInput."""
    try:
        with file.open("rb") as opened:
            for number, line in enumerate(iter(lambda: opened.readline(MAX_LINE_BYTES + 1), b""), 1):
                if len(line) > MAX_LINE_BYTES:
                    raise InvalidInput(f"{place(file, number)}: longer than {MAX_LINE_BYTES:,} bytes; is this a table?")
                try:
                    yield line.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError:
                    raise InvalidInput(f"{place(file, number)}: this is not UTF-8; write the file in UTF-8") from None
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}; check the file") from None


_READERS: Mapping[str, Callable[[str, Path, Sequence[str], Problems], Table]] = {
    ".parquet": _read_parquet,
    ".csv": _read_csv,
    ".jsonl": _read_jsonl,
}
