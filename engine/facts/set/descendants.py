"""Facts about what is below a place: a grant on some entity there, or on every entity of some types."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from grantpath.engine.facts.set.fact_set import FactSet
from grantpath.engine.facts.set.fact_version import has_any, members
from grantpath.engine.policy.facts import Fact
from grantpath.engine.policy.policy import Policy
from grantpath.graph.language.reference import Reference, path_of, type_of

AFTER_DOT = "/"  # follows "." in byte order: all references that begin with `begin.` are before `begin/`


def range_below(refs: Sequence[str], type_: str, place: Reference, policy: Policy) -> tuple[int, int]:
    """The half-open range of the references that are below a place. `refs` have one type and are in byte order.

    They form a range, because the references below a place begin with the segments of the place.
    """
    if place.type == policy.root_type:
        return 0, 0 if type_ == place.type else len(refs)  # nothing is below itself
    return range_from(refs, start_below(type_, place))


def range_from(refs: Sequence[str], start: str) -> tuple[int, int]:
    """The half-open range of the references that begin with `start`, which ends with a dot."""
    return bisect_left(refs, start), bisect_left(refs, f"{start[:-1]}{AFTER_DOT}")


def start_below(type_: str, place: Reference) -> str:
    """The prefix of the references of a type that are below a place. The place must not be the root object."""
    return f"{type_}:{path_of(place)}."


class Descendants:
    """What is below the places of one root at one revision."""

    def __init__(self, facts: FactSet) -> None:
        self._facts = facts
        self.version, self._policy, self._root = facts

    def held(self, facts: Iterable[Fact], principals: AbstractSet[int]) -> set[tuple[Fact, str, int]]:
        """The facts of the kind ALLOW_BELOW that the principals have, as (fact, place, principal)."""
        version, refs = self.version, self.version.numbers.refs
        wanted: dict[str, list[tuple[str, Fact]]] = {}
        for fact in facts:
            wanted.setdefault(fact.types[0], []).extend((name, fact) for name in _names(fact))
        return {
            (fact, place, principal)
            for principal in (principals if wanted else ())
            for number in version.places_of.get(principal) or ()
            for name, fact in wanted.get(type_of(refs[number]), ())
            if has_any((version.grants.get(number) or {}).get(name), {principal})
            if (place := self._above(refs[number], fact.place.rpartition(".")[2])) is not None
        }

    def holders(self, fact: Fact, place: Reference) -> set[int]:
        """The principals that have a fact of the kind ALLOW_BELOW."""
        [type_] = fact.types
        return {
            principal
            for listed in (self.version.listed, self.version.granted_names)
            for ref in self.below(listed, type_, place)
            for principal in self._grantees(ref, fact)
        }

    def on_every(self, fact: Fact, place: Reference, principals: AbstractSet[int]) -> bool:
        """Whether a fact of the kind EVERY_BELOW is true: on each entity, one of the principals has a grant."""
        return self.is_node(place) and all(
            not grantees.isdisjoint(principals) for grantees in self.grantees_of_each(fact, place)
        )

    def grantees_of_each(self, fact: Fact, place: Reference) -> Iterator[set[int]]:
        """For each entity that a fact of the kind EVERY_BELOW is about: the principals that have a grant on it."""
        for type_ in fact.types:
            for ref in self.below(self.version.listed, type_, place):
                yield self._grantees(ref, fact)

    def is_node(self, place: Reference) -> bool:
        """Whether the graph has the place: it exists, or there are grants on it or on names below it."""
        names = self.version.granted_names
        return (
            self.version.exists(place.text)
            or place.text in names.get(place.type, ())
            or any(self.below(names, type_, place) for type_ in self._policy.names.below(place.type))
        )

    def below(self, listed: Mapping[str, list[str]], type_: str, place: Reference) -> list[str]:
        """The references of a type that are below a place; `listed` has references by type, in byte order."""
        refs = listed.get(type_, [])
        begin, end = range_below(refs, type_, place, self._policy)
        return refs[begin:end]

    def _grantees(self, ref: str, fact: Fact) -> set[int]:
        granted = self.version.granted_on(ref)
        return {principal for name in _names(fact) for principal in members(granted.get(name))}

    def _above(self, ref: str, place: str) -> str | None:
        """The entity above another one that is at this place, if there is one."""
        above = dict(self._policy.chain(self._facts.reference(ref), self._root)[1:])
        return above[place].text if place in above else None


def _names(fact: Fact) -> list[str]:
    """The grants that a fact is about, as FactVersion names them."""
    return [f"ALLOW {privilege}" for privilege in fact.privileges]
