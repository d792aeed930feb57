"""Small snapshots with bulk answers, written in this process without Spark, for the tests of reports."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa

from grantpath.engine.policy.policy import load
from grantpath.engine.tenants.tenant_state import Entity
from grantpath.graph.files.remote_path import RemotePath
from grantpath.spark_sync.bulk.bulk_questions import conditions, prepare, users
from grantpath.spark_sync.bulk.verification import intervals_of
from grantpath.spark_sync.mirroring.graph_rows import Graph
from grantpath.spark_sync.mirroring.parallel_reader import TenantMarks
from grantpath.spark_sync.mirroring.snapshot_writer import write
from grantpath.spark_sync.session.snapshot import Snapshot, write_table
from grantpath.spark_sync.session.spark_session import SparkEngine
from grantpath.spark_sync.versions.remote_versions import writing

from ..oracle import Oracle, oracle

Place = TypeVar("Place", Path, RemotePath)


def no_spark() -> SparkEngine:
    """What starts Spark for `write`, in tests that must not need it: their closures are small."""
    raise AssertionError("the estate of this test is too large to be closed without Spark")


def write_snapshot(made: Oracle, out: Place, revision: int = 5, spark: Callable[[], SparkEngine] = no_spark) -> Place:
    """The facts of an oracle as a snapshot."""
    fresh = oracle(made.policy, made.root.segments[0]).existing
    listed = {member for member, those in made.containers.items() if those}
    refs = made.existing | listed | {on for _, _, on, _ in made.grants}
    members = [(str(a), str(b), b.type) for a, holders in made.containers.items() for b in holders]
    facts = [(str(by), f"{effect.upper()} {name}", str(on)) for effect, name, on, by in made.grants]
    facts += [(str(owner), "OWNS", str(owned)) for owned, owner in made.owners.items()]
    facts += [(str(tag), "TAGGED", str(tagged)) for tagged, tag in made.tags]
    graph = Graph(
        [Entity(str(ref), ref.type, ref in made.existing, ref in fresh) for ref in refs],
        [a for a, _, _ in members],
        [b for _, b, _ in members],
        ["HAS_ROLE" if type_ == "role" else "MEMBER_OF" for _, _, type_ in members],
        [by for by, _, _ in facts],
        [fact for _, fact, _ in facts],
        [on for _, _, on in facts],
    )
    with writing(out) as folder:
        policy = load(made.policy)
        write(folder, str(made.root), policy, TenantMarks(revision, "", policy.digest), graph, spark, print)
    return out


def write_access(snapshot: Place, names: Sequence[str] | None = None) -> Place:
    """The bulk answers of a snapshot. Each user has its own row of reach, so there is no row for all users."""
    source = Snapshot(snapshot)
    listed, questions = conditions(source.policy, names)
    closure, people = source.closure(), np.flatnonzero(users(source))
    reach: list[tuple[int, int, int]] = []
    exposure: list[tuple[int, int, int]] = []
    for number, question in enumerate(questions):
        prepared = prepare(source, [question])
        targets = prepared.asked[0].targets
        objects = np.zeros(len(source.numbering), np.int64)
        many = np.zeros(len(targets) + 1, np.int64)
        for who, low, high in intervals_of(source, prepared, question, people, closure):
            np.add.at(objects, who, high - low)
            np.add.at(many, low, 1)
            np.add.at(many, high, -1)
        counted = np.cumsum(many)[:-1]
        reach += [(number, int(who), int(objects[who])) for who in np.flatnonzero(objects)]
        exposure += [(number, int(at), int(users)) for at, users in zip(targets, counted, strict=True) if users]
    columns = {"name": [each.name for each in listed], "type": [each.type for each in listed]}
    conditions_of = pa.array([each.condition for each in listed], pa.int32())
    with writing(source.folder / "access", replace=True) as folder:
        write_table(folder, "names", {**columns, "condition": conditions_of})
        for rows, at, count, table in (
            (reach, "subject", "objects", "reach"),
            (exposure, "position", "users", "exposure"),
        ):
            named = [(where, each.name, each.type, n) for c, where, n in rows for each in listed if each.condition == c]
            arrays = [pa.array([row[i] for row in named], kind) for i, kind in enumerate(KINDS)]
            write_table(folder, table, pa.Table.from_arrays(arrays, [at, "name", "type", count]))
    return snapshot


KINDS = (pa.int64(), pa.string(), pa.string(), pa.int64())
