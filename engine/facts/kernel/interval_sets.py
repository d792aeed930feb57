"""Unions and intersections of half-open intervals of positions, and the runs of a column of booleans."""

import numpy as np

from grantpath.engine.facts.kernel.intervals import Bools, IntervalRows, Ints, ranges


def union(row: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints, Ints]:
    """Half-open intervals [low, high) by row, with adjacent and overlapping ones merged."""
    rows = IntervalRows(row, np.zeros(len(row), np.int64), low, high - 1).merged()
    return rows.owner.astype(np.int64), rows.start.astype(np.int64), rows.last.astype(np.int64) + 1


def within(row: Ints, low: Ints, high: Ints, runs: tuple[Ints, Ints]) -> tuple[Ints, Ints, Ints]:
    """The intersection of half-open intervals by row with runs (half-open, sorted, disjoint)."""
    first = np.searchsorted(runs[1], low, side="right")
    count = np.maximum(np.searchsorted(runs[0], high, side="left") - first, 0)
    at = ranges(first, count)
    back = np.repeat(np.arange(len(row)), count)
    return row[back], np.maximum(low[back], runs[0][at]), np.minimum(high[back], runs[1][at])


def runs_of(chosen: Bools) -> tuple[Ints, Ints]:
    """The half-open runs in which a column of booleans is true."""
    edge = np.diff(np.concatenate([[0], chosen.astype(np.int8), [0]]))
    return np.flatnonzero(edge == 1).astype(np.int64), np.flatnonzero(edge == -1).astype(np.int64)
