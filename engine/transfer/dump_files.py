"""Writes the files of a dump row by row, closed to others, each with its count and its sha256."""

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from grantpath.engine.transfer.tables import TABLES
from grantpath.graph.errors import InvalidInput
from grantpath.graph.private_files import create_private, make_private

PART = 50_000  # rows that are kept until they are written


class Sink(Protocol):
    """Where the bytes of a file go."""

    def write(self, data: bytes, /) -> object:
        """More of them."""


class Hashed(io.RawIOBase):
    """A file that is written once, from start to end, and hashed on the way."""

    def __init__(self, file: Path) -> None:
        self._file = create_private(file)
        self._hash = hashlib.sha256()

    def writable(self) -> bool:
        """For the writer of Parquet."""
        return True

    def write(self, data: Any, /) -> int:
        """More bytes."""
        self._hash.update(data)
        return self._file.write(data)

    def close(self) -> None:
        """Raises OSError where the last bytes cannot be written."""
        if not self.closed:
            self._file.close()
        super().close()

    @property
    def sha256(self) -> str:
        """Of what was written so far."""
        return self._hash.hexdigest()


class Lines:
    """Rows of CSV or JSON lines."""

    def __init__(self, sink: Sink, columns: Sequence[str], format_: Literal["csv", "jsonl"]) -> None:
        self._sink = sink
        self._columns = columns
        self._format = format_
        if format_ == "csv":
            self.write([columns])

    def write(self, rows: Sequence[Sequence[str]]) -> None:
        """More rows."""
        text = io.StringIO(newline="")
        if self._format == "csv":
            csv.writer(text, lineterminator="\n").writerows(rows)
        else:
            for row in rows:
                text.write(json.dumps(dict(zip(self._columns, row, strict=True)), ensure_ascii=False) + "\n")
        self._sink.write(text.getvalue().encode())

    def close(self) -> None:
        """Nothing is left to be written."""


class Parquet:
    """Rows of Parquet, a row group a part."""

    def __init__(self, sink: Any, columns: Sequence[str]) -> None:
        self._schema = pa.schema([(column, pa.string()) for column in columns])
        self._writer = pq.ParquetWriter(sink, self._schema)

    def write(self, rows: Sequence[Sequence[str]]) -> None:
        """More rows."""
        columns = [[row[at] for row in rows] for at in range(len(self._schema))]
        self._writer.write_table(pa.table(columns, schema=self._schema))

    def close(self) -> None:
        """Writes the footer."""
        self._writer.close()


class Writer:
    """One file of a dump: rows are collected, and written in parts."""

    def __init__(self, file: Path, columns: Sequence[str], format_: Format) -> None:
        self.name = file.name
        self.rows = 0
        self._sink = Hashed(file)
        self._out = Parquet(self._sink, columns) if format_ == "parquet" else Lines(self._sink, columns, format_)
        self._part: list[Sequence[str]] = []

    def add(self, row: Sequence[str]) -> None:
        """One more row."""
        self._part.append(row)
        self.rows += 1
        if len(self._part) == PART:
            self._flush()

    def _flush(self) -> None:
        if self._part:
            self._out.write(self._part)
            self._part = []

    def finish(self) -> str:
        """Writes what is left. Returns the sha256."""
        self._flush()
        self._out.close()
        self._sink.close()
        return self._sink.sha256

    def abandon(self) -> None:
        """Closes it without what is left."""
        with suppress(OSError):
            self._sink.close()


class Notes:
    """A file of entries as JSON lines, with properties of any kind."""

    def __init__(self, file: Path) -> None:
        self.name = file.name
        self.rows = 0
        self._sink = Hashed(file)

    def add(self, kept: Mapping[str, Any]) -> None:
        """One more entry."""
        columns = {name: as_json(value) for name, value in sorted(kept.items()) if name != "root"}
        self._sink.write((json.dumps(columns, ensure_ascii=False) + "\n").encode())
        self.rows += 1

    def finish(self) -> str:
        """Returns the sha256."""
        self._sink.close()
        return self._sink.sha256

    def abandon(self) -> None:
        """Closes it."""
        with suppress(OSError):
            self._sink.close()


def as_json(value: Any) -> Any:
    """A property as JSON; a time is a map, which no property is. `from_json` reads it."""
    return {"datetime": value.iso_format()} if isinstance(value, neo4j.time.DateTime) else value


def from_json(value: Any) -> Any:
    """The property. Raises ValueError."""
    if isinstance(value, dict):
        at = neo4j.time.DateTime.from_iso_format(value["datetime"])
        # as an offset, as the server wrote it; the parser's UTC would be stored as the name of a zone
        return at if at.utcoffset() else at.replace(tzinfo=UTC)
    return value


def writers(directory: Path, format_: Format) -> dict[str, Writer]:
    """A writer for each table."""
    return {name: Writer(directory / f"{name}.{format_}", columns, format_) for name, columns in TABLES.items()}


@contextmanager
def filling(directory: Path) -> Iterator[Callable[[Writer | Notes], None]]:
    """Keeps others out of a new or empty folder, and marks it for the case that this process is killed.

    Yields what is to be called with each writer. What fails leaves the folder as it was. Raises InvalidInput.
    """
    mark, new = directory / UNFINISHED, not directory.exists()
    opened: list[Writer | Notes] = []
    try:
        make_private(directory)
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
        if isinstance(error, FileExistsError | NotADirectoryError):
            raise InvalidInput(f"{directory} exists and is not empty; name a new or empty folder") from None
        if isinstance(error, OSError):
            raise InvalidInput(
                f"{directory} cannot be written: {error.strerror or error}; name another folder"
            ) from None
        raise
