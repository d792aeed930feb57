"""Describes intervals of objects by references: single objects, and places inside which all objects are meant."""

from collections.abc import Collection

import numpy as np

from grantpath.engine.facts.affected import Side
from grantpath.engine.facts.intervals import Ints
from grantpath.engine.facts.region import Region

Intervals = tuple[tuple[int, int], ...]  # half-open, in the numbers of the targets of a type


class RegionCover:
    """The objects of a region."""

    def __init__(self, region: Region, sides: tuple[Side, Side], roots: Collection[int]) -> None:
        self._region = region
        self._numbering = region.numberings[0]
        self._find = sides[0].version.numbers.find
        self._complete = np.zeros(len(self._numbering), np.bool_)  # all objects inside the place are in the region
        at = {self._find(ref): position for position, ref in enumerate(self._numbering.refs)}
        for position in (at[root] for root in roots if root in at):
            self._complete[position : self._numbering.last[position] + 1] = True
        self._shown: dict[tuple[str, bool], tuple[Ints, Ints]] = {}
        self._extents: dict[tuple[str, bool, Intervals], tuple[tuple[str, ...], tuple[str, ...]]] = {}

    @staticmethod
    def size(intervals: Intervals) -> int:
        """The number of objects."""
        return sum(high - low for low, high in intervals)

    def numbers(self, type_: str, targets: Ints) -> list[int]:
        """The numbers of the entities that are these targets."""
        refs = self._numbering.refs
        return [self._find(refs[position]) or 0 for position in self._region.targets[type_][targets].tolist()]

    def place(self, type_: str, intervals: Intervals) -> int:
        """The number of the lowest entity whose subtree has all the objects."""
        targets = self._region.targets[type_]
        first, last = int(targets[intervals[0][0]]), int(targets[intervals[-1][1] - 1])
        while self._numbering.last[first] < last:
            first = int(self._numbering.parent[first])
        return self._find(self._numbering.refs[first]) or 0

    def extent(self, type_: str, gained: bool, intervals: Intervals) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """References of single objects, and of places inside which all objects of the type are meant."""
        key = (type_, gained, intervals)
        if key not in self._extents:
            objects: list[str] = []
            below: list[str] = []
            for position, whole in self._parts(type_, gained, intervals):
                (below if whole else objects).append(self._numbering.refs[position])
            self._extents[key] = tuple(objects), tuple(below)
        return self._extents[key]

    def _parts(self, type_: str, gained: bool, intervals: Intervals) -> list[tuple[int, bool]]:
        """The positions of objects and places, the highest possible ones; true for a place that stands for several."""
        shown, before = self._listed(type_, gained)
        targets, last, parent = self._region.targets[type_], self._numbering.last, self._numbering.parent
        parts: list[tuple[int, bool]] = []
        runs: list[tuple[int, int]] = []  # in the numbers of the shown objects
        for low, high in intervals:
            at, end = int(before[targets[low]]), int(before[targets[high - 1] + 1])
            runs[-1:] = [(runs[-1][0], end)] if runs and runs[-1][1] == at else [*runs[-1:], (at, end)]
        for at, end in runs:
            while at < end:
                top = int(shown[at])
                above = int(parent[top])
                while above >= 0 and self._complete[above] and before[above] == at and before[last[above] + 1] <= end:
                    top, above = above, int(parent[above])
                following = int(before[last[top] + 1])
                parts.append((top, True) if following - at > 1 else (int(shown[at]), False))
                at = following
        return parts

    def _listed(self, type_: str, gained: bool) -> tuple[Ints, Ints]:
        """The positions of the objects of the type that exist on the side, and by position the number before it."""
        key = (type_, gained)
        if key not in self._shown:
            targets = self._region.targets[type_]
            shown = targets[self._region.shown[gained][targets]]
            here = np.zeros(len(self._numbering) + 1, np.int64)
            here[shown + 1] = 1
            self._shown[key] = shown, np.cumsum(here)
        return self._shown[key]
