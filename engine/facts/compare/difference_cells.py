"""Cuts a difference of access into cells: all targets of a cell have the same facts, both before and after a change."""

from collections.abc import Sequence

import numpy as np

from grantpath.engine.facts.compare.access_difference import AccessDifference, SideAnswer
from grantpath.engine.facts.kernel.fact_table import OF_TARGETS
from grantpath.engine.facts.kernel.intervals import Bools, CompiledCondition, Coverage, Events, Ints, offsets, ranges
from grantpath.engine.policy.clauses import facts_of
from grantpath.engine.policy.facts import ALL, FactKind
from grantpath.graph.distinct_numbers import distinct

WORD = 32  # facts whose truth is packed into one integer


class DifferenceCells:
    """The cells of a difference. On each side, all targets of a cell have the same facts.

    A cell is a class (`of`) and a half-open interval of targets (`low`, `high`); cells are sorted. `yes_row`: the row
    that is allowed there.
    """

    def __init__(self, difference: AccessDifference, shown: Bools, lengths: Ints) -> None:
        """By target, `shown`: whether it exists on the side that does not allow it; `lengths`: the number of segments
        on which its condition depends, or 0."""
        self._shown = shown
        self._yes, self._no = difference.yes, difference.no
        self._targets = difference.targets
        self._width = len(difference.targets) + 1
        self._lengths = lengths
        facts = {fact for each in difference.clauses(lengths).values() for fact in facts_of(each)}
        self.facts = sorted(facts - {ALL})
        points = [self._points(answer) for answer in (difference.yes, difference.no) if answer is not None]
        pieces = difference.yes
        points.append(pieces.rows.of[pieces.allowed[0]] * self._width + pieces.allowed[1])
        self._static = {
            (fact, answer is self._no): answer.prepared.static(fact, difference.targets)
            for answer in (self._yes, self._no)
            if answer is not None
            for fact in self.facts
            if fact.kind in OF_TARGETS and fact in answer.prepared.codes
        }
        begins, ends = self._cut(difference, distinct(np.concatenate(points)))
        self.of, self.low, self.high = begins // self._width, begins % self._width, ends % self._width
        self.yes_row = self._allowed_row()

    def _points(self, answer: SideAnswer) -> Ints:
        """The points where a fact of a row begins or ends; a point is a class and a target, packed into one number."""
        used = np.zeros(2 * answer.prepared.size, np.bool_)
        for fact in self.facts:
            code = answer.prepared.codes.get(fact)
            if code is not None:
                used[2 * code : 2 * code + 2] = True
        place = distinct(answer.events.place[answer.events.of(np.flatnonzero(used))])
        row, position = place >> answer.events.middle, place & ((1 << answer.events.middle) - 1)
        points: Ints = answer.rows.of[row] * self._width + answer.asked.before[position]
        return points

    def _cut(self, difference: AccessDifference, points: Ints) -> tuple[Ints, Ints]:
        begins, ends = difference.of * self._width + difference.low, difference.of * self._width + difference.high
        first = np.searchsorted(points, begins, side="right")
        inner = points[ranges(first, np.maximum(np.searchsorted(points, ends, side="left") - first, 0))]
        low, steps = difference.low + 1, self._steps()
        if len(steps):
            first = np.searchsorted(steps, low)
            count = np.maximum(np.searchsorted(steps, difference.high) - first, 0)
            more = np.repeat(difference.of * self._width, count) + steps[ranges(first, count)]
            inner = distinct(np.concatenate([inner, more]))
        return np.sort(np.concatenate([begins, inner])), np.sort(np.concatenate([ends, inner]))

    def _steps(self) -> Ints:
        """The targets at which a fact that does not depend on the user changes, or the condition."""
        changes = np.zeros(len(self._targets), np.bool_)
        for column in (self._shown, self._lengths, *self._static.values()):
            if column is not None:
                changes[1:] |= column[1:] != column[:-1]
        return np.flatnonzero(changes)

    def _allowed_row(self) -> Ints:
        """For each cell, the first row of the class that is allowed there."""
        row, low, high = self._yes.allowed
        order = np.lexsort((low, row))
        start, end = row[order] * self._width + low[order], row[order] * self._width + high[order]
        cell, candidate = self._with_rows(self._yes)
        at = candidate * self._width + self.low[cell]
        found = np.searchsorted(start, at, side="right") - 1
        allowed = (found >= 0) & (at < end[found])
        first: Ints = np.full(len(self.of), -1, np.int64)
        cell, candidate = cell[allowed][::-1], candidate[allowed][::-1]
        first[cell] = candidate  # numpy keeps the last value of a repeated index; in reverse order, the first row
        return first

    def _with_rows(self, answer: SideAnswer) -> tuple[Ints, Ints]:
        """All pairs of a cell and a row of its class."""
        begin = offsets(answer.rows.of, int(self.of.max(initial=0)) + 1)
        count = begin[self.of + 1] - begin[self.of]
        return np.repeat(np.arange(len(self.of)), count), ranges(begin[self.of], count)

    # ---- truth -------------------------------------------------------------------------------------------------------
    def truth(self) -> tuple[Bools, Bools]:
        """By cell and fact: whether the fact is true for the allowed row, and whether it is true for any row of the
        class on the other side."""
        every = np.arange(len(self.of))
        yes = self._of_rows(self._yes, False, every, self.yes_row)
        no = np.zeros_like(yes)
        if self._no is not None:
            cell, row = self._with_rows(self._no)
            first = np.flatnonzero(np.diff(cell, prepend=-1))  # ascending, so the rows of a cell are adjacent
            if len(first):
                no[cell[first]] = np.logical_or.reduceat(self._of_rows(self._no, True, cell, row), first, axis=0)
        return yes, no

    def _of_rows(self, answer: SideAnswer, other: bool, cell: Ints, row: Ints) -> Bools:
        target = self.low[cell]
        place = (row << answer.events.middle) + self._targets[target]
        columns = np.zeros((len(cell), len(self.facts)), np.bool_)
        for at, fact in enumerate(self.facts):
            code, static = answer.prepared.codes.get(fact), self._static.get((fact, other))
            if code is not None and (static is None or fact.kind is FactKind.EVERY_BELOW):
                columns[:, at] = _covers(_coverage(answer, code), answer.events, place)
            if static is not None:
                columns[:, at] |= static[target]
        return columns


def _coverage(answer: SideAnswer, code: int) -> Coverage:
    return CompiledCondition([[[((code,), ())]]], answer.prepared.size).solve(answer.events)


def _covers(coverage: Coverage, events: Events, place: Ints) -> Bools:
    start = (coverage.row << events.middle) + coverage.start
    last = (coverage.row << events.middle) + coverage.last
    if not len(start):
        return np.zeros(len(place), np.bool_)
    found = np.searchsorted(start, place, side="right") - 1
    inside: Bools = (found >= 0) & (place <= last[found])
    return inside


def parted(low: Ints, high: Ints, columns: Sequence[Ints]) -> tuple[Ints, Ints, Ints]:
    """Cuts half-open intervals wherever one of the columns changes. Returns for each part the index of its interval,
    its beginning and its end."""
    changes = [np.flatnonzero(column[1:] != column[:-1]) + 1 for column in columns]
    steps = distinct(np.concatenate([np.empty(0, np.int64), *changes]))
    first = np.searchsorted(steps, low, side="right")
    count = np.maximum(np.searchsorted(steps, high, side="left") - first, 0)
    interval = np.repeat(np.arange(len(low)), count + 1)
    heads = np.cumsum(count + 1) - count - 1
    begins = np.zeros(len(interval), np.bool_)
    begins[heads] = True
    start = np.empty(len(interval), np.int64)
    start[begins], start[~begins] = low, steps[ranges(first, count)]
    end = np.append(start[1:], 0)[: len(interval)]
    end[heads + count] = high
    return interval, start, end


def words(columns: Bools) -> list[Ints]:
    """Packs columns of booleans into columns of numbers."""
    parts = (columns[:, at : at + WORD] for at in range(0, columns.shape[1] or 1, WORD))
    return [part @ (1 << np.arange(part.shape[1])) for part in parts]
