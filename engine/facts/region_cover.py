"""Describes targets of a region by references: single objects, and places that stand for all objects inside them."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile

import numpy as np

from grantpath.engine.facts.affected import Side
from grantpath.engine.facts.descendants import start_below
from grantpath.engine.facts.intervals import Ints, offsets, ranges
from grantpath.engine.facts.region_tree import RegionTargets, Span

Refs = tuple[str, ...]
Extent = tuple[Refs, Refs, Refs, Refs]  # included objects and places, excepted objects and places; see `named`
FIRST = np.zeros(1, np.int64)
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

    def __init__(self, targets: RegionTargets, sides: tuple[Side, Side], with_exceptions: bool) -> None:
        """`with_exceptions`: whether the description may be a place with exceptions."""
        self._targets, self._sides = targets, sides
        self._with_exceptions = with_exceptions
        self._spans: dict[tuple[str, bool, bytes], tuple[Ints, Ints]] = {}
        self._slots: dict[tuple[str, bool], _Slots] = {}
        self._extents: dict[tuple[str, bool, bytes], Extent] = {}
        self._listed = {
            (type_, gained): _Listed(sides[gained], type_, targets.inside)
            for type_ in targets.by_type
            for gained in (True, False)
        }

    def spans(self, type_: str, gained: bool, intervals: bytes) -> tuple[Ints, Ints]:
        """The objects of packed intervals of targets, as sorted spans of the list of the side that allows them."""
        known = self._spans.get((type_, gained, intervals))
        if known is not None:
            return known
        low, high = np.frombuffer(intervals, PAIR).reshape(-1, 2).T.astype(np.int64)
        slots = self._slots.get((type_, gained))
        if slots is None:
            slots = self._slots[type_, gained] = _Slots(self._targets, int(gained), type_)
        found = self._spans[type_, gained, intervals] = slots.spans(low, high)
        return found

    def ends(self, type_: str, gained: bool, spans: tuple[Ints, Ints]) -> list[int]:
        """The numbers of the first and the last object. The lowest place above both is above all objects between
        them."""
        listed, find = self._listed[type_, gained].refs, self._sides[0].version.numbers.find
        return [find(listed[at], -1) for at in (spans[0][0], spans[1][-1] - 1)]

    def extent(self, type_: str, gained: bool, intervals: bytes) -> Extent:
        """The objects of packed intervals as references, in the shorter form: all objects and places, or one place with
        its exceptions."""
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


class _Slots:
    """The objects that the targets of a type represent on a side, as spans of the list of existing objects."""

    def __init__(self, targets: RegionTargets, side: int, type_: str) -> None:
        self._size = len(targets.by_type[type_])
        self._of, self._low, self._high = targets.slots(side, type_)
        self._by_target = np.argsort(self._of, kind="stable")
        self._offsets = offsets(self._of[self._by_target], self._size)
        self._one_run = bool((self._high[:-1] == self._low[1:]).all())

    def spans(self, low: Ints, high: Ints) -> tuple[Ints, Ints]:
        """The objects of intervals of targets, as sorted spans."""
        if self._one_run and 2 * int((high - low).sum()) > self._size:  # the targets outside are fewer
            begin, end = _between(low, high, (0, self._size))
            return _between(*self._of_targets(ranges(begin, end - begin)), (int(self._low[0]), int(self._high[-1])))
        begin, end = self._of_targets(ranges(low, high - low))
        apart = np.flatnonzero(begin[1:] != end[:-1])
        return begin[np.concatenate([FIRST, apart + 1])], end[np.concatenate([apart, FIRST - 1])]

    def _of_targets(self, targets: Ints) -> tuple[Ints, Ints]:
        """The spans of targets, sorted."""
        first = self._offsets[targets]
        chosen = np.sort(self._by_target[ranges(first, self._offsets[targets + 1] - first)])
        return self._low[chosen], self._high[chosen]


class _Listed:
    """The sorted objects of a type that exist on a side. Answers omit hidden objects. `inside` tells whether a place is
    in the region."""

    def __init__(self, side: Side, type_: str, inside: Callable[[int], bool]) -> None:
        self._inside = inside
        self.refs = side.version.listed.get(type_, [])
        self._side, self._type = side, type_
        places = ((ref, bisect_left(self.refs, ref)) for ref in side.policy.hidden)
        self._hidden = {at for ref, at in places if at < len(self.refs) and self.refs[at] == ref}
        self._above: dict[str, list[tuple[str, str]]] = {}  # by the text before the last dot of an object

    def above(self, ref: str) -> list[tuple[str, str]]:
        """The places above an object that are in the region, from the lowest one on, each with the prefix of the
        objects in it."""
        parent = ref.rpartition(".")[0]  # if the name has a dot, also a part of the name: then the key is less shared
        found = self._above.get(parent)
        if found is None:
            numbers, policy, root = self._side.version.numbers, self._side.policy, self._side.root
            chain = takewhile(self._inside, self._side.chain(numbers.find(ref, -1))[1:])
            places = (numbers.refs[each] for each in chain)
            found = [
                (each, f"{self._type}:" if each == root.text else start_below(self._type, policy.reference(each, root)))
                for each in places
            ]
            self._above[parent] = found
        return found

    def common(self, first: int, last: int) -> tuple[str, Span] | None:
        """The lowest place in the region that contains two different objects, and the span of all objects in it."""
        one, other = self.refs[first], self.refs[last]
        for place, prefix in self.above(one):
            if other.startswith(prefix):
                return place, (bisect_left(self.refs, prefix), bisect_left(self.refs, _behind(prefix)))
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
        """Whether `named` returns more than `most` references."""
        if len(low) > most and not self._hidden:  # `named` has at least one for each span
            return True
        for place, begin, end in self._parts(zip(low.tolist(), high.tolist(), strict=True)):
            most -= 1 if place else end - begin
            if most < 0:
                return True
        return False

    def _parts(self, spans: Iterable[Span]) -> Iterator[tuple[str, int, int]]:
        """The parts of spans: a place with the span of all objects in it, or "" with a span of single objects."""
        for at, end in merged([*spans, *((each, each + 1) for each in self._hidden)]) if self._hidden else spans:
            while at < end:
                top, following = "", at
                for place, prefix in self.above(self.refs[at]):
                    before = at > 0 and self.refs[at - 1].startswith(prefix)
                    if before or (end < len(self.refs) and self.refs[end].startswith(prefix)):
                        # this place is not covered as a whole, so the objects directly in it become single objects
                        following = following if top else bisect_left(self.refs, _behind(prefix), at, end)
                        break
                    top, following = place, bisect_left(self.refs, _behind(prefix), at, end)
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
    """The parts of the span `inside` that are not in the given spans."""
    begin, end = np.append(inside[0], high), np.append(low, inside[1])
    return begin[begin < end], end[begin < end]
