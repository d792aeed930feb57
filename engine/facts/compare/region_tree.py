"""The objects in the subtrees of some roots: some of them one by one, all others as spans of sorted lists."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from grantpath.engine.facts.kernel.intervals import Ints
from grantpath.engine.facts.set.descendants import range_below
from grantpath.engine.facts.set.fact_set import FactSet, Sides
from grantpath.engine.facts.set.fact_version import NOTHING, FactVersion
from grantpath.graph.language.reference import type_of

FEW_PRINCIPALS = 1_000
FEW_PLACES = 50  # for each root: looking at this many places is faster than finding all objects in the root's subtree
Span = tuple[int, int]  # half-open, in the sorted list of the references of a type that exist on a side


@dataclass(frozen=True)
class Rest:
    """Objects of a type in a place that are alike: they exist before and after, and there is no fact on them, nor on a
    place between them and the place. `spans`: their spans in the list of each side; `first`: the number of one of
    them."""

    first: int
    type: str
    spans: tuple[list[Span], list[Span]]


class RegionTree:
    """The subtrees of some roots, which are any entities of the object tree. `above`: the roots and all places above
    them."""

    def __init__(self, sides: Sides, roots: Collection[int]) -> None:
        self._sides = sides
        self._refs = sides[0].version.numbers.refs
        self._names = sides[1].policy.names
        self._one_policy = sides[0].policy is sides[1].policy
        self._alike = sides[0].version.listed is sides[1].version.listed
        self._chains: dict[int, Sequence[int]] = {}
        self._kept = sides[1].version.numbers.chains
        roots = frozenset(roots)
        self._roots = frozenset(each for each in roots if not any(place in roots for place in self.chain(each)[1:]))
        self.above = {place for root in self._roots for side in sides for place in side.places(root)} | self._roots

    def chain(self, number: int) -> Sequence[int]:
        """An entity and the places above it."""
        chain = self._chains.get(number)
        if chain is None:
            chain = self._kept.get(number) if self._one_policy else None
            if chain is None:
                after = self._one_policy or type_of(self._refs[number]) in self._names.types
                chain = self._sides[after].places(number)
            self._chains[number] = chain
        return chain

    def inside(self, number: int) -> bool:
        """Whether an entity is in the subtree of a root."""
        return not self._roots.isdisjoint(self.chain(number))

    def granted(self, version: FactVersion, held: Collection[int], types: Iterable[str]) -> set[int]:
        """A superset of the places of these types, in the region or above it, on which one of the principals has a
        fact.

        The search begins at the principals or at the objects, whichever are fewer.
        """
        if len(held) <= FEW_PRINCIPALS:
            given = {place for each in held for place in version.places_of.get(each) or ()}
            if len(given) <= FEW_PLACES * len(self._roots):
                return {place for place in given if place in self.above or self.inside(place)}
        spans = [
            span for names in (version.listed, version.granted_names) for span in self._spans(version, names, types)
        ]
        most = sum(high - low for _, low, high in spans)
        found = set[int]()
        for principal in held:
            places = version.places_of.get(principal) or ()
            most -= len(places) + 1
            if most < 0:
                break
            found.update(places)
        else:
            return {place for place in found if place in self.above or self.inside(place)}
        number = version.numbers.find
        return {number(ref, -1) for names, low, high in spans for ref in names[low:high]} | self.above

    def among(self, entities: Collection[int], types: Collection[str]) -> set[int]:
        """The given entities that have these types and are in the region or above it."""
        if not types:
            return set()
        spans = (span for side in self._sides for span in self._spans(side.version, side.version.listed, types))
        if len(entities) > FEW_PRINCIPALS and sum(high - low for _, low, high in spans) < len(entities):
            found = {each for each in self.all_of(types) if each in entities}
            return found | {each for each in self.above if each in entities and type_of(self._refs[each]) in types}
        of_type = (each for each in entities if type_of(self._refs[each]) in types)
        return {each for each in of_type if each in self.above or self.inside(each)}

    def _spans(
        self, version: FactVersion, listed: Mapping[str, list[str]], types: Iterable[str]
    ) -> Iterator[tuple[list[str], int, int]]:
        """The spans of the entities of these types inside the roots, each with its sorted list of references."""
        side = self._sides[version is self._sides[1].version]
        for type_ in types:
            names = listed.get(type_, NOTHING)
            for root in self._roots if names else ():
                yield names, *span_in(names, side, self._refs[root], type_)

    def all_of(self, types: Iterable[str]) -> Iterator[int]:
        """All existing entities of these types inside the roots, on either side."""
        for version in (side.version for side in self._sides):
            for names, low, high in self._spans(version, version.listed, types):
                yield from (version.numbers.find(ref, -1) for ref in names[low:high])

    def special(self) -> Iterator[int]:
        """The entities that a policy hides or creates itself, without those that have no number."""
        find = self._sides[1].version.numbers.find
        for policy in (side.policy for side in self._sides):
            yield from (found for ref in (*policy.hidden, *policy.builtins) if (found := find(ref)) is not None)

    def apart(self, numbers: Iterable[int]) -> dict[int, list[int]]:
        """The roots, the given entities that are in the region, and the places between. Each is mapped to those of them
        that are directly below it."""
        found: dict[int, list[int]] = {root: [] for root in self._roots}
        for number in numbers:
            chain = self.chain(number)
            top = next((at for at, place in enumerate(chain) if place in self._roots), 0)
            if number in found:
                continue
            for child, place in pairwise(chain[: top + 1]):
                known = place in found
                found.setdefault(child, [])
                found.setdefault(place, []).append(child)
                if known:
                    break
        return found

    def rests(self, apart: dict[int, list[int]], types: Collection[str]) -> Iterator[Rest]:
        """The objects of these types that are not in `apart`."""
        for place, type_ in self.kinds(apart, types):
            rest = self.rest(place, apart[place], type_)
            if rest is not None:
                yield rest

    def kinds(self, apart: Iterable[int], types: Collection[str]) -> Iterator[tuple[int, str]]:
        """Pairs of a place of `apart` that exists before and after, and a type of objects that can be inside it."""
        below: dict[str, list[str]] = {}
        for type_ in types:
            for above in self._names.above(type_) if type_ in self._names.types else ():
                below.setdefault(above, []).append(type_)
        for place in apart:
            kinds = below.get(type_of(self._refs[place]), ())
            if kinds and all(side.version.existing.get(place) is not None for side in self._sides):
                yield from ((place, type_) for type_ in kinds)

    def rest(self, place: int, inner: Iterable[int], type_: str) -> Rest | None:
        """The objects of a type in a place, without those in the places `inner`."""
        first = self._rest(0, place, inner, type_)
        spans = first, first if self._alike else self._rest(1, place, inner, type_)
        if not spans[0]:
            return None
        before = self._sides[0].version
        return Rest(before.numbers.find(before.listed[type_][spans[0][0][0]], -1), type_, spans)

    def _rest(self, at: int, place: int, inner: Iterable[int], type_: str) -> list[Span]:
        side = self._sides[at]
        names = side.version.listed.get(type_, NOTHING)
        low, high = span_in(names, side, self._refs[place], type_)
        if low == high:
            return []
        holes = sorted(each for number in inner if (each := self.span(at, number, type_))[0] < each[1])
        spans = zip([low, *(end for _, end in holes)], [*(begin for begin, _ in holes), high], strict=True)
        return [span for span in spans if span[0] < span[1]]

    def span(self, at: int, number: int, type_: str) -> Span:
        """The span in the list of a side (0: before): of the entity, if it has the type; otherwise of the entities of
        the type in its subtree."""
        side, ref = self._sides[at], self._refs[number]
        names = side.version.listed.get(type_, NOTHING)
        if type_of(ref) != type_:
            return span_in(names, side, ref, type_)
        begin = bisect_left(names, ref)
        return begin, begin + (begin < len(names) and names[begin] == ref)


class RegionTargets:
    """The targets of a region by type. The number of a target is its index; it is an entity or a Rest."""

    def __init__(self, tree: RegionTree, targets: Mapping[str, Sequence[int | Rest]]) -> None:
        self._tree = tree
        self.by_type = targets
        self.inside = tree.inside

    def slots(self, side: int, type_: str) -> tuple[Ints, Ints, Ints]:
        """The objects that the targets represent on a side (0: before): for each span of the sorted list, in order, the
        number of the target, the beginning and the end."""
        rows: list[tuple[int, int, int]] = []
        for at, each in enumerate(self.by_type[type_]):
            spans = each.spans[side] if isinstance(each, Rest) else [self._tree.span(side, each, type_)]
            rows += ((low, high, at) for low, high in spans if low < high)
        rows.sort()
        low, high, of = np.array(rows, np.int64).reshape(-1, 3).T
        return of, low, high


def span_in(names: list[str], side: FactSet, place: str, type_: str) -> Span:
    """The span of the entities of a type inside a place, in the sorted list of all entities of the type."""
    types = side.policy.names
    if place != side.root.text and (type_ not in types.types or type_of(place) not in types.above(type_)):
        return 0, 0
    return range_below(names, type_, side.policy.reference(place, side.root), side.policy)
