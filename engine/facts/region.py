"""A part of the object tree with the facts on it, before and after a change, in the form that the kernel takes."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from grantpath.engine.facts.access_names import AskedName
from grantpath.engine.facts.affected import Side
from grantpath.engine.facts.fact_table import FactTable
from grantpath.engine.facts.fact_version import OWNS, FactVersion
from grantpath.engine.facts.intervals import Bools, Ints
from grantpath.engine.facts.tree_order import Numbering, number
from grantpath.engine.policy.facts import Fact, FactKind, place_type
from grantpath.engine.tenants.tenant_state import Entity
from grantpath.graph.reference import name_of, type_of

StoredRow = tuple[int, tuple[str, str], int]  # principal, word and type, place
ITSELF = (FactKind.HOLDS, FactKind.IS)  # facts for which it matters who the place is


class Region:
    """The subtrees of some roots, the places above them, and the facts of the principals of some users there.

    The entities have the same positions on both sides. `targets`: by type, the positions of the objects to ask about.
    `principals`: the numbers of the principals that can matter there, each with its position. `stands_for`: for each
    of them the one that stands for it; with `alike`, one principal stands for all that have the same facts there, if
    these do not change.
    """

    def __init__(
        self,
        sides: tuple[Side, Side],
        names: Sequence[AskedName],
        roots: Collection[int],
        held: Collection[int],
        alike: bool,
    ) -> None:
        """`held`: the effective principals of the users, on either side."""
        self._sides = sides
        self._refs = sides[0].version.numbers.refs
        requirements = [each for name in names for each in (name.before, name.after) if each is not None]
        facts = {fact for each in requirements for fact in each.plan.facts}
        self._words = _words(facts)
        self._asked = {name.type for name in names}
        below = {type_ for fact in facts for type_ in fact.types}
        inside = {number for side in sides for root in roots for number in self._inside(side, root, below)}
        above = {number for side in sides for root in roots for number in self._above(side, root)}
        places = inside | above
        if any(fact.kind is FactKind.ALLOW_BELOW for fact in facts):
            places |= self._named_only(roots, held)
        rows = [[*self._granted(side.version, places, held)] for side in sides]
        itself = {place_type(fact.place) for fact in facts if fact.kind in ITSELF and not fact.entity}
        own = {each for each in places if type_of(self._refs[each]) in itself} & set(held)
        named = {found for fact in facts if fact.entity and (found := self._find(fact.entity)) is not None}
        own |= named & set(held)
        acting = {by for each in rows for by, _, _ in each} | own
        self.stands_for = _alike(rows, own) if alike else {each: each for each in acting}
        self._number(places | acting)
        self.principals = {each: self._at[each] for each in acting}
        self.tables = tuple(self._table(side, each) for side, each in zip(self.numberings, rows, strict=True))
        self.shown = tuple(self._shown(side) for side in sides)
        self.targets = self._by_type(inside)

    def _find(self, ref: str) -> int | None:
        return self._sides[1].version.numbers.find(ref)

    # ---- entities ----------------------------------------------------------------------------------------------------
    def _inside(self, side: Side, root: int, below: Collection[str]) -> Iterator[int]:
        """The existing entities in a subtree: those to ask about, those between, and those that conditions count."""
        ref, names, find = self._refs[root], side.policy.names, side.version.numbers.find
        if side.version.existing.get(root) is not None:
            yield root
        top = type_of(ref)
        wanted: dict[str, None] = {}
        for type_ in (*self._asked, *below):
            chain = names.chain(type_) if type_ in names.types else []
            if top in chain:
                wanted.update(dict.fromkeys(chain[: chain.index(top)]))
        for type_ in wanted:
            listed = side.version.listed.get(type_, [])
            if ref == side.root.text:
                begin, end = 0, len(listed)
            else:
                start = f"{type_}:{name_of(ref)}"
                begin, end = bisect_left(listed, f"{start}."), bisect_left(listed, f"{start}/")
            yield from (find(each, -1) for each in listed[begin:end])

    @staticmethod
    def _above(side: Side, root: int) -> Iterable[int]:
        known = type_of(side.version.numbers.refs[root]) in side.policy.names.types
        return side.chain(root) if known else ()

    def _named_only(self, roots: Collection[int], held: Collection[int]) -> set[int]:
        """The places inside the roots that hold grants of the principals, and do not exist."""
        found: set[int] = set()
        for side in self._sides:
            places = {place for each in held for place in side.version.places_of.get(each) or ()}
            missing = (place for place in places if side.version.existing.get(place) is None)
            found.update(place for place in missing if not set(self._above(side, place)).isdisjoint(roots))
        return found

    def _number(self, entities: Collection[int]) -> None:
        before, after = self._sides
        listed = sorted(entities | {self._find(before.root.text) or 0})  # type: ignore[operator]
        named = (Entity(ref, type_of(ref)) for ref in (self._refs[each] for each in listed))
        numbering = number(after.policy, after.root.text, named, before.policy)
        self.numberings = self._on_side(before, numbering), self._on_side(after, numbering)
        at = {ref: position for position, ref in enumerate(numbering.refs)}
        self._at = {each: at[self._refs[each]] for each in listed}

    @staticmethod
    def _on_side(side: Side, numbering: Numbering) -> Numbering:
        find, existing, builtins = side.version.numbers.find, side.version.existing, side.policy.builtins
        exists = np.array([existing.get(find(ref, -1)) is not None for ref in numbering.refs], np.bool_)
        return replace(
            numbering, exists=exists, builtin=np.array([ref in builtins for ref in numbering.refs], np.bool_)
        )

    def _by_type(self, inside: Iterable[int]) -> dict[str, Ints]:
        """By type, the positions of the objects that are shown on one side at least."""
        found: dict[str, list[int]] = {type_: [] for type_ in self._asked}
        either = self.shown[0] | self.shown[1]
        for each in inside:
            type_, position = type_of(self._refs[each]), self._at[each]
            if type_ in found and either[position]:
                found[type_].append(position)
        return {type_: np.array(sorted(positions), np.int64) for type_, positions in found.items()}

    def _shown(self, side: Side) -> Bools:
        shown = np.zeros(len(self.numberings[0]), np.bool_)
        shown[[position for each, position in self._at.items() if side.shows(each)]] = True
        return shown

    # ---- facts -------------------------------------------------------------------------------------------------------
    def _granted(self, version: FactVersion, places: Iterable[int], held: Collection[int]) -> Iterator[StoredRow]:
        """The facts that a question reads."""
        principals = frozenset(held)
        for place in places:
            granted = version.grants.get(place)
            if granted:
                type_ = type_of(self._refs[place])
                for word, by in granted.items():
                    if (word, type_) in self._words:
                        for each in (by,) if isinstance(by, int) else by & principals:
                            if each in principals:
                                yield each, (word, type_), place

    def _table(self, numbering: Numbering, rows: Sequence[StoredRow]) -> FactTable:
        keys = sorted({key for _, key, _ in rows})
        code = {key: at for at, key in enumerate(keys)}
        columns = np.array([(self._at[by], code[key], self._at[place]) for by, key, place in rows], np.int64)
        principal, key, place = columns.reshape(-1, 3).T
        return FactTable(numbering, principal, key, place, tuple(Fact.parse(" ".join(each)) for each in keys))


def _alike(rows: Sequence[Sequence[StoredRow]], own: Collection[int]) -> dict[int, int]:
    """For each principal, the first one that has the same facts on both sides; `own` stand only for themselves."""
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
