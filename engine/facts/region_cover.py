"""Describes targets of a region by references: single objects, and places inside which all objects are meant."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, takewhile

import numpy as np

from grantpath.engine.facts.affected import Side
from grantpath.engine.facts.intervals import Ints
from grantpath.engine.facts.region import Region
from grantpath.engine.facts.region_tree import Span
from grantpath.graph.reference import name_of

Refs = tuple[str, ...]
Extent = tuple[Refs, Refs, Refs, Refs]  # objects and places inside which all are meant; the same, to be excepted
PAIR = np.dtype(np.int32)  # intervals are packed as pairs of such numbers: half-open, in the numbers of the targets


def packed(low: Ints, high: Ints) -> bytes:
    """Intervals as bytes, which are quick to compare."""
    return np.stack([low, high], axis=1).astype(PAIR).tobytes()


def merged(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, with adjacent and overlapping ones as one."""
    found: list[Span] = []
    for low, high in sorted(spans):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(high, found[-1][1])
        elif low < high:
            found.append((low, high))
    return found


def distinct_size(low: Ints, high: Ints) -> int:
    """How many numbers are in any of the spans."""
    order = np.argsort(low)
    low, reached = low[order], np.maximum.accumulate(high[order])
    return int(np.maximum(reached - np.maximum(low, np.append(0, reached[:-1])), 0).sum())


class RegionCover:
    """The objects of a region, by the sorted lists of those that exist on a side."""

    def __init__(self, region: Region, sides: tuple[Side, Side], with_exceptions: bool) -> None:
        """`with_exceptions`: whether a place may stand for all objects in it except some."""
        self._region, self._sides = region, sides
        self._with_exceptions = with_exceptions
        self._spans: dict[tuple[str, bool, bytes], tuple[Ints, Ints]] = {}
        self._slots: dict[tuple[str, bool], tuple[Ints, Ints, Ints]] = {}
        self._extents: dict[tuple[str, bool, bytes], Extent] = {}
        self._listed = {
            (type_, gained): _Listed(sides[gained], type_, region.inside)
            for type_ in region.targets
            for gained in (True, False)
        }

    def spans(self, type_: str, gained: bool, intervals: bytes) -> tuple[Ints, Ints]:
        """The objects of packed intervals of targets, as sorted spans of the list of the side that allows."""
        known = self._spans.get((type_, gained, intervals))
        if known is not None:
            return known
        low, high = np.frombuffer(intervals, PAIR).reshape(-1, 2).T
        slots = self._slots.get((type_, gained))
        if slots is None:
            slots = self._slots[type_, gained] = self._region.slots(int(gained), type_)
        edges = np.zeros(len(self._region.targets[type_]) + 1, np.int8)
        edges[low] += 1
        edges[high] -= 1
        chosen = (np.cumsum(edges) > 0)[slots[0]]
        begin, end = slots[1][chosen], slots[2][chosen]
        new = np.append(True, begin[1:] != end[:-1])
        found = self._spans[type_, gained, intervals] = begin[new], end[np.append(new[1:], True)]
        return found

    def ends(self, type_: str, gained: bool, spans: tuple[Ints, Ints]) -> list[int]:
        """The numbers of the first and of the last object. The lowest place above both is above all."""
        listed, find = self._listed[type_, gained].refs, self._sides[0].version.numbers.find
        return [find(listed[at], -1) for at in (spans[0][0], spans[1][-1] - 1)]

    def extent(self, type_: str, gained: bool, intervals: bytes) -> Extent:
        """The objects of packed intervals by references, in the shorter way: what is meant, or a place and what is
        excepted there."""
        key = (type_, gained, intervals)
        found = self._extents.get(key)
        if found is None:
            found = self._extents[key] = self._extent(self._listed[type_, gained], *self.spans(*key))
        return found

    def _extent(self, listed: "_Listed", low: Ints, high: Ints) -> Extent:
        count = int((high - low).sum())
        common = listed.common(int(low[0]), int(high[-1]) - 1) if self._with_exceptions and count > 1 else None
        if common:
            top, inside = common
            if 2 * count > inside[1] - inside[0]:
                excepted = listed.named(*_between(low, high, inside))
                most = sum(map(len, excepted)) + 1
                if listed.more_than(most, low, high):
                    return (), (top,), *excepted
        return *listed.named(low, high), (), ()


class _Listed:
    """The sorted objects of a type that exist on a side; hidden ones are in no answer. `inside`: whether a place is in
    the region."""

    def __init__(self, side: Side, type_: str, inside: Callable[[int], bool]) -> None:
        self._inside = inside
        self.refs = side.version.listed.get(type_, [])
        self._side, self._type = side, type_
        places = ((ref, bisect_left(self.refs, ref)) for ref in side.policy.hidden)
        self._hidden = {at for ref, at in places if at < len(self.refs) and self.refs[at] == ref}
        self._above: dict[str, list[tuple[str, str]]] = {}  # by the text before the last dot of an object

    def above(self, ref: str) -> list[tuple[str, str]]:
        """The places above an object that are in the region, from the lowest one on, each with the text with which the
        objects in it begin."""
        parent = ref.rpartition(".")[0]  # or more, if the name has a dot
        found = self._above.get(parent)
        if found is None:
            numbers, root = self._side.version.numbers, self._side.root.text
            chain = takewhile(self._inside, self._side.chain(numbers.find(ref, -1))[1:])
            places = (numbers.refs[each] for each in chain)
            found = [(ref, f"{self._type}:{'' if ref == root else f'{name_of(ref)}.'}") for ref in places]
            self._above[parent] = found
        return found

    def common(self, first: int, last: int) -> tuple[str, Span] | None:
        """The lowest place in the region that contains two different objects, and all objects in it."""
        one, other = self.refs[first], self.refs[last]
        for place, prefix in self.above(one):
            if other.startswith(prefix):
                return place, (bisect_left(self.refs, prefix), bisect_left(self.refs, _behind(prefix)))
        return None

    def named(self, low: Ints, high: Ints) -> tuple[Refs, Refs]:
        """Objects, and the highest places with several of them of which all are meant, both in byte order."""
        single = (high - low == 1) & (not self._hidden)  # most spans are single objects
        objects = [self.refs[at] for at in low[single].tolist()]
        places: list[str] = []
        for ref, whole in self._parts(zip(low[~single].tolist(), high[~single].tolist(), strict=True)):
            (places if whole else objects).append(ref)
        return tuple(sorted(objects)), tuple(sorted(places))

    def more_than(self, most: int, low: Ints, high: Ints) -> bool:
        """Whether `named` lists more than this."""
        if len(low) > most and not self._hidden:  # at least one for each span
            return True
        return sum(1 for _ in islice(self._parts(zip(low.tolist(), high.tolist(), strict=True)), most + 1)) > most

    def _parts(self, spans: Iterable[Span]) -> Iterator[tuple[str, bool]]:
        for at, end in merged([*spans, *((each, each + 1) for each in self._hidden)]) if self._hidden else spans:
            while at < end:
                top, following = self.refs[at], at + 1
                for place, prefix in self.above(self.refs[at]):
                    before = at > 0 and self.refs[at - 1].startswith(prefix)
                    if before or (end < len(self.refs) and self.refs[end].startswith(prefix)):
                        break
                    top, following = place, bisect_left(self.refs, _behind(prefix), at, end)
                visible = [*islice((each for each in range(at, following) if each not in self._hidden), 2)]
                if len(visible) > 1:
                    yield top, True
                elif visible:
                    yield self.refs[visible[0]], False
                at = following


def _behind(prefix: str) -> str:
    """The first text behind all that begin with this one."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def _between(low: Ints, high: Ints, inside: Span) -> tuple[Ints, Ints]:
    """What is inside and not in the spans, as spans."""
    begin, end = np.append(inside[0], high), np.append(low, inside[1])
    return begin[begin < end], end[begin < end]
