"""Finds in memory the paths, the memberships and the facts for a remedy, in the form of the rows of Cypher."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from grantpath.engine.facts.set.descendants import Descendants, range_below
from grantpath.engine.facts.set.fact_set import FactSet
from grantpath.engine.facts.set.fact_version import TAGGED, has_any, members
from grantpath.engine.policy.facts import effect_and_privilege, held_entity, of_tag
from grantpath.graph.language.reference import Reference, type_of

MAX_EDGES = 50  # of one fact: the limit of explain.cypher
Entry = Mapping[str, Any]


@dataclass(frozen=True)
class _Edge:
    """A grant, an ownership or a membership that is a fact, with the references between its place and the object.

    `down`: from an object of the question up to the place of the grant. `up`: for a fact about descendants, from the
    place of the grant up to the place of the fact. At most one of them is not empty.
    """

    fact: str
    principal: int
    label: str | None = None
    place: str | None = None
    up: Sequence[str] = ()
    down: Sequence[str] = ()


class MemoryPaths:
    """The rows of explain.cypher, membership_edges.cypher and remedy.cypher, from the facts of one revision."""

    def __init__(self, facts: FactSet) -> None:
        self._facts = facts
        self._version, self._policy, self._root = facts
        self._below = Descendants(facts)

    # ---- explain.cypher ----------------------------------------------------------------------------------------------
    def explain(
        self, *, subject: str, role: str | None, places: Sequence[Entry], facts: Sequence[str], below: Sequence[Entry]
    ) -> dict[str, Any]:
        """The paths of the facts, each along a shortest path of memberships."""
        version, find = self._version, self._version.numbers.find
        own, actor = find(subject), find(role or subject)
        if own is None or actor is None or not version.existing.get(own):
            return {"paths": []}
        principals = version.effective(actor)
        ways = {start: self.ways(start) for start in (own, actor)}
        if actor not in ways[own]:
            return {"paths": []}
        edges = [
            *self._granted(principals, places, {*facts}),
            *self._granted_below(principals, below),
            *self._held(principals, places, facts),
        ]
        return {"paths": [self._path(edge, own, actor, ways) for edge in self._first(edges)]}

    def _granted(
        self, principals: AbstractSet[int], places: Iterable[Entry], facts: AbstractSet[str]
    ) -> Iterable[_Edge]:
        for place in places:
            for label, by in self._version.granted_on(place["ref"]).items():
                if (fact := f"{label} {place['at']}") in facts and has_any(by, principals):
                    down = self._tree(place["of"], place["ref"])
                    own, tag_type = of_tag(label)
                    for principal in principals & {*members(by)} if not tag_type else ():
                        yield _Edge(fact, principal, label, place["ref"], down=down)
                    for tag, on_tag in self._on_tags(place["ref"], tag_type, own):
                        for principal in principals & on_tag:
                            yield _Edge(fact, principal, own, tag, down=[*down, tag] if down else [])

    def _on_tags(self, ref: str, type_: str, label: str) -> Iterator[tuple[str, set[int]]]:
        """The tags of a type that an entity has, each with those who have a fact of this label on it."""
        refs = self._version.numbers.refs
        for tag in members(self._version.granted_on(ref).get(TAGGED)):
            if type_of(refs[tag]) == type_ and (by := members(self._version.granted_on(refs[tag]).get(label))):
                yield refs[tag], {*by}

    def _granted_below(self, principals: AbstractSet[int], below: Iterable[Entry]) -> Iterable[_Edge]:
        refs = self._version.numbers.refs
        for place in below:
            labels = {f"ALLOW {privilege}" for privilege in place["privileges"]}
            for principal in principals:
                for number in self._version.places_of.get(principal) or ():
                    ref = refs[number]
                    if type_of(ref) not in place["types"] or not (up := self._tree(ref, place["ref"])[1:]):
                        continue
                    for label, by in (self._version.grants.get(number) or {}).items():
                        if label in labels and principal in members(by):
                            yield _Edge(
                                f"{label} {type_of(ref)} below {place['at']}", principal, label, ref, [ref, *up]
                            )

    def _held(self, principals: AbstractSet[int], places: Iterable[Entry], facts: Iterable[str]) -> Iterable[_Edge]:
        named = {place["at"]: place["ref"] for place in places}
        for fact in facts:
            number = (ref := held_entity(fact, named)) and self._version.numbers.find(ref)
            if isinstance(number, int) and number in principals:
                yield _Edge(fact, number)

    def _first(self, edges: Iterable[_Edge]) -> list[_Edge]:
        """The first edges of each fact."""
        refs, by_fact = self._version.numbers.refs, defaultdict[str, list[_Edge]](list)
        for edge in sorted(edges, key=lambda each: (refs[each.principal], each.place or "")):
            by_fact[edge.fact].append(edge)
        return [edge for found in by_fact.values() for edge in found[:MAX_EDGES]]

    def _path(self, edge: _Edge, own: int, actor: int, ways: Mapping[int, Mapping[int, int]]) -> dict[str, Any]:
        refs, roles = self._version.numbers.refs, self._version.numbers.roles
        numbers = [*route(ways[own], actor), *route(ways[actor], edge.principal)[1:]]
        return {
            "fact": edge.fact,
            "by": refs[edge.principal],
            "place": edge.place,
            "edge": edge.label,
            "members": [refs[each] for each in numbers],
            "links": ["HAS_ROLE" if each in roles else "MEMBER_OF" for each in numbers[1:]],
            "up": edge.up,
            "down": edge.down,
        }

    def ways(self, start: int) -> dict[int, int]:
        """For each entity to which a subject belongs, the entity before it on a shortest path. The subject maps to
        itself."""
        found, border, refs = {start: start}, [start], self._version.numbers.refs
        while border:
            reached: list[int] = []
            for member in border:
                for container in sorted(self._version.containers.get(member) or (), key=refs.__getitem__):
                    if container not in found:
                        found[container] = member
                        reached.append(container)
            border = reached
        return found

    def _tree(self, foot: str, ref: str) -> list[str]:
        """The references from an entity up to one above it, both included; empty if there is no such path."""
        chain = self._policy.chain(self._facts.reference(foot), self._root)
        if not self._policy.is_securable(chain[0][1].type):
            chain = chain[:1]  # e.g. a user, which belongs to the root and is not in its tree
        texts = [each.text for _, each in chain]
        if ref not in texts or not self._below.is_node(chain[0][1]):
            return []
        return texts[: texts.index(ref) + 1]

    # ---- membership_edges.cypher -------------------------------------------------------------------------------------
    def membership_edges(self, *, subject: str) -> dict[str, Any]:
        """The memberships of a subject and of all that it belongs to."""
        refs, number = self._version.numbers.refs, self._version.numbers.find(subject)
        roles = self._version.numbers.roles
        return {
            "links": [
                [refs[member], "HAS_ROLE" if container in roles else "MEMBER_OF", refs[container], None]
                for member in (() if number is None else self._version.effective(number))
                for container in self._version.containers.get(member) or ()
            ]
        }

    # ---- remedy.cypher -----------------------------------------------------------------------------------------------
    def remedy(
        self,
        *,
        subject: str,
        types: Sequence[str],
        names: Sequence[str],
        joining: Sequence[Entry],
        roles: Sequence[str],
        places: Sequence[Entry],
        below: Sequence[Entry],
        together: bool,
    ) -> dict[str, Any]:
        """The facts that decide which statements would make a refused check allowed."""
        version, refs = self._version, self._version.numbers.refs
        principals = self._closure([subject]) if version.exists(subject) else set()
        direct = {*(version.containers.get(version.numbers.find(subject) or 0) or ())} if principals else set()
        held = [each for each in principals if type_of(refs[each]) in types and refs[each] != subject]
        later = self._closure(filter(version.exists, roles))
        return {
            "held": [refs[each] for each in sorted(held, key=lambda each: (each not in direct, refs[each]))],
            "existing": [ref for ref in names if version.exists(ref)],
            "cycles": [each for each in joining if self._belongs(each["container"], each["member"])],
            "found": [
                {"fact": f"{label} {place['at']}", "by": [refs[each] for each in own]}
                for place in places
                for label, by in version.granted_on(place["ref"]).items()
                if (own := later.intersection(members(by)))
            ],
            "denied": [
                {"fact": f"{label} {place['at']}", "by": refs[each], "tags": [tag]}
                for place in places
                for label in version.granted_on(place["ref"])
                if effect_and_privilege(label)[0] == "DENY" and of_tag(label)[1]
                for tag, by in self._on_tags(place["ref"], of_tag(label)[1], of_tag(label)[0])
                for each in by
            ],
            "reached": [
                {"role": role, "refs": [refs[each] for each in self._closure([role])]}
                for role in filter(version.exists, roles)
            ],
            "inside": [
                {"fact": place["fact"], "refs": self._lacking(place, principals if together else set())}
                for place in below
            ],
        }

    def _closure(self, subjects: Iterable[str]) -> set[int]:
        numbers = (self._version.numbers.find(ref) for ref in subjects)
        return {each for number in numbers if number is not None for each in self._version.effective(number)}

    def _belongs(self, member: str, container: str) -> bool:
        return self._version.numbers.find(container) in self._closure([member])

    def _lacking(self, place: Entry, principals: AbstractSet[int]) -> list[str]:
        """The existing entities of some types below a place on which none of the principals has a grant."""
        above = self._facts.reference(place["ref"])
        names = [f"ALLOW {privilege}" for privilege in place["privileges"]]
        return sorted(
            ref
            for type_ in place["types"]
            for ref in existing_below(self._facts, type_, above)
            if not any(has_any(self._version.granted_on(ref).get(name), principals) for name in names)
        )


def route(ways: Mapping[int, int], end: int) -> list[int]:
    """The path from the start of `ways` to an entity, both included."""
    found = [end]
    while ways[found[-1]] != found[-1]:
        found.append(ways[found[-1]])
    return found[::-1]


def existing_below(facts: FactSet, type_: str, place: Reference) -> list[str]:
    """The existing entities of a type below a place, in byte order."""
    refs = facts.version.listed.get(type_, [])
    begin, end = range_below(refs, type_, place, facts.policy)
    return refs[begin:end]
