"""Positions: entities numbered in tree order, and sets of positions as intervals."""

import numpy as np

from grantpath.engine.facts.kernel.interval_sets import runs_of, union, within
from grantpath.engine.facts.kernel.intervals import IntervalRows
from grantpath.engine.facts.kernel.tree_order import number
from grantpath.engine.policy.policy import load
from grantpath.engine.tenants.tenant_state import Entity

POLICY = load("gravitino")


def test_numbering_is_in_tree_order() -> None:
    refs = ["catalog:a", "catalog:a-b", "schema:a.x", "table:a.x.t", "fileset:a.x.t", "table:a-b.q.`z.z`"]
    numbering = number(POLICY, "metalake:m~7", [Entity(ref, ref.split(":")[0]) for ref in refs])
    at = {ref: position for position, ref in enumerate(numbering.refs)}
    assert numbering.refs[0] == "metalake:m~7" and numbering.last[0] == len(at) - 1
    inside = set(numbering.refs[at["catalog:a"] : numbering.last[at["catalog:a"]] + 1])
    assert inside == {"catalog:a", "schema:a.x", "table:a.x.t", "fileset:a.x.t"}
    assert not numbering.exists[at["schema:a-b.q"]], "a parent that is not listed does not exist"


def test_merging_keeps_the_covered_positions() -> None:
    rng = np.random.default_rng(3)
    start = rng.integers(0, 50, 400)
    rows = IntervalRows(rng.integers(0, 4, 400), rng.integers(0, 3, 400), start, start + rng.integers(0, 3, 400))

    def covered(rows: IntervalRows) -> set[tuple[int, ...]]:
        columns = (rows.owner, rows.key, rows.start, rows.last)
        return {
            (o, k, at) for o, k, a, b in zip(*map(np.ndarray.tolist, columns), strict=True) for at in range(a, b + 1)
        }

    merged = rows.merged()
    assert covered(merged) == covered(rows)
    assert len(merged.owner) < 200


def test_union_and_within_agree_with_sets() -> None:
    row, low, high = np.array([0, 0, 1, 0]), np.array([5, 0, 2, 4]), np.array([7, 3, 9, 6])
    joined = union(row, low, high)
    assert [each.tolist() for each in joined] == [[0, 0, 1], [0, 4, 2], [3, 7, 9]]
    runs = runs_of(np.array([1, 1, 0, 0, 0, 1, 0, 0, 1], np.bool_))
    assert [each.tolist() for each in within(*joined, runs)] == [[0, 0, 1, 1], [0, 5, 5, 8], [2, 6, 6, 9]]


def test_builtin_subjects_are_marked() -> None:
    entities = [Entity("role:a", "role", builtin=True), Entity("role:b", "role")]
    numbering = number(POLICY, "metalake:m", entities)
    assert dict(zip(numbering.refs, numbering.builtin.tolist(), strict=True))["role:a"]
    assert numbering.builtin.sum() == 1
