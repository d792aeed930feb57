"""Groups equal rows of columns of numbers."""

from collections.abc import Sequence

import numpy as np

from grantpath.engine.facts.kernel.intervals import Ints
from grantpath.engine.facts.set.fact_version import Numbers

SPARSE = 16  # numbers are grouped with a table if the largest one is at most this many times their count


def kinds_of(columns: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Groups equal rows of columns of numbers, which must be at least -1.

    Equal rows are of one kind. Returns the index of the first row of each kind, and the kind of each row.
    """
    kinds = np.zeros(len(columns[0]), np.int64)
    first = kinds[:1]
    for column in columns:
        packed = kinds * (int(column.max(initial=0)) + 2) + column + 1
        first, kinds = numbered(packed)
    return first, kinds


def numbered(numbers: Ints) -> tuple[Ints, Ints]:
    """For each distinct number, ascending, the index of its first occurrence; and for each number, its rank among the
    distinct ones. Sorts only if the numbers are large; otherwise a table is faster."""
    if int(numbers.max(initial=0)) > SPARSE * len(numbers):
        _, first, ranks = np.unique(numbers, return_index=True, return_inverse=True)
        return first, ranks
    at = np.full(int(numbers.max(initial=-1)) + 1, -1, np.int64)
    at[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)  # for repeated indexes numpy keeps the last value
    used = np.flatnonzero(at >= 0)
    rank = np.empty_like(at)
    rank[used] = np.arange(len(used))
    return at[used], rank[numbers]


def by_kind(numbers: Numbers, kind: Ints) -> list[Numbers]:
    """The numbers of each kind, in their order. Each kind from 0 to the highest one must occur."""
    return np.split(numbers[np.argsort(kind, kind="stable")], np.cumsum(np.bincount(kind))[:-1])
