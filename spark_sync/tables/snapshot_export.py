"""`grantpath export`: the tables of a snapshot for other engines, as Delta or Iceberg tables."""

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, assert_never, get_args

import pyarrow as pa

from grantpath.engine.facts.snapshot.current_folder import VERSIONS
from grantpath.engine.facts.snapshot.snapshot_reader import CHANGES, TABLES
from grantpath.graph.errors import InvalidInput
from grantpath.graph.extras import require_extra
from grantpath.graph.files.remote_path import AnyPath, local_path
from grantpath.graph.messages import counted, short
from grantpath.graph.progress import ReportLine
from grantpath.spark_sync.session.snapshot import Snapshot
from grantpath.spark_sync.versions.snapshot_folders import building

Format = Literal["delta", "iceberg"]
_NO_PATH = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff#?%\\]")  # libraries disagree about these characters in locations


@dataclass(frozen=True)
class ExportedTable:
    """A table that `export` wrote. `path`: the folder of a Delta table, or the metadata file of an Iceberg table."""

    name: str
    rows: int
    path: Path


@dataclass(frozen=True)
class SnapshotExport:
    """A summary of the tables that `export` wrote."""

    folder: Path
    format: Format
    root: str
    revision: int
    tables: list[ExportedTable]
    seconds: float


class _Writer(Protocol):
    """Writes tables of one format."""

    def write(self, name: str, schema: pa.Schema, tables: Iterable[pa.Table]) -> Path: ...

    def close(self) -> None: ...


def export(snapshot: AnyPath | str, out: Path | str, format: Format, progress: ReportLine) -> SnapshotExport:
    """Writes the tables of a snapshot into the new folder `out`, as Delta or Iceberg tables; completely or not at all.

    It exports the tables that the snapshot has: objects, subjects, members, closure and intervals; after `access` also
    names, reach and exposure; after `access --expand` also expand. The changes that `follow` writes are not exported.
    Columns, types and the order of the rows are the same as in the snapshot. Each table and its commit have the
    properties `grantpath.root`, `grantpath.revision`, `grantpath.policy`, `grantpath.policy_digest` and
    `grantpath.created`. Rows are streamed, so the export needs about the memory of one row group. An export is not a
    backup; `grantpath dump` writes one.

    Raises InvalidInput if the snapshot cannot be read or is incomplete, `out` exists, cannot be created or contains a
    character that locations cannot contain, or the format is unknown; ModuleNotFoundError if the format's extra is not
    installed; GrantpathError if the disk is full.
    """
    if format not in get_args(Format):
        raise InvalidInput(f"format {short(str(format))!r} is unknown; choose {' or '.join(get_args(Format))}")
    require_extra(format, f"export as {format}")
    target = local_path(out)
    if _NO_PATH.search(path := str(target.absolute())):
        raise InvalidInput(
            f"{path!r}: the path of {format} tables cannot contain #, ?, %, \\ or control characters; name another"
        )
    started = time.monotonic()
    source = Snapshot(snapshot)
    names = _tables(source)
    made: list[ExportedTable] = []
    with building(target) as folder:
        writer = _writer(format, folder, target, _properties(source))
        try:
            for name in names:
                made.append(_write(source, name, writer, progress))
        finally:
            writer.close()
    meta = source.meta
    return SnapshotExport(target, format, meta.root, meta.revision, made, time.monotonic() - started)


def _tables(source: Snapshot) -> list[str]:
    """The tables of the snapshot. Raises InvalidInput if a required table does not exist."""
    found = []
    for name in (each for each in TABLES if each != CHANGES):
        if source.has(name):
            found.append(name)
        elif name != "access/expand" and any(each.name != VERSIONS for each in source.place(name).parent.glob("*")):
            raise InvalidInput(f"{(source.folder / name)} does not exist; write the snapshot again")
    return found


def _properties(source: Snapshot) -> dict[str, str]:
    meta = source.meta
    return {
        "grantpath.root": meta.root,
        "grantpath.revision": str(meta.revision),
        "grantpath.policy": meta.policy,
        "grantpath.policy_digest": meta.policy_digest,
        "grantpath.created": meta.created,
    }


def _writer(format: Format, fresh: Path, out: Path, properties: dict[str, str]) -> _Writer:
    match format:
        case "delta":
            from grantpath.spark_sync.tables.delta_tables import DeltaTables

            return DeltaTables(fresh, out, properties)
        case "iceberg":
            from grantpath.spark_sync.tables.iceberg_tables import IcebergTables

            return IcebergTables(fresh, out, properties)
        case _:
            assert_never(format)


def _write(source: Snapshot, name: str, writer: _Writer, progress: ReportLine) -> ExportedTable:
    """Writes one table. Raises InvalidInput if it cannot be read."""
    started = time.monotonic()
    stream = source.stream(name)
    own = name.rpartition("/")[2]
    path = writer.write(own, stream.schema, stream.tables)
    progress(f"wrote {own}: {counted(stream.rows, 'rows')} in {time.monotonic() - started:.0f} s")
    return ExportedTable(own, stream.rows, path)
