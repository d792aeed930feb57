"""The kernel: computes access as sets of intervals of positions, for a batch of subjects at once, in numpy.

Objects are numbered in tree order, so a subtree is the interval [position, last], and a principal's fact about a place
holds on that interval. A *row* is a subject with the principals that act together for it. In one sweep, every interval
of every row adds +1 at its start and -1 after its end. Sorted by (row, position), a running sum shows where each fact
holds. No row is ever created for a pair of subject and object.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from grantpath.engine.policy.clauses import Clauses, Term
from grantpath.engine.policy.facts import Fact
from grantpath.graph.errors import InvalidInput

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
AnyInts = npt.NDArray[np.signedinteger[Any]]

BITS = 62  # bits of the integer into which an event of a sweep is packed
PAIRS = 1_500_000  # pairs of row and interval in one sweep; limits the memory


def ranges(starts: AnyInts, counts: AnyInts) -> Ints:
    """For each row, `count` numbers from `start` on; the rows are concatenated."""
    before = np.cumsum(counts) - counts
    numbers: Ints = np.arange(int(counts.sum()), dtype=np.int64) + np.repeat(starts - before, counts)
    return numbers


def offsets(sorted_rows: AnyInts, size: int) -> Ints:
    """The index at which the entries of each row number begin in a sorted column, and the end: size + 1 values."""
    begins: Ints = np.searchsorted(sorted_rows, np.arange(size + 1)).astype(np.int64)
    return begins


def distinct(numbers: Ints) -> Ints:
    """Sorted, without repetitions: for numbers that are almost sorted this is faster than np.unique."""
    found = np.sort(numbers)
    new = np.ones(len(found), np.bool_)
    new[1:] = found[1:] != found[:-1]
    return found[new]


def kinds_of(columns: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Groups equal rows of columns of numbers from -1 on: the index of the first row of each kind, and the kind of each
    row."""
    kinds = np.zeros(len(columns[0]), np.int64)
    first = kinds[:1]
    for column in columns:
        packed = kinds * (int(column.max(initial=0)) + 2) + column + 1
        _, first, kinds = np.unique(packed, return_index=True, return_inverse=True)
    return first, kinds


@dataclass(frozen=True)
class IntervalRows:
    """Facts as columns: `owner` has the fact `key` on the positions start..last.

    `owner` is the position of a principal, or the number of a row of principals that act together.
    """

    owner: AnyInts
    key: AnyInts
    start: AnyInts
    last: AnyInts

    @staticmethod
    def concat(parts: "list[IntervalRows]") -> "IntervalRows":
        columns = [[getattr(part, name) for part in parts] for name in ("owner", "key", "start", "last")]
        return IntervalRows(*(np.concatenate([*each, np.empty(0, np.int64)]).astype(np.int64) for each in columns))

    def merged(self) -> "IntervalRows":
        """The same facts, sorted by owner and key, with adjacent and overlapping intervals merged."""
        order = np.lexsort((self.start, self.key, self.owner))
        owner, key = self.owner[order], self.key[order]
        start, last = self.start[order].astype(np.int64), self.last[order].astype(np.int64)
        if not len(order):
            return IntervalRows(owner, key, start, last)
        same = np.zeros(len(order), np.bool_)
        same[1:] = (owner[1:] == owner[:-1]) & (key[1:] == key[:-1])
        group = np.cumsum(~same) - 1
        width = int(last.max()) + 2
        furthest = np.maximum.accumulate(last + group * width) - group * width
        fresh = ~same
        fresh[1:] |= start[1:] > furthest[:-1] + 1
        first = np.flatnonzero(fresh)
        ends = np.append(first[1:], len(order)) - 1
        return IntervalRows(owner[first], key[first], start[first], furthest[ends])


class PrincipalFacts:
    """Facts, indexed by the position of the principal that has them."""

    def __init__(self, rows: IntervalRows, size: int) -> None:
        order = np.argsort(rows.owner, kind="stable")
        self.key, self.start, self.last = rows.key[order], rows.start[order], rows.last[order]
        self.offset = offsets(rows.owner[order], size)


@dataclass(frozen=True)
class ActingPrincipals:
    """The principals that act together: row i is `subject[i]` with principal[offset[i]:offset[i + 1]]."""

    subject: Ints
    offset: Ints
    principal: AnyInts

    def pieces(self, facts: PrincipalFacts) -> "Iterator[ActingPrincipals]":
        """Splits the rows into parts that fit into one sweep. The rows of a subject stay in one part."""
        pairs = np.concatenate([[0], np.cumsum(facts.offset[self.principal + 1] - facts.offset[self.principal])])
        load = pairs[self.offset[1:]] + np.arange(1, len(self.subject) + 1)
        begin = 0
        while begin < len(self.subject):
            done = load[begin - 1] if begin else 0
            end = max(begin + 1, int(np.searchsorted(load, done + PAIRS, side="right")))
            if end < len(self.subject) and self.subject[end] == self.subject[end - 1]:
                first = int(np.flatnonzero(self.subject == self.subject[end])[0])
                last = int(np.flatnonzero(self.subject == self.subject[end])[-1])
                end = first if first > begin else last + 1
            low, high = self.offset[begin], self.offset[end]
            yield ActingPrincipals(
                self.subject[begin:end], self.offset[begin : end + 1] - low, self.principal[low:high]
            )
            begin = end

    def gather(self, facts: PrincipalFacts) -> IntervalRows:
        """The facts of each row, which are those of its principals."""
        row = np.repeat(np.arange(len(self.subject)), np.diff(self.offset))
        count = facts.offset[self.principal + 1] - facts.offset[self.principal]
        at = ranges(facts.offset[self.principal], count)
        return IntervalRows(np.repeat(row, count), facts.key[at], facts.start[at], facts.last[at])


def check_size(entities: int, keys: int, acting: int = PAIRS) -> None:
    """Raises InvalidInput if an event of a sweep (row, position, fact) does not fit into one integer."""
    bits = BITS - (2 * keys).bit_length() - acting.bit_length()
    if (entities + 1).bit_length() > bits:
        raise InvalidInput(
            f"{entities:,} entities are too many for conditions with {keys:,} different facts; at most "
            f"{2**bits - 2:,} are possible; ask for fewer names in one run"
        )


class Events:
    """The facts of a batch of rows as +1 and -1, sorted by (row, position)."""

    def __init__(self, rows: IntervalRows, size: int, keys: int) -> None:
        check_size(size, keys, int(rows.owner.max(initial=0)))
        low = (2 * keys).bit_length()
        middle = (size + 1).bit_length()
        packed = np.empty(2 * len(rows.owner), np.int64)
        head = rows.owner.astype(np.int64) << middle
        packed[: len(head)] = ((head + rows.start) << low) + rows.key * 2 + 1
        packed[len(head) :] = ((head + rows.last + 1) << low) + rows.key * 2
        packed.sort()
        self.code: AnyInts = (packed & ((1 << low) - 1)).astype(np.int16 if low < 16 else np.int32)
        packed >>= low
        self.place = packed
        self.middle = middle
        self._by_code = np.argsort(self.code, kind="stable")
        self._bounds = np.searchsorted(self.code[self._by_code], np.arange(2 * keys + 1))

    def of(self, codes: Ints) -> Ints:
        """The events with these codes, in order. Most questions need only few of the events."""
        count = self._bounds[codes + 1] - self._bounds[codes]
        if int(count.sum()) * 8 > len(self.code):
            wanted = np.zeros(len(self._bounds), np.bool_)
            wanted[codes] = True
            return np.flatnonzero(wanted[self.code])
        return np.sort(self._by_code[ranges(self._bounds[codes], count)])


CompiledAtom = tuple[tuple[int, ...], tuple[int, ...]]  # any of the first keys, and none of the second


@dataclass(frozen=True)
class Coverage:
    """The intervals on which a condition holds: for `row`, the positions start..last."""

    row: Ints
    start: Ints
    last: Ints


class CompiledCondition:
    """Clauses compiled for the sweep: an OR of ANDs of ORs of (any of these keys, none of those)."""

    def __init__(self, clauses: Sequence[Sequence[Sequence[CompiledAtom]]], size: int) -> None:
        """`size`: the number of keys."""
        self.clauses = clauses
        used = {key for clause in self.clauses for term in clause for any_, none in term for key in (*any_, *none)}
        self.used = np.zeros(2 * size, np.bool_)
        for key in used:
            self.used[2 * key : 2 * key + 2] = True

    @staticmethod
    def of(clauses: Clauses, codes: Mapping[Fact, int], size: int) -> "CompiledCondition":
        """Compiles clauses, with `codes` as the keys of facts."""
        return CompiledCondition(
            [[CompiledCondition._term(term, codes) for term in clause] for clause in clauses], size
        )

    @staticmethod
    def _term(term: Term, codes: Mapping[Fact, int]) -> list[CompiledAtom]:
        """Merges atoms that have the same `none`."""
        by_none: dict[tuple[int, ...], set[int]] = {}
        for atom in term:
            none = tuple(sorted(codes[fact] for fact in atom.none))
            by_none.setdefault(none, set()).update(codes[fact] for fact in atom.any)
        return [(tuple(sorted(any_)), none) for none, any_ in by_none.items()]

    def solve(self, events: Events) -> Coverage:
        """The intervals on which the condition holds, for every row of the batch."""
        chosen = events.of(np.flatnonzero(self.used))
        code, place = events.code[chosen], events.place[chosen]
        if not len(place):
            nothing = np.empty(0, np.int64)
            return Coverage(nothing, nothing, nothing)
        ends = np.append(np.flatnonzero(place[1:] != place[:-1]), len(place) - 1)
        holds = self._holds(code, ends)
        place = place[ends]
        before = np.append(False, holds[:-1])
        start, behind = place[holds & ~before], place[~holds & before]
        mask = (1 << events.middle) - 1
        return Coverage(start >> events.middle, start & mask, (behind & mask) - 1)

    def _holds(self, code: AnyInts, ends: Ints) -> Bools:
        """Whether the condition holds from each position on. At the last event of a row all intervals end: false."""

        def covered(keys: tuple[int, ...]) -> Bools:
            step = np.zeros(len(self.used), np.int8)
            for key in keys:
                step[2 * key], step[2 * key + 1] = -1, 1
            counted: Bools = np.cumsum(step[code], dtype=np.int32)[ends] > 0
            return counted

        return self.holds(len(ends), covered)

    def holds(self, size: int, having: Callable[[tuple[int, ...]], Bools]) -> Bools:
        """In which of `size` cases the condition holds. `having(keys)`: those in which any of these facts is true."""
        known: dict[tuple[int, ...], Bools] = {}

        def covered(keys: tuple[int, ...]) -> Bools:
            if keys not in known:
                known[keys] = having(keys)
            return known[keys]

        result = np.zeros(size, np.bool_)
        for clause in self.clauses:
            every = np.ones(size, np.bool_)
            for term in clause:
                some = np.zeros(size, np.bool_)
                for any_, none in term:
                    some |= covered(any_) & ~covered(none) if none else covered(any_)
                every &= some
            result |= every
        return result


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
