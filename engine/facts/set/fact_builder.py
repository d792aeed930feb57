"""Collects all facts of a root, one by one, into a first version."""

import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from grantpath.engine.facts.set.copy_size import GRANT, MEMBERSHIP, require_room
from grantpath.engine.facts.set.fact_version import (
    TAGGED,
    EntityNumbers,
    FactOrigin,
    FactVersion,
    Grants,
    Numbers,
    is_stored,
    members,
)
from grantpath.engine.facts.set.layered_map import LayeredMap
from grantpath.engine.policy.policy import Policy
from grantpath.graph.language.reference import type_of


def under_policy(version: FactVersion, policy: Policy) -> FactVersion:
    """The same facts under another policy, which may have other types of users and roles. Entities keep their
    numbers."""
    refs = version.numbers.refs[:]  # other versions may add to the list meanwhile
    builder = FactVersionBuilder(policy, known=refs)
    for entity, _ in version.existing.items():
        builder.entity(entity)
    for member, containers in version.containers.items():
        builder.member(member, containers)
    for place, granted in version.grants.items():
        for fact, by in granted.items():
            for each in members(by) if is_stored(fact) else ():
                builder.grant(each, fact, place)
    return builder.version(replace(version.origin, policy=policy.digest), version.revision)


class FactVersionBuilder:
    """Collects the facts of a whole root, with entities as numbers. The methods that add raise TooLarge if the facts
    need more than `limit` bytes."""

    def __init__(self, policy: Policy, limit: int | None = None, known: Iterable[str] = ()) -> None:
        """`known`: references that get the numbers 0, 1, 2, ... in this order."""
        self._limit = limit
        self._size_of_edges = 0
        self._numbers = EntityNumbers(policy)
        self.number = self._numbers.of  # the number of a reference, a new one if necessary
        for ref in known:
            self.number(ref)
        self._existing: dict[int, bool] = {}
        self._containers: dict[int, tuple[int, ...]] = {}
        self._grants: dict[int, Grants] = {}
        self._several: dict[tuple[int, str], set[int]] = {}

    def entity(self, entity: int) -> None:
        """Adds an entity that exists."""
        self._existing[entity] = True
        self._add(0)

    def member(self, member: int, containers: Iterable[int]) -> None:
        """Adds all groups and roles that a subject is in directly."""
        if inside := tuple(containers):
            self._containers[member] = inside
            self._add(MEMBERSHIP * len(inside))

    def grant(self, by: int, fact: str, place: int) -> None:
        """Adds a grant, an ownership or a tag; `fact` is 'ALLOW SELECT_TABLE', OWNS or TAGGED."""
        key = sys.intern(fact)
        granted = self._grants.setdefault(place, {})
        former = granted.setdefault(key, by)
        if former != by:
            self._several.setdefault((place, key), {former} if isinstance(former, int) else set()).add(by)
        self._add(GRANT)

    def _add(self, size: int) -> None:
        self._size_of_edges += size
        require_room(self._numbers.size + self._size_of_edges, self._limit)

    def version(self, origin: FactOrigin, revision: int) -> FactVersion:
        """The collected facts, as a version with this revision."""
        self._follow_tags()
        for (place, key), several in self._several.items():
            self._grants[place][key] = frozenset(several)
        return FactVersion(
            origin,
            revision,
            self._numbers,
            LayeredMap(self._existing),
            LayeredMap(self._containers),
            LayeredMap(self._grants),
            *self._members(),
            LayeredMap(self._places()),
            self._by_type(self._existing),
            self._by_type(each for each in self._grants if each not in self._existing),
            self._size_of_edges,
        )

    def _follow_tags(self) -> None:
        """Adds, on what has a tag, what is granted on the tag."""
        numbers = self._numbers
        tagged = [place for place, granted in self._grants.items() if TAGGED in granted] if numbers.tag_types else ()
        for place in tagged:
            for tag in self._having(place, TAGGED):
                for label in self._grants.get(tag) or ():
                    if by_tag := numbers.label_by_tag(label, type_of(numbers.refs[tag])):
                        for each in self._having(tag, label):
                            self.grant(each, by_tag, place)

    def _having(self, place: int, fact: str) -> Iterable[int]:
        return self._several.get((place, fact)) or members(self._grants[place][fact])

    def _members(self) -> tuple[LayeredMap[int, Numbers], LayeredMap[int, tuple[int, ...]]]:
        users: dict[int, list[int]] = defaultdict(list)
        others: dict[int, list[int]] = defaultdict(list)
        for member, containers in self._containers.items():
            members = users if member in self._numbers.users else others
            for container in containers:
                members[container].append(member)
        return (
            LayeredMap({container: np.array(found, np.int32) for container, found in users.items()}),
            LayeredMap({container: tuple(found) for container, found in others.items()}),
        )

    def _places(self) -> dict[int, tuple[int, ...]]:
        places: dict[int, dict[int, None]] = defaultdict(dict)
        for place, granted in self._grants.items():
            for by in granted.values():
                for principal in (by,) if isinstance(by, int) else by:
                    places[principal][place] = None
        return {principal: tuple(found) for principal, found in places.items()}

    def _by_type(self, numbers: Iterable[int]) -> dict[str, list[str]]:
        """The references of entities by type, in byte order."""
        listed: dict[str, list[str]] = defaultdict(list)
        for number in numbers:
            ref = self._numbers.refs[number]
            listed[type_of(ref)].append(ref)
        return {type_: sorted(refs) for type_, refs in listed.items()}
