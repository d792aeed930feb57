"""Reads a snapshot on disk: Parquet tables and their metadata. docs/snapshot.md describes the format."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from grantpath.engine.facts.kernel.fact_table import FactTable
from grantpath.engine.facts.kernel.intervals import Ints
from grantpath.engine.facts.kernel.principals import Closure, Roles
from grantpath.engine.facts.kernel.tree_order import Numbering
from grantpath.engine.facts.snapshot.current_folder import current_version, kept_folder, read_small, unreachable
from grantpath.engine.facts.snapshot.interval_table import keys_of
from grantpath.engine.facts.snapshot.stored_refs import StoredRefs
from grantpath.engine.policy.policy import Policy, from_source, is_digest
from grantpath.engine.policy.schema import UPGRADE
from grantpath.graph.errors import InvalidInput, InvalidPolicy
from grantpath.graph.files.bounded_parquet import Kind, TableStream, codes, read_bounded, row_count, stream_bounded
from grantpath.graph.files.remote_path import AnyPath, path_at
from grantpath.graph.guard.revision_marks import MOST_REVISIONS
from grantpath.graph.language.ends import end_text
from grantpath.graph.language.reference import Reference
from grantpath.graph.messages import short

POLICY_FILE = "policy.json"
CHANGES = "changes"  # the table of what users gained and lost; `follow` appends to it
ACCESS = "access"  # the folder of the bulk answers
TABLES: Mapping[str, Mapping[str, Kind]] = {
    "objects": {
        "position": "int",
        "last": "int",
        "parent": "int",
        "ref": "text",
        "type": "text",
        "exists": "bool",
        "builtin": "bool",
        "hidden": "bool",
    },
    "subjects": {"position": "int", "ref": "text", "type": "text"},
    "members": {"source": "int", "target": "int", "kind": "text"},
    "closure": {"subject": "int", "holder": "int"},
    "intervals": {
        "holder": "int",
        "effect": "text",
        "privilege": "text",
        "type": "text",
        "start": "int",
        "last": "int",
    },
    CHANGES: {
        "revision": "int",
        "effect": "text",
        "user": "text",
        "name": "text",
        "type": "text",
        "object": "text",
        "below": "bool",
    },
    "access/names": {"name": "text", "type": "text", "condition": "int"},
    "access/reach": {"subject": "int", "name": "text", "type": "text", "objects": "int"},
    "access/exposure": {"position": "int", "name": "text", "type": "text", "users": "int"},
    "access/expand": {"subject": "int", "name": "text", "type": "text", "start": "int", "last": "int"},
}


def _time(text: str) -> str:
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError("a time needs its zone")
    return text


def _end(text: str) -> str:
    try:
        return end_text(text)
    except InvalidInput as error:
        raise ValueError(str(error)) from None


class SnapshotMeta(BaseModel):
    """The content of meta.json.

    `ends`: no fact of the snapshot ends before this time. None: none has an end, or an earlier version wrote the
    snapshot.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    schema_version: Literal[3] = 3
    root: str
    made: str | None = None  # the root's creation id; snapshots of earlier versions have none
    revision: Annotated[int, Field(ge=0, lt=MOST_REVISIONS)]
    policy: str
    policy_digest: str
    created: Annotated[str, AfterValidator(_time)]
    closed_by: str
    ends: Annotated[str, AfterValidator(_end)] | None = None
    counts: dict[str, int]


class SnapshotReader:
    """A complete snapshot, by its path or URI. Raises InvalidInput if the folder is not one."""

    def __init__(self, folder: AnyPath | str) -> None:
        self._given = kept_folder(path_at(folder))
        self.folder = current_version(self._given)
        self._counted = set[str]()  # the tables whose number of rows was found to be right
        try:
            self.meta = SnapshotMeta.model_validate_json(read_small(self.folder / "meta.json"))
        except (OSError, ValueError) as error:
            if problem := unreachable(self.folder, error):
                raise problem from None
            absent = isinstance(error, FileNotFoundError)  # of an impossible path, `exists` would raise
            nowhere = absent and isinstance(self._given, Path) and not self._given.exists()
            reason = f"is not a snapshot of this version ({type(error).__name__} in meta.json); write one"
            what = "does not exist; write a snapshot" if nowhere else reason
            raise InvalidInput(f"{short(str(self.folder))} {what} with `grantpath mirror OUT`") from None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.named_folder}, {self.meta.root} at revision {self.meta.revision}>"

    @property
    def named_folder(self) -> AnyPath:
        """The folder that was named. It may have several versions, one of which is `folder`."""
        return self._given

    @cached_property
    def policy(self) -> Policy:
        """The policy at the snapshot's revision."""
        path = self.folder / POLICY_FILE
        try:
            source = read_small(path)
            found = from_source(source)
        except (OSError, ValueError, InvalidPolicy) as error:
            if UPGRADE in str(error):
                raise InvalidInput(f"{path}: {error}") from None
            raise InvalidInput(f"{path}: cannot be read ({type(error).__name__}); write the snapshot again") from None
        if not is_digest(self.meta.policy_digest, source):
            raise InvalidInput(
                f"{path} was changed or damaged: its sha256 differs from the one in meta.json; write the snapshot again"
            )
        return found

    @cached_property
    def root(self) -> Reference:
        """The reference of the root object."""
        return self.policy.root(self.numbering.refs[0])

    def table(self, name: str, columns: Sequence[str] | None = None, chosen: pads.Expression | None = None) -> pa.Table:
        """A table of the snapshot, with dictionaries for strings. Raises InvalidInput if it cannot be read."""
        found = read_bounded(self.files(name), TABLES[name], columns, chosen)
        self.require_rows(name, len(found) if chosen is None else None)
        return self._complete(name, found)

    def stream(self, name: str) -> TableStream:
        """The same table with plain strings, in parts of a bounded size, in the order of its files.

        Raises InvalidInput if the table cannot be read; its iterator does, too.
        """
        found = stream_bounded(self.files(name), TABLES[name])
        self.require_rows(name, found.rows)
        return replace(found, tables=(self._complete(name, each) for each in found.tables))

    def place(self, name: str) -> AnyPath:
        """The folder of a table."""
        if name == CHANGES:
            return self._given / name
        folder, _, own = name.rpartition("/")
        return self._access / own if folder == ACCESS else self.folder / name

    @cached_property
    def _access(self) -> AnyPath:
        return current_version(self.folder / ACCESS)

    def has(self, name: str) -> bool:
        """Whether the snapshot has a table."""
        return self.place(name).exists()

    def files(self, name: str) -> list[AnyPath]:
        """The part files of a table, in the order of the rows. Raises InvalidInput if there is none."""
        path = self.place(name)
        files: list[AnyPath] = sorted(path.glob("*.parquet"))
        if not files:
            remedy = f"run `grantpath follow {self._given}`" if name == CHANGES else "write the snapshot again"
            raise InvalidInput(f"{path}: contains no Parquet file; {remedy}")
        return files

    def require_rows(self, name: str, rows: int | None = None) -> None:
        """Raises InvalidInput if a table of the mirror has another number of rows than the mirror wrote: a file is
        missing then, and answers would be wrong. `rows` is the number if it is known; otherwise it is read."""
        if name in self.meta.counts and name not in self._counted:
            rows = row_count(self.files(name)) if rows is None else rows
            if rows != self.meta.counts[name]:
                raise self._broken(name, f"has {rows:,} rows, not {self.meta.counts[name]:,} as in meta.json")
            self._counted.add(name)

    def require_complete(self) -> None:
        """Raises InvalidInput if a table of the mirror lacks rows, for jobs in which Spark reads the files itself."""
        for name in self.meta.counts:
            self.require_rows(name)

    def _complete(self, name: str, table: pa.Table) -> pa.Table:
        for column in table.column_names:
            if table[column].null_count:
                raise self._broken(name, f"the column {column!r} has empty values")
        self.require_same()
        return table

    def require_same(self) -> None:
        """Raises InvalidInput if the files that are read were replaced since the snapshot was opened. Only its first
        update does that; a later one writes other files."""
        if isinstance(self._given, Path) and self.folder == self._given != current_version(self._given):
            raise InvalidInput(f"{self._given} was updated while it was read; run the command again")

    def _broken(self, table: str, what: str) -> InvalidInput:
        return InvalidInput(f"{self.folder / table}: {what}; write the snapshot again")

    def _positions(self, name: str, table: pa.Table, column: str, least: int = 0) -> Ints:
        """A column of positions. Raises InvalidInput if one of them is not the position of an entity."""
        values = ints(table, column)
        if len(values) and not least <= values.min() <= values.max() < len(self.numbering):
            raise self._broken(name, f"the column {column!r} names positions that are not in `objects`")
        return values

    @property
    def numbering(self) -> Numbering:
        """The entities in tree order."""
        return self._entities[0]

    @property
    def refs(self) -> StoredRefs:
        """The references in tree order."""
        return self._entities[1]

    @cached_property
    def _entities(self) -> tuple[Numbering, StoredRefs]:
        table = self.table("objects")
        refs = StoredRefs.of(table["ref"])
        kind, found = codes(table["type"])
        types = tuple(self.policy.names.types)
        if refs is None:
            raise self._broken("objects", "it has duplicate references")
        if unknown := set(found.to_pylist()) - {*types}:
            raise self._broken("objects", f"the policy has no type {short(min(unknown))!r}")
        at, parent, last = np.arange(len(table)), ints(table, "parent"), ints(table, "last")
        tree = (parent >= -1) & (parent < at) & (at <= last) & (last < len(table))
        if not (tree & (ints(table, "position") == at)).all():
            raise self._broken("objects", "the positions do not form a tree")
        numbering = Numbering(
            refs,
            pa.compute.index_in(found, pa.array(types)).take(kind).to_numpy().astype(np.int16),
            parent,
            last,
            table["exists"].to_numpy(),
            table["builtin"].to_numpy(),
            types,
        )
        return numbering, refs

    @cached_property
    def fact_table(self) -> FactTable:
        table = self.table("intervals")
        try:
            key, keys = keys_of(table)
        except ValueError as error:
            raise self._broken("intervals", str(error)) from None
        principal, place = (self._positions("intervals", table, column) for column in ("holder", "start"))
        return FactTable(self.numbering, principal, key, place, keys)

    @cached_property
    def roles(self) -> Roles:
        table = self.table("members", chosen=pads.field("kind") == "HAS_ROLE").sort_by("source")
        return Roles(self._positions("members", table, "source"), self._positions("members", table, "target"))

    @property
    def memberships(self) -> Iterator[tuple[int, int]]:
        """The direct memberships as pairs of positions: the member, and the group or role."""
        table = self.table("members")
        ends = (self._positions("members", table, column).tolist() for column in ("source", "target"))
        return zip(*ends, strict=True)

    @cached_property
    def hidden(self) -> Ints:
        """The positions of entities that answers omit."""
        found = (self.refs.find(ref) for ref in self.policy.hidden)
        return np.array(sorted(at for at in found if at is not None), np.int64)

    def closure(self, subjects: Ints | None = None, principals: Ints | None = None) -> Closure:
        """The effective principals of these subjects, or of all subjects. With `principals`, the others are omitted."""
        if subjects is None:
            tables = self.stream("closure").tables  # all rows at once would take much memory
        else:
            field, ends = pads.field("subject"), np.sort(subjects)[[0, -1]].tolist() if len(subjects) else [0, -1]
            # comparing the lowest and highest subject lets Arrow skip files
            chosen = (field >= ends[0]) & (field <= ends[1]) & field.isin(subjects)
            tables = iter([self.table("closure", chosen=chosen)])
        wanted = np.ones(len(self.numbering), np.bool_)
        if principals is not None:
            wanted[:] = False
            wanted[principals] = True
        parts = [np.empty((2, 0), np.int64)]
        for table in tables:
            subject, principal = (self._positions("closure", table, column) for column in ("subject", "holder"))
            parts.append(np.stack([subject, principal])[:, wanted[principal]])
        subject, principal = np.concatenate(parts, axis=1)
        order = np.argsort(subject, kind="stable")
        return Closure.of(subject[order], principal[order], len(self.numbering))

    def closure_rows(self, files: slice, low: int, high: int) -> Iterator[tuple[Ints, Ints]]:
        """The subjects from `low` to before `high` in these files of the closure, each with its effective principals.

        Rows come in parts, sorted by subject. Raises InvalidInput if they cannot be read, or are not sorted.
        """
        chosen_files = self.files("closure")[files]
        if not chosen_files:  # no file has a row of this range
            return
        before = low
        for table in stream_bounded(chosen_files, TABLES["closure"]).tables:
            rows = self._complete("closure", table)
            subject, principal = (self._positions("closure", rows, column) for column in ("subject", "holder"))
            chosen = (low <= subject) & (subject < high)
            subject, principal = subject[chosen], principal[chosen]
            if len(subject):
                if subject[0] < before or (subject[1:] < subject[:-1]).any():
                    raise self._broken("closure", "the rows are not sorted by subject")
                before = int(subject[-1])
                yield subject, principal


def ints(table: pa.Table, name: str) -> Ints:
    """A column as numpy integers."""
    column: Ints = table[name].to_numpy().astype(np.int64)
    return column
