"""Describes targets of a region by references: single objects, and places that stand for all objects inside them."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise, takewhile
from typing import NamedTuple

import numpy as np

from grantpath.engine.facts.compare.region_tree import RegionTargets, Span
from grantpath.engine.facts.kernel.intervals import Ints, offsets, ranges
from grantpath.engine.facts.set.descendants import start_below
from grantpath.engine.facts.set.fact_set import FactSet, Sides

Refs = tuple[str, ...]
ObjectSpans = tuple[Ints, Ints, int]  # sorted spans of the list of a type, and how many objects they contain
Extent = tuple[Refs, Refs, Refs, Refs]  # objects, places (all objects in them), excepted objects, excepted places
PAIR = np.dtype(np.int32)  # intervals are packed as pairs of such numbers: half-open, in the numbers of the targets


def packed(low: Ints, high: Ints) -> bytes:
    """Intervals as bytes, which are quick to compare."""
    return np.stack([low, high], axis=1).astype(PAIR).tobytes()


def merged(spans: Iterable[Span]) -> list[Span]:
    """The spans in order, with adjacent and overlapping ones merged."""
    found: list[Span] = []
    for low, high in sorted(spans):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(high, found[-1][1])
        elif low < high:
            found.append((low, high))
    return found


def distinct_size(low: Ints, high: Ints) -> int:
    """How many different numbers the spans contain."""
    order = np.argsort(low)
    low, reached = low[order], np.maximum.accumulate(high[order])
    return int(np.maximum(reached - np.maximum(low, np.append(0, reached[:-1])), 0).sum())


class RegionCover:
    """The objects of a region as spans of sorted lists: for each side and type, the list of the existing objects."""

    def __init__(self, targets: RegionTargets, sides: Sides, with_exceptions: bool) -> None:
        """`with_exceptions`: whether the description may be a place with exceptions."""
        self._targets, self._sides = targets, sides
        self._with_exceptions = with_exceptions
        self._spans: dict[tuple[str, bool, bytes], ObjectSpans] = {}
        self._slots: dict[tuple[str, bool], _Slots] = {}
        self._extents: dict[tuple[str, bool, bytes], Extent] = {}
        self._listed = {
            (type_, gained): _Listed(sides[gained], type_, targets.inside)
            for type_ in targets.by_type
            for gained in (True, False)
        }

    def prepare(self, type_: str, gained: bool, several: Iterable[bytes]) -> None:
        """Finds the spans of several packed intervals at once."""
        new = [each for each in dict.fromkeys(several) if (type_, gained, each) not in self._spans]
        if not new:
            return
        slots = self._slots.get((type_, gained))
        if slots is None:
            slots = self._slots[type_, gained] = _Slots(self._targets, int(gained), type_)
        low, high = np.frombuffer(b"".join(new), PAIR).reshape(-1, 2).T.astype(np.int64)
        begin = np.cumsum([0, *(len(each) // (2 * PAIR.itemsize) for each in new)])
        found = slots.spans(SpanLists(begin, low, high))
        edges, low, high = found.begin.tolist(), found.low, found.high
        for each, (first, end), size in zip(new, pairwise(edges), found.sizes().tolist(), strict=True):
            self._spans[type_, gained, each] = low[first:end], high[first:end], size

    def spans(self, type_: str, gained: bool, intervals: bytes) -> ObjectSpans:
        """The objects of packed intervals of targets, as spans of the side that allows."""
        if (type_, gained, intervals) not in self._spans:
            self.prepare(type_, gained, (intervals,))
        return self._spans[type_, gained, intervals]

    def extent(self, type_: str, gained: bool, intervals: bytes) -> Extent:
        """The objects of packed intervals as references, in the shorter form: all objects and places, or one place with
        its exceptions."""
        key = (type_, gained, intervals)
        found = self._extents.get(key)
        if found is None:
            found = self._extents[key] = self._extent(self._listed[type_, gained], *self.spans(*key))
        return found

    def _extent(self, listed: "_Listed", low: Ints, high: Ints, count: int) -> Extent:
        common = listed.common(int(low[0]), int(high[-1]) - 1) if self._with_exceptions and count > 1 else None
        if common:
            top, inside = common
            if 2 * count > inside[1] - inside[0]:
                excepted = listed.named(*_between(low, high, inside))
                most = sum(map(len, excepted)) + 1
                if listed.more_than(most, low, high):
                    return (), (top,), *excepted
        return *listed.named(low, high), (), ()


class SpanLists(NamedTuple):
    """Lists of sorted spans: those of list i are at begin[i]:begin[i + 1]."""

    begin: Ints
    low: Ints
    high: Ints

    def of(self) -> Ints:
        """For each span, the number of its list."""
        return np.repeat(np.arange(len(self.begin) - 1), np.diff(self.begin))

    def sizes(self) -> Ints:
        """How many numbers are in the spans of each list."""
        total = np.append(0, np.cumsum(self.high - self.low))
        sizes: Ints = total[self.begin[1:]] - total[self.begin[:-1]]
        return sizes

    def take(self, lists: Ints) -> "SpanLists":
        """The lists with these numbers."""
        count = np.diff(self.begin)[lists]
        at = ranges(self.begin[lists], count)
        return SpanLists(np.append(0, np.cumsum(count)), self.low[at], self.high[at])

    def between(self, inside: Span) -> "SpanLists":
        """For each list, the parts of `inside` that are not in its spans."""
        of, many = self.of(), len(self.begin) - 1
        begin, end = np.full(len(of) + many, inside[0]), np.full(len(of) + many, inside[1])
        at = np.arange(len(of)) + of  # a list has one gap more than spans
        begin[at + 1], end[at] = self.high, self.low
        some = begin < end
        lists = np.repeat(np.arange(many), np.diff(self.begin) + 1)[some]
        return SpanLists(offsets(lists, many), begin[some], end[some])


class _Slots:
    """The objects that the targets of a type represent on a side, as spans of the list of existing objects."""

    def __init__(self, targets: RegionTargets, side: int, type_: str) -> None:
        self._size = len(targets.by_type[type_])
        self._of, self._low, self._high = targets.slots(side, type_)
        self._by_target = np.argsort(self._of, kind="stable")
        self._offsets = offsets(self._of[self._by_target], self._size)
        self._one_run = bool((self._high[:-1] == self._low[1:]).all())

    def spans(self, targets: SpanLists) -> SpanLists:
        """The objects of lists of intervals of targets, as sorted spans."""
        fewer = self._one_run & (2 * targets.sizes() > self._size)  # then the targets not in the list are fewer
        if not fewer.any():
            return self._of_targets(targets)
        whole = int(self._low[0]), int(self._high[-1])
        most = self._of_targets(targets.take(np.flatnonzero(fewer)).between((0, self._size))).between(whole)
        if fewer.all():
            return most
        rest = self._of_targets(targets.take(np.flatnonzero(~fewer)))
        both = SpanLists(
            np.append(most.begin, rest.begin[1:] + most.begin[-1]),
            np.append(most.low, rest.low),
            np.append(most.high, rest.high),
        )
        return both.take(np.argsort(np.append(np.flatnonzero(fewer), np.flatnonzero(~fewer))))

    def _of_targets(self, targets: SpanLists) -> SpanLists:
        """The spans of targets, sorted, with adjacent ones as one."""
        count, many = targets.high - targets.low, len(targets.begin) - 1
        each, of = ranges(targets.low, count), np.repeat(targets.of(), count)
        first = self._offsets[each]
        slots = self._offsets[each + 1] - first
        chosen = np.sort(np.repeat(of, slots) * len(self._low) + self._by_target[ranges(first, slots)])
        of, slot = np.divmod(chosen, max(len(self._low), 1))
        begin, end = self._low[slot], self._high[slot]
        new = np.ones(len(of), np.bool_)
        new[1:] = (of[1:] != of[:-1]) | (begin[1:] != end[:-1])
        last = np.append(new[1:], True)[: len(new)]
        return SpanLists(offsets(of[new], many), begin[new], end[last])


class _Listed:
    """The sorted objects of a type that exist on a side. Answers omit hidden objects. `inside` tells whether a place is
    in the region."""

    def __init__(self, side: FactSet, type_: str, inside: Callable[[int], bool]) -> None:
        self._inside = inside
        self.refs = side.version.listed.get(type_, [])
        self._side, self._type = side, type_
        places = ((ref, bisect_left(self.refs, ref)) for ref in side.policy.hidden)
        self._hidden = {at for ref, at in places if at < len(self.refs) and self.refs[at] == ref}
        self._above: dict[str, list[tuple[str, str, str]]] = {}  # by the text before the last dot of an object

    def above(self, ref: str) -> list[tuple[str, str, str]]:
        """The places above an object that are in the region, from the lowest one on, each with the prefix of the
        objects in it and the first text behind all these objects."""
        parent = ref.rpartition(".")[0]  # a dot in a name leaves a part of the name in the key: fewer objects share it
        found = self._above.get(parent)
        if found is None:
            numbers, policy, root = self._side.version.numbers, self._side.policy, self._side.root
            chain = takewhile(self._inside, self._side.chain(numbers.find(ref, -1))[1:])
            places = [numbers.refs[each] for each in chain]
            prefixes = (
                f"{self._type}:" if each == root.text else start_below(self._type, policy.reference(each, root))
                for each in places
            )
            found = [(each, prefix, _behind(prefix)) for each, prefix in zip(places, prefixes, strict=True)]
            self._above[parent] = found
        return found

    def common(self, first: int, last: int) -> tuple[str, Span] | None:
        """The lowest place in the region that contains two different objects, and the span of all objects in it."""
        one, other = self.refs[first], self.refs[last]
        for place, prefix, behind in self.above(one):
            if other.startswith(prefix):
                return place, (bisect_left(self.refs, prefix), bisect_left(self.refs, behind))
        return None

    def named(self, low: Ints, high: Ints) -> tuple[Refs, Refs]:
        """The objects of spans as single objects and places, both in byte order. A place stands for all objects in it;
        it is as high as possible, and has several objects."""
        single = (high - low == 1) & (not self._hidden)  # most spans are single objects
        objects = [self.refs[at] for at in low[single].tolist()]
        places: list[str] = []
        for place, begin, end in self._parts(zip(low[~single].tolist(), high[~single].tolist(), strict=True)):
            if place:
                places.append(place)
            else:
                objects += self.refs[begin:end]
        return tuple(sorted(objects)), tuple(sorted(places))

    def more_than(self, most: int, low: Ints, high: Ints) -> bool:
        """Whether `named` lists more than `most` objects and places."""
        if len(low) > most and not self._hidden:
            return True
        spans = zip(low.tolist(), high.tolist(), strict=True)
        groups = ((span,) for span in spans) if not self._hidden else [spans]  # a hidden object joins its neighbours
        least = 0 if self._hidden else len(low)  # at least one for each span
        for group in groups:
            least -= not self._hidden
            for place, begin, end in self._parts(group):
                least += 1 if place else end - begin
                if least > most:
                    return True
        return False

    def _parts(self, spans: Iterable[Span]) -> Iterator[tuple[str, int, int]]:
        """The parts of spans: a place with the span of all objects in it, or "" with a span of single objects."""
        for at, end in merged([*spans, *((each, each + 1) for each in self._hidden)]) if self._hidden else spans:
            while at < end:
                top, following = "", at
                for place, prefix, behind in self.above(self.refs[at]):
                    before = at > 0 and self.refs[at - 1].startswith(prefix)
                    if before or (end < len(self.refs) and self.refs[end].startswith(prefix)):
                        # this place is not covered as a whole, so the objects directly in it become single objects
                        following = following if top else bisect_left(self.refs, behind, at, end)
                        break
                    top, following = place, bisect_left(self.refs, behind, at, end)
                following = max(following, at + 1)
                visible = [each for each in range(at, following) if each not in self._hidden] if self._hidden else []
                if self._hidden and (not top or len(visible) < 2):
                    yield from (("", each, each + 1) for each in visible)
                else:
                    yield top if following - at > 1 else "", at, following
                at = following


def _behind(prefix: str) -> str:
    """The first text, in byte order, after all texts with this prefix."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def _between(low: Ints, high: Ints, inside: Span) -> tuple[Ints, Ints]:
    """The parts of `inside` that are not in the spans, as spans."""
    edges = np.empty(2 * len(low) + 2, np.int64)
    edges[0], edges[1:-1:2], edges[2:-1:2], edges[-1] = inside[0], low, high, inside[1]
    begin, end = edges[::2], edges[1::2]
    some = begin < end
    return begin[some], end[some]
