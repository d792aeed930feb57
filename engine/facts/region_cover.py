"""Describes intervals of objects by references: single objects, and places inside which all objects are meant."""

from collections.abc import Collection, Iterable, Iterator
from itertools import islice

import numpy as np

from grantpath.engine.facts.affected import Side
from grantpath.engine.facts.intervals import Ints
from grantpath.engine.facts.region import Region

Refs = tuple[str, ...]
Extent = tuple[Refs, Refs, Refs, Refs]  # objects and places inside which all are meant; the same, to be excepted
Run = tuple[int, int]  # half-open, in the numbers of the objects that exist
PAIR = np.dtype(np.int32)  # intervals are packed as pairs of such numbers: half-open, in the numbers of the targets


def packed(low: Ints, high: Ints) -> bytes:
    """Intervals as bytes, which are quick to compare."""
    return np.stack([low, high], axis=1).astype(PAIR).tobytes()


def unpacked(intervals: bytes) -> tuple[Ints, Ints]:
    """The beginnings and the ends of packed intervals."""
    low, high = np.frombuffer(intervals, PAIR).reshape(-1, 2).T.astype(np.int64)
    return low, high


class RegionCover:
    """The objects of a region."""

    def __init__(self, region: Region, sides: tuple[Side, Side], roots: Collection[int], with_exceptions: bool) -> None:
        """`with_exceptions`: whether a place may stand for all objects in it except some."""
        self._region = region
        self._numbering = region.numberings[0]
        self._find = sides[0].version.numbers.find
        self._with_exceptions = with_exceptions
        complete = np.zeros(len(self._numbering), np.bool_)  # all objects inside the place are in the region
        at = {self._find(ref): position for position, ref in enumerate(self._numbering.refs)}
        for position in (at[root] for root in roots if root in at):
            complete[position : self._numbering.last[position] + 1] = True
        self._complete: list[bool] = complete.tolist()
        self._above: list[int] = self._numbering.parent.tolist()
        self._listed: dict[tuple[str, bool], _Listed] = {}
        self._extents: dict[tuple[str, bool, bytes], Extent] = {}

    def numbers(self, type_: str, targets: Ints) -> list[int]:
        """The numbers of the entities that are these targets."""
        refs = self._numbering.refs
        return [self._find(refs[position]) or 0 for position in self._region.targets[type_][targets].tolist()]

    def place(self, type_: str, first: int, last: int) -> int:
        """The number of the lowest entity whose subtree has both of these targets."""
        targets = self._region.targets[type_]
        return self._find(self._numbering.refs[self._common(int(targets[first]), int(targets[last]))]) or 0

    def _common(self, first: int, last: int) -> int:
        while self._numbering.last[first] < last:
            first = self._above[first]
        return first

    def extent(self, type_: str, gained: bool, intervals: bytes) -> Extent:
        """The objects of packed intervals by references, in the shorter way: what is meant, or a place and what is
        excepted there."""
        key = (type_, gained, intervals)
        found = self._extents.get(key)
        if found is None:
            listed = self._listed.get(key[:2])
            if listed is None:
                listed = self._listed[key[:2]] = _Listed(self._region, type_, gained)
            found = self._extents[key] = self._extent(listed, listed.runs(*unpacked(intervals)))
        return found

    def _extent(self, listed: "_Listed", runs: list[Run]) -> Extent:
        top = self._common(listed.position[runs[0][0]], listed.position[runs[-1][1] - 1])
        inside = listed.before[top], listed.behind[top]
        count = sum(high - low for low, high in runs)
        if self._with_exceptions and self._complete[top] and 2 * count > inside[1] - inside[0]:
            excepted = [*self._parts(listed, _between(runs, inside))]
            included = [*islice(self._parts(listed, runs), len(excepted) + 2)]
            if len(included) > len(excepted) + 1:
                return (), (self._numbering.refs[top],), *self._named(excepted)
            return *self._named(included), (), ()
        return *self._named(self._parts(listed, runs)), (), ()

    def _named(self, parts: Iterable[tuple[int, bool]]) -> tuple[Refs, Refs]:
        objects: list[str] = []
        places: list[str] = []
        for position, whole in parts:
            (places if whole else objects).append(self._numbering.refs[position])
        return tuple(objects), tuple(places)

    def _parts(self, listed: "_Listed", runs: Iterable[Run]) -> Iterator[tuple[int, bool]]:
        """The positions of objects and places, the highest possible ones; true for a place that stands for several."""
        above_of, complete, before, behind = self._above, self._complete, listed.before, listed.behind
        for at, end in runs:
            while at < end:
                top = listed.position[at]
                above = above_of[top]
                while above >= 0 and before[above] == at and behind[above] <= end and complete[above]:
                    top, above = above, above_of[above]
                following = behind[top]
                yield (top, True) if following - at > 1 else (listed.position[at], False)
                at = following


class _Listed:
    """The objects of a type that exist on a side, numbered in the order of the tree.

    `position`: by number. `before` and `behind`: by position, the number of those before the subtree and of those up to
    its end.
    """

    def __init__(self, region: Region, type_: str, gained: bool) -> None:
        numbering, targets = region.numberings[0], region.targets[type_]
        shown = region.shown[gained][targets]
        here = np.zeros(len(numbering) + 1, np.int64)
        here[targets[shown] + 1] = 1
        before = np.cumsum(here)
        self.position: list[int] = targets[shown].tolist()
        self.before: list[int] = before[:-1].tolist()
        self.behind: list[int] = before[numbering.last + 1].tolist()
        self._number = np.concatenate([[0], np.cumsum(shown)])  # by target

    def runs(self, low: Ints, high: Ints) -> list[Run]:
        """Intervals of targets that exist, as runs; intervals with no existing object between them are one run."""
        begin, end = self._number[low], self._number[high]
        new = np.append(True, begin[1:] != end[:-1])
        return [*zip(begin[new].tolist(), end[np.append(new[1:], True)].tolist(), strict=True)]


def _between(runs: list[Run], inside: Run) -> Iterator[Run]:
    """What is inside and not in the runs."""
    at = inside[0]
    for low, high in runs:
        if at < low:
            yield at, low
        at = high
    if at < inside[1]:
        yield at, inside[1]
