"""Shows in memory what is stored about an entity, in the form of the rows of Cypher."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from grantpath.engine.facts.set.descendants import Descendants
from grantpath.engine.facts.set.fact_set import FactSet
from grantpath.engine.facts.set.fact_version import OWNS, TAGGED, has_any, members
from grantpath.engine.facts.set.memory_paths import MemoryPaths, existing_below, route
from grantpath.engine.policy.facts import effect_and_privilege
from grantpath.graph.language.reference import Reference, length_of, name_of

TAGS = 50  # tags, and objects of a tag, that show_entity.cypher lists


class MemoryViews:
    """The rows of the queries of cypher/inspection, from the facts of one revision; each method has a query's name."""

    def __init__(self, facts: FactSet) -> None:
        self._facts = facts
        self._version, self._policy, self._root = facts
        self._below = Descendants(facts)
        self._paths = MemoryPaths(facts)

    def show_entity(self, *, ref: str, hidden: Sequence[str], beside: Sequence[str]) -> dict[str, Any]:
        """One entity, with the number of its edges of each kind."""
        entity = self._facts.reference(ref)
        if not self.is_node(entity):
            return {"known": [], "entity": None}
        return {
            "known": [ref],
            "entity": {
                "type": entity.type,
                "exists": self._version.exists(ref),
                "builtin": ref in self._policy.builtins,
                "owner": self.owner(ref),
                "members": sum(self._version.exists(each) for each in self.members_of(ref)),
                "memberships": sum(each not in hidden for each in self.containers_of(ref)),
                "grants_on": sum(each["subject"] not in hidden for each in self._grants_on(ref)),
                "grants_to": sum(each["object"] not in hidden for each in self._grants_to(ref)),
                "owns": sum(1 for _ in self.owned(ref)),
                "tags": len(tags := self.tags_of(ref)),
                "tagged": len(tagged := self.tagged_with(ref)),
                "tag_refs": tags[:TAGS],
                "tagged_refs": tagged[:TAGS],
                "children": [
                    [type_, str(number)] for type_, number in self._children(entity, hidden, beside) if number
                ],
            },
        }

    def list_entities(
        self,
        *,
        needed: Sequence[str],
        type: str,
        under: str,
        owner: str,
        without_owner: bool,
        like: str,
        hidden: Sequence[str],
        after: str,
        limit: int,
    ) -> dict[str, Any]:
        """The existing entities of a type that match all filters, in byte order."""
        listed = self._version.listed.get(type, [])
        if under:
            listed = existing_below(self._facts, type, self._facts.reference(under))
        found = [
            ref
            for ref in listed
            if ref > after
            and ref not in hidden
            and (not owner or self.owner(ref) == owner)
            and not (without_owner and self.owner(ref))
            and like.lower() in name_of(ref).lower()
        ]
        known = [ref for ref in needed if self.is_node(self._facts.reference(ref))]
        return {"known": known, "answer": found[:limit]}

    def list_members(self, *, ref: str, all: bool, after: str, limit: int, hidden: Sequence[str]) -> dict[str, Any]:
        """The members of a group or role, each with a shortest path."""
        found = {*self.members_of(ref)}
        waiting = list(found) if all else []
        while waiting:
            for each in self.members_of(waiting.pop()):
                if each not in found:
                    found.add(each)
                    waiting.append(each)
        shown = (each for each in found if each > after and self._version.exists(each) and each not in hidden)
        return self._listed(ref, [(each, ref) for each in sorted(shown)[:limit]])

    def list_memberships(self, *, ref: str, all: bool, after: str, limit: int, hidden: Sequence[str]) -> dict[str, Any]:
        """The groups and roles that a subject belongs to, each with a shortest path."""
        number, refs = self._version.numbers.find(ref), self._version.numbers.refs
        found = self.containers_of(ref)
        if all and number is not None:
            found = [refs[each] for each in self._version.effective(number) if each != number]
        shown = (each for each in found if each > after and each not in hidden)
        return self._listed(ref, [(ref, each) for each in sorted(shown)[:limit]])

    def list_grants(
        self,
        *,
        on: str,
        to: str,
        privilege: str,
        effect: str,
        after: Sequence[str],
        limit: int,
        hidden: Sequence[str],
        needed: Sequence[str],
    ) -> dict[str, Any]:
        """The grants on an entity, or if `on` is empty those to a subject, or if `to` is empty, too, all; sorted by
        object, subject, privilege, effect."""
        if on or to:
            listed = self._grants_on(on) if on else self._grants_to(to)
        else:
            refs = self._version.numbers.refs
            listed = chain.from_iterable(self._grants_on(refs[number]) for number, _ in self._version.grants.items())
        found = [
            grant
            for grant in listed
            if to in ("", grant["subject"])
            and privilege in ("", grant["privilege"])
            and effect in ("", grant["effect"])
            and grant["subject"] not in hidden
            and grant["object"] not in hidden
        ]
        keys = ("object", "subject", "privilege", "effect")
        found = [each for each in found if [each[key] for key in keys] > list(after)]
        found.sort(key=lambda each: [each[key] for key in keys])
        known = [ref for ref in needed if self.is_node(self._facts.reference(ref))]
        return {"known": known, "answer": found[:limit]}

    def _listed(self, ref: str, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
        known = [ref] if self.is_node(self._facts.reference(ref)) else []
        paths = [self._path(member, container) for member, container in pairs]
        return {"known": known, "answer": [{"path": path, "until": None} for path in paths]}

    def _path(self, member: str, container: str) -> list[str]:
        numbers = self._version.numbers
        start, end = numbers.find(member), numbers.find(container)
        assert start is not None and end is not None, "both are ends of memberships"
        return [numbers.refs[each] for each in route(self._paths.ways(start), end)]

    def owner(self, ref: str) -> str | None:
        """The owner of an object."""
        owners = members(self._version.granted_on(ref).get(OWNS))
        return next((self._version.numbers.refs[each] for each in owners), None)

    def tags_of(self, ref: str) -> list[str]:
        """The tags of an object, in byte order."""
        return sorted(self._version.numbers.refs[each] for each in members(self._version.granted_on(ref).get(TAGGED)))

    def tagged_with(self, ref: str) -> list[str]:
        """What a tag is on, in byte order."""
        number = self._version.numbers.find(ref, -1)
        return sorted(
            each for each in self._places(ref) if has_any(self._version.granted_on(each).get(TAGGED), {number})
        )

    def members_of(self, ref: str) -> list[str]:
        """The direct members of a group or role."""
        version, number = self._version, self._version.numbers.find(ref)
        if number is None:
            return []
        users = version.users_in.get(number)
        found = [*(() if users is None else users.tolist()), *(version.others_in.get(number) or ())]
        return [version.numbers.refs[each] for each in found]

    def containers_of(self, ref: str) -> list[str]:
        """The groups and roles that a subject is in directly."""
        number = self._version.numbers.find(ref)
        found = () if number is None else self._version.containers.get(number) or ()
        return [self._version.numbers.refs[each] for each in found]

    def _grants_on(self, ref: str) -> Iterator[dict[str, str]]:
        for label, by in self._version.stored_on(ref).items():
            effect, privilege = effect_and_privilege(label)
            for principal in members(by) if privilege else ():
                subject = self._version.numbers.refs[principal]
                yield {"effect": effect, "privilege": privilege, "object": ref, "subject": subject}

    def _grants_to(self, ref: str) -> Iterator[dict[str, str]]:
        for place in self._places(ref):
            yield from (grant for grant in self._grants_on(place) if grant["subject"] == ref)

    def owned(self, ref: str) -> Iterator[str]:
        """The objects that a subject owns."""
        number = self._version.numbers.find(ref)
        for place in self._places(ref):
            if number is not None and has_any(self._version.granted_on(place).get(OWNS), {number}):
                yield place

    def _places(self, ref: str) -> list[str]:
        number = self._version.numbers.find(ref)
        found = () if number is None else self._version.places_of.get(number) or ()
        return [self._version.numbers.refs[each] for each in found]

    def _children(self, entity: Reference, hidden: Sequence[str], beside: Sequence[str]) -> Iterator[tuple[str, int]]:
        """By type, in order: the number of entities directly below an entity, and of those of the types `beside`."""
        for type_ in sorted(self._policy.names.types):
            parents = self._policy.names.parents[type_]
            if entity.type in parents and (self._policy.is_securable(type_) or type_ in beside):
                below: Iterable[str] = existing_below(self._facts, type_, entity)
                if self._policy.names.varies(type_):
                    length = 1 if entity == self._root else len(entity.segments) + 1
                    below = (ref for ref in below if length_of(ref) == length)
                yield type_, sum(ref not in hidden for ref in below)

    def is_node(self, entity: Reference) -> bool:
        """Whether the graph has the entity, also as a name that only has grants."""
        return self._below.is_node(entity)
