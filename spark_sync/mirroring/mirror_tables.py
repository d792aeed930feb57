"""The tables of a mirrored root in this process, as arrays of positions, and their Parquet files."""

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from grantpath.engine.facts.kernel.fact_table import FactTable
from grantpath.engine.facts.kernel.intervals import Bools, Ints
from grantpath.engine.facts.kernel.tree_order import Numbering
from grantpath.engine.facts.snapshot.interval_table import interval_columns
from grantpath.engine.facts.snapshot.snapshot_reader import SnapshotReader, ints
from grantpath.engine.policy.policy import Policy
from grantpath.graph.files.parquet_writer import open_writer
from grantpath.graph.files.remote_path import AnyPath, local_path
from grantpath.spark_sync.session.snapshot import write_table

Small = npt.NDArray[np.int32]
ROWS = 4_000_000  # rows of the closure that are written at a time


@dataclass(frozen=True)
class Members:
    """The direct memberships, sorted by source and target."""

    source: Ints
    target: Ints


@dataclass(frozen=True)
class EffectivePrincipals:
    """Every subject with its effective principals, itself included; sorted. The columns are large, so they have 32
    bits."""

    subject: Small
    holder: Small


@dataclass(frozen=True)
class MirrorTables:
    """All tables of a mirror. `facts` are sorted by principal, effect, privilege and place."""

    numbering: Numbering
    members: Members
    facts: FactTable
    closure: EffectivePrincipals

    @staticmethod
    def read(source: SnapshotReader) -> "MirrorTables":
        """The tables of a snapshot. Raises InvalidInput if one cannot be read."""
        members = source.table("members")
        parts = [np.empty((2, 0), np.int32)]
        for part in source.stream("closure").tables:
            parts.append(np.array([ints(part, "subject"), ints(part, "holder")], np.int32))
        subject, holder = np.concatenate(parts, axis=1)
        return MirrorTables(
            source.numbering,
            Members(ints(members, "source"), ints(members, "target")),
            source.fact_table,
            EffectivePrincipals(subject, holder),
        )

    def write(self, folder: Path, policy: Policy, former: "MirrorTables", written: AnyPath) -> None:
        """Writes the tables into the folder. A table that is the same as in `former` shares the files in `written`."""
        pairs = (
            (("objects", "subjects"), self.numbering is former.numbering),
            (("members",), self.members is former.members),
            (("intervals",), self.facts is former.facts),
            (("closure",), self.closure is former.closure),
        )
        for name in (name for names, same in pairs for name in names if same):
            _share(local_path(written) / name, folder / name)
        if self.numbering is not former.numbering:
            write_entities(folder, self.numbering, policy)
        if self.members is not former.members:
            write_members(folder, self.numbering, policy, self.members)
        if self.facts is not former.facts:
            write_table(folder, "intervals", interval_columns(self.facts))
        if self.closure is not former.closure:
            _write_closure(folder, self.closure)


def write_entities(folder: AnyPath, numbering: Numbering, policy: Policy) -> Ints:
    """Writes the tables `objects` and `subjects`. Returns the positions of the subjects."""
    types, refs = np.array(numbering.types)[numbering.type], pa.array(numbering.refs)
    write_table(
        folder,
        "objects",
        {
            "position": np.arange(len(numbering)),
            "last": numbering.last,
            "parent": numbering.parent,
            "ref": refs,
            "type": types,
            "exists": numbering.exists,
            "builtin": numbering.builtin,
            "hidden": pc.is_in(refs, pa.array(policy.hidden, pa.string())),
        },
        distinct=("ref",),
    )
    found = np.flatnonzero(are_subjects(numbering, policy))
    subjects = {"position": found, "ref": refs.take(pa.array(found)), "type": types[found]}
    write_table(folder, "subjects", subjects, distinct=("ref",))
    return found


def are_subjects(numbering: Numbering, policy: Policy) -> Bools:
    """By position: whether the entity is a subject."""
    subject_types = [numbering.types.index(name) for name in policy.names.subject_types]
    chosen: Bools = np.isin(numbering.type, subject_types)
    return chosen


def write_members(folder: AnyPath, numbering: Numbering, policy: Policy, members: Members) -> None:
    """Writes the table `members`. The type of a container decides the kind of the membership."""
    roles = [numbering.types.index(name) for name in policy.role_types]
    kind = np.where(np.isin(numbering.type[members.target], roles), "HAS_ROLE", "MEMBER_OF")
    columns: Mapping[str, Any] = {
        "source": members.source,
        "target": members.target,
        "kind": pa.array(kind, pa.string()),
    }
    write_table(folder, "members", columns)


def _write_closure(folder: Path, closure: EffectivePrincipals) -> None:
    (folder / "closure").mkdir()
    schema = pa.schema([("subject", pa.int64()), ("holder", pa.int64())])
    with open_writer(folder / "closure" / "part-00000.parquet", schema) as writer:
        for part in _parts(closure):
            writer.write_table(pa.table(part, schema))


def _parts(closure: EffectivePrincipals) -> Iterator[dict[str, Ints]]:
    for begin in range(0, max(len(closure.subject), 1), ROWS):
        some = slice(begin, begin + ROWS)
        yield {"subject": closure.subject[some].astype(np.int64), "holder": closure.holder[some].astype(np.int64)}


def _share(table: Path, target: Path) -> None:
    """Shares the files of a table with another folder: as hard links, or as copies if links are not possible."""
    target.mkdir()
    for file in table.glob("*.parquet"):
        try:
            os.link(file, target / file.name)
        except OSError:
            shutil.copyfile(file, target / file.name)
