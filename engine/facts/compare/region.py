"""A part of the object tree with its facts before and after a change, in the form that the kernel needs."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from operator import itemgetter

import numpy as np

from grantpath.engine.facts.compare.access_names import AskedName
from grantpath.engine.facts.compare.region_tree import RegionTargets, RegionTree, Rest
from grantpath.engine.facts.kernel.fact_table import FactTable
from grantpath.engine.facts.kernel.intervals import Bools
from grantpath.engine.facts.kernel.tree_order import Numbering, number
from grantpath.engine.facts.set.fact_set import FactSet, Sides
from grantpath.engine.facts.set.fact_version import OWNS, FactVersion
from grantpath.engine.policy.facts import Fact, FactKind, place_type
from grantpath.engine.tenants.tenant_state import Entity
from grantpath.graph.language.reference import type_of

StoredRow = tuple[int, tuple[str, str], int]  # principal, word and type, place
ITSELF = (FactKind.HOLDS, FactKind.IS)  # the subject is the place, or belongs to it


class Region:
    """The subtrees of some roots, the places above them, and the facts that the principals of some users have there.

    An entity has the same position on both sides. One entity represents all objects that are alike.
    `targets`: by type, the positions of the objects to ask about. `objects`: the same targets, each with the objects
    that it represents. `principals`: the position of each principal that can matter there, by its number. `stands_for`:
    for each of them, the principal that represents it. With `alike`, one principal represents all principals that have
    the same facts there on both sides; otherwise each represents itself.
    """

    def __init__(
        self,
        sides: Sides,
        names: Sequence[AskedName],
        roots: Collection[int],
        held: Collection[int],
        added_or_dropped: Collection[int],
        alike: bool,
    ) -> None:
        """`held`: the effective principals of the users on either side, or more."""
        self._sides = sides
        self._refs = sides[0].version.numbers.refs
        requirements = [each for name in names for each in (name.before, name.after) if each is not None]
        facts = {fact for each in requirements for fact in each.facts}
        self._words = _words(facts)
        self._asked = {name.type for name in names}
        tree = RegionTree(sides, roots)
        types = {type_ for _, type_ in self._words}
        rows = [self._rows(tree, side.version, types, held) for side in sides[: 1 if self._same_facts() else 2]]
        rows += rows[: 2 - len(rows)]
        itself = {place_type(fact.place) for fact in facts if fact.kind in ITSELF and not fact.entity}
        own = tree.among(held, itself)
        named = {found for fact in facts if fact.entity and (found := self._find(fact.entity)) is not None}
        own |= {each for each in named if each in held}
        places = {place for each in rows for _, _, place in each}
        one_by_one = self._one_by_one(facts)
        apart = tree.apart(chain(places, own, added_or_dropped, tree.special(), tree.all_of(one_by_one)))
        rests = [*tree.rests(apart, self._asked - one_by_one)]
        acting = {by for each in rows for by, _, _ in each} | own
        self.stands_for = _alike(rows, own) if alike else {each: each for each in acting}
        self._number(tree.above | apart.keys() | acting | {place for rest in rests for place in tree.chain(rest.first)})
        self.principals = {each: self._at[each] for each in acting}
        first = self._table(self.numberings[0], rows[0])
        self.tables = first, first if rows[0] is rows[1] else self._table(self.numberings[1], rows[1])
        self.shown = self._shown(sides[0]), self._shown(sides[1])
        self._by_type(tree, apart, rests)

    def version(self, side: int) -> FactVersion:
        """The facts of a side."""
        return self._sides[side].version

    def _same_facts(self) -> bool:
        """Whether nothing except memberships can differ, because the two versions share everything else."""
        before, after = (side.version for side in self._sides)
        same = before.grants is after.grants and before.existing is after.existing
        return same and self._sides[0].policy is self._sides[1].policy

    def _find(self, ref: str) -> int | None:
        return self._sides[1].version.numbers.find(ref)

    # ---- entities ----------------------------------------------------------------------------------------------------
    def _one_by_one(self, facts: Iterable[Fact]) -> set[str]:
        """The types whose entities must not be represented by others: conditions count them, or depend on how deep they
        are, or the policies differ."""
        before, after = (side.policy for side in self._sides)
        if before is not after:
            return {*before.names.types, *after.names.types}
        every = [fact for fact in facts if fact.kind is FactKind.EVERY_BELOW]
        counted = {type_ for fact in every for type_ in (*fact.types, place_type(fact.place))}
        return counted.union(filter(before.names.varies, before.names.types))

    def _number(self, entities: Collection[int]) -> None:
        before, after = self._sides
        listed = sorted({*entities, self._find(before.root.text) or 0})
        named = (Entity(ref, type_of(ref)) for ref in (self._refs[each] for each in listed))
        numbering = number(after.policy, after.root.text, named, before.policy)
        former = self._on_side(before, numbering)
        self.numberings = former, former if self._same_facts() else self._on_side(after, numbering)
        at = {ref: position for position, ref in enumerate(numbering.refs)}
        self._at = {each: at[self._refs[each]] for each in listed}

    @staticmethod
    def _on_side(side: FactSet, numbering: Numbering) -> Numbering:
        find, existing, builtins = side.version.numbers.find, side.version.existing, side.policy.builtins
        exists = np.array([existing.get(find(ref, -1)) is not None for ref in numbering.refs], np.bool_)
        return replace(
            numbering, exists=exists, builtin=np.array([ref in builtins for ref in numbering.refs], np.bool_)
        )

    def _by_type(self, tree: RegionTree, apart: Iterable[int], rests: Iterable[Rest]) -> None:
        """Finds the targets: objects that answers may contain on at least one side, and those that represent others."""
        found: dict[str, list[tuple[int, int | Rest]]] = {type_: [] for type_ in self._asked}
        either = self.shown[0] | self.shown[1]
        for each in apart:
            type_, position = type_of(self._refs[each]), self._at[each]
            if type_ in found and either[position]:
                found[type_].append((position, each))
        for rest in rests:
            found[rest.type].append((self._at[rest.first], rest))
        for listed in found.values():
            listed.sort(key=itemgetter(0))
        self.objects = RegionTargets(tree, {type_: [each for _, each in listed] for type_, listed in found.items()})
        self.targets = {
            type_: np.array([position for position, _ in listed], np.int64) for type_, listed in found.items()
        }

    def _shown(self, side: FactSet) -> Bools:
        shown = np.zeros(len(self.numberings[0]), np.bool_)
        shown[[position for each, position in self._at.items() if side.shows(each)]] = True
        return shown

    # ---- facts -------------------------------------------------------------------------------------------------------
    def _rows(
        self, tree: RegionTree, version: FactVersion, types: Collection[str], held: Collection[int]
    ) -> list[StoredRow]:
        return [*self._granted(version, tree.granted(version, held, types), held)]

    def _granted(self, version: FactVersion, places: Iterable[int], held: Collection[int]) -> Iterator[StoredRow]:
        """The facts that a question reads."""
        for place in places:
            granted = version.grants.get(place)
            if granted:
                type_ = type_of(self._refs[place])
                for word, by in granted.items():
                    if (word, type_) in self._words:
                        several = by & held if isinstance(held, frozenset) and not isinstance(by, int) else by
                        for each in (several,) if isinstance(several, int) else several:
                            if each in held:
                                yield each, (word, type_), place

    def _table(self, numbering: Numbering, rows: Sequence[StoredRow]) -> FactTable:
        keys = sorted({key for _, key, _ in rows})
        code = {key: at for at, key in enumerate(keys)}
        columns = np.array([(self._at[by], code[key], self._at[place]) for by, key, place in rows], np.int64)
        principal, key, place = columns.reshape(-1, 3).T
        return FactTable(numbering, principal, key, place, tuple(Fact.parse(" ".join(each)) for each in keys))


def _alike(rows: Sequence[Sequence[StoredRow]], own: Collection[int]) -> dict[int, int]:
    """For each principal, the one that represents it: the first principal with the same facts, if they are the same on
    both sides; otherwise itself. The principals in `own` always represent themselves."""
    facts: tuple[dict[int, set[object]], dict[int, set[object]]] = ({}, {})
    for side, each in zip(facts, rows, strict=True):
        for by, key, place in each:
            side.setdefault(by, set()).add((key, place))
    found: dict[int, int] = {each: each for each in own}
    first: dict[object, int] = {}
    for by in sorted({*facts[0], *facts[1]} - found.keys()):
        before, after = facts[0].get(by), facts[1].get(by)
        found[by] = first.setdefault(frozenset(before or ()), by) if before == after else by
    return found


def _words(facts: Iterable[Fact]) -> set[tuple[str, str]]:
    """The words of the stored facts that conditions read, each with the type of its place."""
    found: set[tuple[str, str]] = set()
    for fact in facts:
        if fact.kind is FactKind.OWNS:
            found.add((OWNS, place_type(fact.place)))
        word = "DENY" if fact.kind is FactKind.DENY else "ALLOW"
        types = fact.types or (place_type(fact.place),)
        found.update((f"{word} {each}", type_) for each in fact.privileges for type_ in types)
    return found
