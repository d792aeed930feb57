"""The grants on the places of a question, in the form that checks need."""

from collections.abc import Collection, Iterator
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from grantpath.engine.answers.request import Places
from grantpath.engine.facts.set.fact_version import FactVersion, Grants, has_any, members
from grantpath.engine.policy.fact_plan import Wanted
from grantpath.engine.policy.facts import Fact
from grantpath.engine.policy.policy import Requirement

MOST_KEPT = 4_096  # for each condition, the grants of at most this many places and parents are kept
NOTHING: Wanted = {}


class PlaceBits(NamedTuple):
    """The grants on a place that many questions share. `bits`: for each grantee, the bits of its facts."""

    wanted: Wanted
    grants: Grants
    bits: dict[int, int]
    grantees: frozenset[int]

    @staticmethod
    def of(wanted: Wanted, grants: Grants) -> "PlaceBits":
        """The grants on a place, with the bits of the facts that a condition needs."""
        bits: dict[int, int] = {}
        for name, by in grants.items():
            if name in wanted and (bit := wanted[name][1]):
                for principal in members(by):
                    bits[principal] = bits.get(principal, 0) | bit
        return PlaceBits(wanted, grants, bits, frozenset(bits))


class PlacesGranted:
    """What is granted on the places of one question: on its object, and on all others."""

    __slots__ = ("_grants", "_others", "_wanted", "shared")

    def __init__(self, wanted: Wanted, grants: Grants | None, others: list[PlaceBits], shared: bool) -> None:
        """`wanted` and `grants` are those of the object. `shared`: all objects inside the same parent have the same
        other places."""
        self._wanted, self._grants, self._others, self.shared = wanted, grants, others, shared

    def bits(self, principals: AbstractSet[int]) -> int:
        """The bits of the facts that these principals have."""
        return self.bits_with(self._grants, principals)

    def bits_with(self, grants: Grants | None, principals: AbstractSet[int]) -> int:
        """The bits, if these are the grants on the object: on another one inside the same parent, if `shared`."""
        found = 0
        for _, _, bits, grantees in self._others:
            if not grantees.isdisjoint(principals):  # on most places they are disjoint, which is found quickly
                for principal in grantees & principals:
                    found |= bits[principal]
        if grants is not None:
            wanted = self._wanted
            for name, by in grants.items():
                if name in wanted and has_any(by, principals):
                    found |= wanted[name][1]
        return found

    def on(self, grants: Grants | None) -> "PlacesGranted":
        """The same with these grants on the object."""
        return PlacesGranted(self._wanted, grants, self._others, self.shared)

    def facts(self) -> Iterator[tuple[Fact, Collection[int]]]:
        """The facts, and who has them; also DENYs that no clause has, because reasons mention them."""
        for each in self._others:
            yield from facts_of(each.wanted, each.grants)
        if self._grants is not None:
            yield from facts_of(self._wanted, self._grants)


def facts_of(wanted: Wanted, grants: Grants) -> Iterator[tuple[Fact, Collection[int]]]:
    """The facts that a condition needs of a place with these grants, and who has them."""
    return ((wanted[name][0], members(by)) for name, by in grants.items() if name in wanted)


class ConditionGrants:
    """The grants that the checks of one condition need. All versions of a copy share it; threads may share it.

    Grants on the places above an object are kept, because all objects inside the same parent share them, and popular
    places have thousands of grants. Kept grants are used only while the version has these very Python objects.
    """

    def __init__(self, requirement: Requirement) -> None:
        stored, named = requirement.plan.stored, requirement.plan.named
        self._own = requirement.up[0]
        self._wanted = stored.get(self._own, NOTHING)
        self._others = [(place, named.get(place), stored[place]) for place in stored if place != self._own]
        up = requirement.up
        above = {*up[1:], *named}
        self._parent = up[1] if len(up) > 1 and all(place in above for place, _, _ in self._others) else None
        self._bits: dict[tuple[str, int], PlaceBits] = {}
        # the grants of a version; and by parent, what is kept of them for the places other than the object
        self._above: tuple[object, dict[str, list[PlaceBits]]] = (None, {})

    @property
    def by_parent(self) -> bool:
        """Whether the objects inside the same parent share all other places."""
        return self._parent is not None

    def kept(self, version: FactVersion, parent: str) -> PlacesGranted | None:
        """What is granted above the objects inside a parent; None if it is not kept."""
        of, above = self._above
        others = above.get(parent) if of is version.grants else None
        return None if others is None else PlacesGranted(self._wanted, None, others, True)

    def on(self, version: FactVersion, places: Places) -> PlacesGranted:
        """What is granted on the places of a question."""
        grants = None
        if self._wanted:
            grants = version.grants.get(version.numbers.find(places[self._own].text, -1))
        if self._parent is None:
            return PlacesGranted(self._wanted, grants, self._on_others(version, places), False)
        of, above = self._above
        if of is not version.grants:
            above = {}
            self._above = version.grants, above  # one assignment, so that no thread combines two versions
        parent = places[self._parent].text
        others = above.get(parent)
        if others is None:
            if len(above) >= MOST_KEPT:
                above.clear()
            others = above[parent] = self._on_others(version, places)
        return PlacesGranted(self._wanted, grants, others, True)

    def _on_others(self, version: FactVersion, places: Places) -> list[PlaceBits]:
        found = []
        for place, named, wanted in self._others:
            number = version.numbers.find(named or places[place].text, -1)
            grants = version.grants.get(number)
            if grants is not None:
                kept = self._bits.get((place, number))
                if kept is None or kept.grants is not grants:
                    if len(self._bits) >= MOST_KEPT:
                        self._bits.clear()
                    kept = self._bits[place, number] = PlaceBits.of(wanted, grants)
                found.append(kept)
        return found
