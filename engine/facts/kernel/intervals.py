"""The kernel: computes access as sets of intervals of positions, for a batch of subjects at once, in numpy.

Objects are numbered in tree order, so a subtree is the interval [position, last], and a principal's fact about a place
holds on that interval. A *row* is a subject with the principals that act together for it. In one sweep, every interval
of every row adds +1 at its start and -1 after its end. Sorted by (row, position), a running sum shows where each fact
holds. No row is ever created for a pair of subject and object.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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
PAIRS = 250_000  # pairs of row and interval in one sweep, whose columns then fit into the cache of a processor


def ranges(starts: AnyInts, counts: AnyInts) -> Ints:
    """For each row, `count` numbers from `start` on; the rows are concatenated."""
    before = np.cumsum(counts) - counts
    numbers: Ints = np.arange(int(counts.sum()), dtype=np.int64) + np.repeat(starts - before, counts)
    return numbers


def offsets(sorted_rows: AnyInts, size: int) -> Ints:
    """The index at which the entries of each row number begin in a sorted column, and the end: size + 1 values."""
    begins: Ints = np.searchsorted(sorted_rows, np.arange(size + 1)).astype(np.int64)
    return begins


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
        """The facts of each row: all facts of its principals."""
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
        packed.sort(kind="stable")  # faster than quicksort, because long runs are already in order
        self.code: AnyInts = (packed & ((1 << low) - 1)).astype(np.int16 if low < 16 else np.int32)
        packed >>= low
        self.place = packed
        self.middle = middle
        self._counts = np.bincount(self.code, minlength=2 * keys)  # by code
        self._covered: dict[tuple[int, ...], Bools] = {}

    def of(self, codes: Ints) -> Ints:
        """The events with these codes, in order."""
        if self.are_many(codes):
            wanted = np.zeros(len(self._counts), np.bool_)
            wanted[codes] = True
            return np.flatnonzero(wanted[self.code])
        begins = np.cumsum(self._counts) - self._counts
        return np.sort(self._by_code[ranges(begins[codes], self._counts[codes])], kind="stable")

    def are_many(self, codes: Ints) -> bool:
        """Whether many of the events have these codes. Most questions need only few of them."""
        return int(self._counts[codes].sum()) * 8 > len(self.code)

    @cached_property
    def _by_code(self) -> Ints:
        return np.argsort(self.code, kind="stable")

    @cached_property
    def ends(self) -> Ints:
        """The last event of each place of a row."""
        return last_of_each(self.place)

    @cached_property
    def places(self) -> Ints:
        """The places of rows, in order and without repetitions."""
        return self.place[self.ends]

    def covered(self, keys: tuple[int, ...]) -> Bools:
        """By place: whether any of these facts is true from there on. The result is kept, because several conditions
        have the same term."""
        if keys not in self._covered:
            self._covered[keys] = counted(self.code, self.ends, keys, len(self._counts))
        return self._covered[keys]


def last_of_each(place: Ints) -> Ints:
    """The index of the last element in each run of equal elements."""
    return np.append(np.flatnonzero(place[1:] != place[:-1]), len(place) - 1)


def counted(code: AnyInts, ends: Ints, keys: tuple[int, ...], codes: int) -> Bools:
    """For each of `ends`, whether any of these facts is true after the events up to it. `codes`: the number of
    codes."""
    step = np.zeros(codes, np.int8)
    for key in keys:
        step[2 * key], step[2 * key + 1] = -1, 1
    found: Bools = np.cumsum(step[code], dtype=np.int32)[ends] > 0
    return found


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
        # at the last event of a row all intervals end, so that the condition holds no longer
        used = np.flatnonzero(self.used)
        if events.are_many(used):
            place, holds = events.places, self.holds(len(events.ends), events.covered)
        else:
            place, holds = self._holds(events, used)
        before = np.append(False, holds)[:-1]
        start, behind = place[holds & ~before], place[~holds & before]
        mask = (1 << events.middle) - 1
        return Coverage(start >> events.middle, start & mask, (behind & mask) - 1)

    def _holds(self, events: Events, used: Ints) -> tuple[Ints, Bools]:
        """The places of the events with these codes, and whether the condition holds from each of them on."""
        chosen = events.of(used)
        code, place = events.code[chosen], events.place[chosen]
        if not len(place):
            return place, np.empty(0, np.bool_)
        ends = last_of_each(place)
        return place[ends], self.holds(len(ends), lambda keys: counted(code, ends, keys, len(self.used)))

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
