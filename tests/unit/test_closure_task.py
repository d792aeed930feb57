"""A task extends the closure of groups and roles to its subjects, in parts of any size, sorted."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from grantpath.engine.facts.kernel.small_closure import close_small
from grantpath.engine.facts.snapshot.even_ranges import even_ranges
from grantpath.spark_sync.mirroring import closure_task
from grantpath.spark_sync.mirroring.closure_task import Extension, extend
from grantpath.spark_sync.session.snapshot import write_table

SIZE = 120  # entities; the subjects are those with even numbers


def written(folder: Path, edges: Sequence[tuple[int, int]]) -> Extension:
    """The tables of these memberships."""
    subjects = np.arange(0, SIZE, 2)
    ends = np.array(sorted(edges), np.int64).reshape(-1, 2)
    write_table(folder, "subjects", {"position": subjects, "ref": ["r"] * len(subjects), "type": ["t"] * len(subjects)})
    write_table(folder, "members", {"source": ends[:, 0], "target": ends[:, 1], "kind": ["MEMBER_OF"] * len(ends)})
    closed = close_small(np.unique(ends[:, 1]), ends[:, 0], ends[:, 1])
    assert closed is not None
    write_table(folder, "containers", {"source": closed[0], "target": closed[1]})
    names = ("containers", "subjects", "members")
    containers, subject, member = (tuple((folder / name).glob("*.parquet")) for name in names)
    return Extension(containers, subject, member, SIZE)


@pytest.mark.parametrize("pairs", [1, 7, 10_000])
def test_each_subject_has_its_groups_and_roles_and_theirs(
    pairs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With groups in groups, cycles, subjects that are in nothing, and one that is in everything."""
    monkeypatch.setattr(closure_task, "PAIRS", pairs)
    rng = random.Random(4)
    edges = {(2 * rng.randrange(10, 50), 2 * rng.randrange(40, 60)) for _ in range(60)}
    edges |= {(100, 102), (102, 104), (104, 100), *((22, 2 * group) for group in range(40, 60))}
    extension = written(tmp_path, sorted(edges))
    parts = even_ranges(extension.members, "source", 4)
    assert len(parts) == 4
    batch = pa.record_batch([pa.array(range(4))], ["id"])
    tables = [pa.Table.from_batches([found]) for found in extend(extension, parts, iter([batch]))]
    assert len(tables) > 4 or pairs > 1_000
    rows = pa.concat_tables(tables)
    ends = np.array(sorted(edges), np.int64)
    wanted = close_small(np.arange(0, SIZE, 2), ends[:, 0], ends[:, 1])
    assert wanted is not None
    assert [rows["subject"].to_pylist(), rows["holder"].to_pylist()] == [column.tolist() for column in wanted]


def test_subjects_without_memberships_have_themselves(tmp_path: Path) -> None:
    extension = written(tmp_path, [])
    parts = even_ranges(extension.members, "source", 4)
    [rows] = extend(extension, parts, iter([pa.record_batch([pa.array([0])], ["id"])]))
    assert rows.column(0).to_pylist() == rows.column(1).to_pylist() == [*range(0, SIZE, 2)]
