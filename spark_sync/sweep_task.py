"""A Spark task of a bulk answer: it sweeps over its share of the subjects, and counts."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from grantpath.engine.facts.fact_table import Prepared
from grantpath.engine.facts.intervals import ActingPrincipals, AnyInts, Bools, Ints, union

SCHEMA = "what string, condition int, a long, b long, c long"
ROWS = 200_000  # the number of rows (subject, role, holder) collected for a sweep
Columns = tuple[Ints, Ints, Ints]


@dataclass(frozen=True)
class Tally:
    """The data that all tasks share.

    Kinds of rows: reach (a: subject, b: number of objects), step (from the a-th target on, b more subjects), interval
    (a: subject, b to c: positions).
    """

    prepared: Prepared
    numbers: Ints  # the number of each condition
    common: Ints  # by condition: the objects that every user has; users with only these get no row
    expanded: Bools  # by condition: whether to write intervals
    users: Bools  # by position: whether the entity is a user that answers can contain
    one_role: bool


def sweep(tally: Tally, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turns rows (subject, role, holder), grouped by subject, into rows of SCHEMA."""
    steps = _Steps(tally.prepared)
    for subject, role, principal in _whole_subjects(batches):
        counted = tally.users[subject]
        for piece in _acting(subject[counted], role[counted], principal[counted]).pieces(tally.prepared.facts):
            parts: list[tuple[str, int, Columns]] = []
            for at, (row, low, high) in enumerate(tally.prepared.answers(piece)):
                parts += _count(tally, at, piece.subject, (row, low, high), steps)
            if parts:
                yield _batch(parts)
    yield from (_batch([part]) for part in steps.rows(tally.numbers))


@dataclass
class _Steps:
    """By condition: the change in the number of allowed subjects at each target."""

    prepared: Prepared
    sums: dict[int, Ints] = field(default_factory=dict)

    def add(self, at: int, low: Ints, high: Ints) -> None:
        size = len(self.prepared.asked[at].targets) + 1
        change = np.bincount(low, minlength=size) - np.bincount(high, minlength=size)
        self.sums[at] = self.sums[at] + change if at in self.sums else change

    def rows(self, numbers: Ints) -> Iterator[tuple[str, int, Columns]]:
        for at, sums in self.sums.items():
            where = np.flatnonzero(sums)
            yield "step", int(numbers[at]), (where, sums[where], np.zeros(len(where), np.int64))


def _count(tally: Tally, at: int, subjects: Ints, answer: Columns, steps: _Steps) -> Iterator[tuple[str, int, Columns]]:
    row, low, high = answer
    if not len(row):
        return
    who = subjects[row]
    if tally.one_role:
        who, low, high = union(who, low, high)
    steps.add(at, low, high)
    first = np.flatnonzero(np.append(True, who[1:] != who[:-1])) if _sorted(who) else None
    if first is None:
        order = np.argsort(who, kind="stable")
        who, low, high = who[order], low[order], high[order]
        first = np.flatnonzero(np.append(True, who[1:] != who[:-1]))
    objects = np.add.reduceat(high - low, first)
    own = objects != tally.common[at]
    number = int(tally.numbers[at])
    yield "reach", number, (who[first][own], objects[own], np.zeros(int(own.sum()), np.int64))
    if tally.expanded[at]:
        mine = np.repeat(own, np.diff(np.append(first, len(who))))
        targets = tally.prepared.asked[at].targets
        yield "interval", number, (who[mine], targets[low[mine]], targets[high[mine] - 1])


def _sorted(column: Ints) -> bool:
    return bool((column[1:] >= column[:-1]).all())


def _batch(parts: list[tuple[str, int, Columns]]) -> pa.RecordBatch:
    lengths = [len(columns[0]) for _, _, columns in parts]
    what = pa.array([what for what, _, _ in parts]).take(pa.array(np.repeat(np.arange(len(parts)), lengths)))
    condition = np.repeat(np.array([number for _, number, _ in parts], np.int32), lengths)
    columns = [np.concatenate([part[at] for _, _, part in parts]).astype(np.int64) for at in range(3)]
    return pa.RecordBatch.from_arrays(
        [what, pa.array(condition), *map(pa.array, columns)], names=["what", "condition", "a", "b", "c"]
    )


def _whole_subjects(batches: Iterator[pa.RecordBatch]) -> Iterator[Columns]:
    """Combines batches so that all rows of a subject are in one."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= ROWS:
            table = pa.Table.from_batches(waiting)
            subject = table["subject"].to_numpy()
            whole = int(np.searchsorted(subject, subject[-1]))
            if whole:
                yield _columns(table.slice(0, whole))
            waiting, rows = table.slice(whole).to_batches(), table.num_rows - whole
    if rows:
        yield _columns(pa.Table.from_batches(waiting))


def _columns(table: pa.Table) -> Columns:
    return table["subject"].to_numpy(), table["role"].to_numpy(), table["holder"].to_numpy()


def _acting(subject: Ints, role: Ints, principal: AnyInts) -> ActingPrincipals:
    if not len(subject):
        return ActingPrincipals(subject, np.zeros(1, np.int64), principal)
    fresh = np.append(True, (subject[1:] != subject[:-1]) | (role[1:] != role[:-1]))
    first = np.flatnonzero(fresh)
    return ActingPrincipals(subject[first], np.append(first, len(subject)).astype(np.int64), principal)
