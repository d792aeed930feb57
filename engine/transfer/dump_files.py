"""Writes the files of a dump row by row, closed to other users, and counts and hashes their contents."""

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC
from pathlib import Path
from typing import Any, Literal, Protocol

import neo4j.time
import pyarrow as pa
import pyarrow.parquet as pq

from grantpath.engine.transfer.dump_meta import META
from grantpath.engine.transfer.table_files import UNFINISHED
from grantpath.engine.transfer.table_formats import Format
from grantpath.graph.errors import InvalidInput
from grantpath.graph.files.csv_text import csv_line
from grantpath.graph.files.private_files import create_private, make_private, not_created

PART = 50_000  # rows that are buffered until they are written


class Sink(Protocol):
    """A binary file, as the writers of rows need it."""

    def write(self, data: bytes, /) -> object:
        """Writes more bytes."""


class Hashed(io.RawIOBase):
    """A file that is written once, from start to end, and hashed meanwhile."""

    def __init__(self, file: Path) -> None:
        self._file = create_private(file)
        self._hash = hashlib.sha256()

    def writable(self) -> bool:
        """The Parquet writer asks for this."""
        return True

    def write(self, data: Any, /) -> int:
        """Writes more bytes."""
        self._hash.update(data)
        return self._file.write(data)

    def close(self) -> None:
        """Raises OSError if the last bytes cannot be written."""
        if not self.closed:
            self._file.close()
        super().close()

    @property
    def sha256(self) -> str:
        """The hash of the bytes written so far."""
        return self._hash.hexdigest()


class Lines:
    """Writes rows as CSV or JSON lines."""

    def __init__(self, sink: Sink, columns: Sequence[str], format_: Literal["csv", "jsonl"]) -> None:
        self._sink = sink
        self._columns = columns
        self._format = format_
        if format_ == "csv":
            self.write([columns])

    def write(self, rows: Sequence[Sequence[str]]) -> None:
        """Writes more rows."""
        text = io.StringIO(newline="")
        if self._format == "csv":
            text.writelines(map(csv_line, rows))
        else:
            for row in rows:
                text.write(json.dumps(dict(zip(self._columns, row, strict=True)), ensure_ascii=False) + "\n")
        self._sink.write(text.getvalue().encode())

    def close(self) -> None:
        """Does nothing: these formats have no footer."""


class Parquet:
    """Writes rows as Parquet, each part as one row group."""

    def __init__(self, sink: Any, columns: Sequence[str]) -> None:
        self._schema = pa.schema([(column, pa.string()) for column in columns])
        self._writer = pq.ParquetWriter(sink, self._schema)

    def write(self, rows: Sequence[Sequence[str]]) -> None:
        """Writes more rows."""
        columns = [[row[at] for row in rows] for at in range(len(self._schema))]
        self._writer.write_table(pa.table(columns, schema=self._schema))

    def close(self) -> None:
        """Writes the footer."""
        self._writer.close()


class Contents:
    """Counts and hashes the rows of a file, independently of its format."""

    def __init__(self, rows: Iterable[object] = ()) -> None:
        self.rows = 0
        self._hash = hashlib.sha256()
        for row in rows:
            self.add(row)

    def add(self, row: object) -> None:
        """Adds a row, which consists of strings, numbers, lists and maps."""
        self.rows += 1
        self._hash.update(repr(row).encode("utf-8", "surrogatepass") + b"\n")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Contents) and self._hash.digest() == other._hash.digest()

    __hash__ = None  # type: ignore[assignment]


class Writer:
    """One table file of a dump. Rows are buffered, and written in parts."""

    def __init__(self, file: Path, columns: Sequence[str], format_: Format) -> None:
        self.name = file.name
        self._width = len(columns)
        self.contents = Contents()
        self._sink = Hashed(file)
        self._out = Parquet(self._sink, columns) if format_ == "parquet" else Lines(self._sink, columns, format_)
        self._part: list[Sequence[str]] = []

    def add(self, row: Sequence[str]) -> None:
        """Adds a row, which may lack values for the last columns. Further values are left out: they show that the root
        changed since the columns were chosen, so the dump is repeated."""
        row = [*row, *[""] * (self._width - len(row))][: self._width]
        self._part.append(row)
        self.contents.add(row)
        if len(self._part) == PART:
            self._flush()

    def _flush(self) -> None:
        if self._part:
            self._out.write(self._part)
            self._part = []

    def finish(self) -> str:
        """Writes the buffered rows. Returns the sha256."""
        self._flush()
        self._out.close()
        self._sink.close()
        return self._sink.sha256

    def abandon(self) -> None:
        """Closes the file without the buffered rows."""
        with suppress(OSError):
            self._sink.close()


class Notes:
    """A file of entries as JSON lines, with properties of any type."""

    def __init__(self, file: Path) -> None:
        self.name = file.name
        self.contents = Contents()
        self._sink = Hashed(file)

    def add(self, kept: Mapping[str, Any]) -> None:
        """Writes an entry."""
        columns = {name: as_json(value) for name, value in sorted(kept.items()) if name != "root"}
        self._sink.write((json.dumps(columns, ensure_ascii=False) + "\n").encode())
        self.contents.add(columns)

    def finish(self) -> str:
        """Closes the file. Returns the sha256."""
        self._sink.close()
        return self._sink.sha256

    def abandon(self) -> None:
        """Closes the file."""
        with suppress(OSError):
            self._sink.close()


def as_json(value: Any) -> Any:
    """A property as JSON, for `from_json`; a time becomes a map, since no property is a map."""
    return {"datetime": value.iso_format()} if isinstance(value, neo4j.time.DateTime) else value


def from_json(value: Any) -> Any:
    """The property from which `as_json` made this value. Raises ValueError."""
    if isinstance(value, dict):
        at = neo4j.time.DateTime.from_iso_format(value["datetime"])
        # Neo4j would store the parser's UTC as a zone name, but the server wrote the time with an offset.
        return at if at.utcoffset() else at.replace(tzinfo=UTC)
    return value


def writers(directory: Path, format_: Format, tables: Mapping[str, Sequence[str]]) -> dict[str, Writer]:
    """A writer for each of these tables, which are given with their columns."""
    return {name: Writer(directory / f"{name}.{format_}", columns, format_) for name, columns in tables.items()}


@contextmanager
def filling(directory: Path) -> Iterator[Callable[[Writer | Notes], None]]:
    """Creates or opens an empty folder, and marks it as unfinished until the block ends.

    Yields a function that must be called with each writer. If the block raises, the files are removed again. Raises
    InvalidInput if the folder is not empty, e.g. because another dump is writing it, or cannot be created or written.
    """
    mark, new, made = directory / UNFINISHED, False, False
    opened: list[Writer | Notes] = []
    try:
        new = not directory.exists()
        make_private(directory)
        made = True
        create_private(mark).close()
        with ExitStack() as stack:
            stack.callback(mark.unlink)
            if list(directory.iterdir()) != [mark]:
                raise FileExistsError
            try:
                yield opened.append
            except BaseException:
                for writer in opened:
                    writer.abandon()
                for name in (*(writer.name for writer in opened), META):
                    (directory / name).unlink(missing_ok=True)
                raise
    except BaseException as error:
        if new:
            with suppress(OSError):
                directory.rmdir()
        if isinstance(error, OSError) and not made:
            raise not_created(directory, error) from None
        if isinstance(error, FileExistsError):
            raise InvalidInput(f"{directory} exists and is not empty; name a new or empty folder") from None
        if isinstance(error, OSError):
            raise InvalidInput(
                f"{directory} cannot be written: {error.strerror or error}; name another folder"
            ) from None
        raise
