"""The facts of a root at one revision, in maps that questions look up, and the step to a later revision."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from grantpath.engine.facts.layered_map import LayeredMap
from grantpath.graph.reference import type_of
from grantpath.graph.statement import parse_statement

OWNS = "OWNS"
Grants = dict[str, int | frozenset[int]]  # by 'ALLOW SELECT_TABLE' or OWNS: the principal that has it, or several
Facts = Mapping[str, Iterable[str]]  # the lists `added` and `removed` of an entry of the log


class Contradiction(Exception):
    """A delta removes a fact that the copy does not have, or adds one that it has."""


class EntityNumbers:
    """Numbers references. All versions of a copy share it, because it only grows; one thread at a time extends it."""

    def __init__(self, role_types: Iterable[str]) -> None:
        self._role_types = frozenset(role_types)
        self.refs: list[str] = []
        self.roles: set[int] = set()
        self._number: dict[str, int] = {}
        self.find = self._number.get

    def of(self, ref: str) -> int:
        """The number of a reference, a new one if necessary."""
        number = self._number.get(ref)
        if number is None:
            # in this order, a process that is forked in between has an unused number, and no wrong one
            number = len(self.refs)
            self.refs.append(ref)
            if type_of(ref) in self._role_types:
                self.roles.add(number)
            self._number[ref] = number
        return number


@dataclass(frozen=True)
class FactOrigin:
    """What a revision counts in: the tenant's creation id, its log's chain, and the digest of its policy."""

    made: str
    chain: str
    policy: str


@dataclass(frozen=True, slots=True)
class FactVersion:
    """The facts at one revision; immutable. Entities are numbers of `numbers`.

    `existing` has the entities that exist, `containers` the groups and roles that a subject is in directly, `grants`
    what is granted on an entity and who owns it.
    """

    origin: FactOrigin
    revision: int
    numbers: EntityNumbers
    existing: LayeredMap[int, bool]
    containers: LayeredMap[int, tuple[int, ...]]
    grants: LayeredMap[int, Grants]

    def exists(self, ref: str) -> bool:
        """Whether the entity exists. A name that only holds grants does not."""
        number = self.numbers.find(ref)
        return number is not None and self.existing.get(number) is not None

    def effective(self, subject: int) -> set[int]:
        """The subject with its groups and roles, direct or through others."""
        found, waiting, containers = {subject}, [subject], self.containers.get
        while waiting:
            for each in containers(waiting.pop()) or ():
                if each not in found:
                    found.add(each)
                    waiting.append(each)
        return found

    def held_roles(self, subject: int) -> list[int]:
        """The roles that a subject holds directly."""
        return [each for each in self.containers.get(subject) or () if each in self.numbers.roles]

    def with_roles(self, role: int) -> set[int]:
        """The role with the roles that it holds, direct or through others."""
        found, waiting = {role}, [role]
        while waiting:
            for each in self.held_roles(waiting.pop()):
                if each not in found:
                    found.add(each)
                    waiting.append(each)
        return found

    def after(self, entries: Iterable[Facts], revision: int, exact: bool = True) -> "FactVersion":
        """The facts at a later revision, after the deltas of the log's entries.

        Raises Contradiction if one of them does not fit and `exact` is true. A copy that was read while others changed
        the graph may contain a part of what the deltas add, so it is not exact.
        """
        draft = _Draft(self, exact)
        for entry in entries:
            for text in entry["removed"]:
                draft.apply(text, adds=False)
            for text in entry["added"]:
                draft.apply(text, adds=True)
        return replace(
            self,
            revision=revision,
            existing=self.existing.changed(draft.existing),
            containers=self.containers.changed(draft.containers),
            grants=self.grants.changed(draft.grants),
        )


class FactVersionBuilder:
    """Collects the facts of a whole root."""

    def __init__(self, role_types: Iterable[str]) -> None:
        self._numbers = EntityNumbers(role_types)
        self._existing: dict[int, bool] = {}
        self._containers: dict[int, tuple[int, ...]] = {}
        self._grants: dict[int, Grants] = {}
        self._several: dict[tuple[int, str], set[int]] = {}

    def entity(self, ref: str) -> None:
        """Adds an entity that exists."""
        self._existing[self._numbers.of(ref)] = True

    def member(self, ref: str, containers: Iterable[str]) -> None:
        """Adds all groups and roles that a subject is in directly."""
        if inside := tuple(map(self._numbers.of, containers)):
            self._containers[self._numbers.of(ref)] = inside

    def grant(self, subject: str, fact: str, object_: str) -> None:
        """Adds a grant or an ownership; `fact` is 'ALLOW SELECT_TABLE' or OWNS."""
        key, by, place = sys.intern(fact), self._numbers.of(subject), self._numbers.of(object_)
        granted = self._grants.setdefault(place, {})
        former = granted.setdefault(key, by)
        if former != by:
            self._several.setdefault((place, key), {former} if isinstance(former, int) else set()).add(by)

    def version(self, origin: FactOrigin, revision: int) -> FactVersion:
        """The facts, as those of a revision."""
        for (place, key), several in self._several.items():
            self._grants[place][key] = frozenset(several)
        return FactVersion(
            origin,
            revision,
            self._numbers,
            LayeredMap(self._existing),
            LayeredMap(self._containers),
            LayeredMap(self._grants),
        )


class _Draft:
    """The changes from one version to the next."""

    def __init__(self, version: FactVersion, exact: bool) -> None:
        self._version = version
        self._exact = exact
        self._number = version.numbers.of
        self.existing: dict[int, bool | None] = {}
        self.containers: dict[int, tuple[int, ...] | None] = {}
        self.grants: dict[int, Grants | None] = {}

    def apply(self, text: str, adds: bool) -> None:
        """Adds or removes the fact of a canonical statement. Raises Contradiction."""
        words = parse_statement(text)
        object_ = self._number(words.object)
        if words.subject is None:
            changed = self._entity(object_, adds)
        elif words.kind == "member":
            changed = self._member(self._number(words.subject), object_, adds)
        else:
            fact = OWNS if words.kind == "owner" else f"{words.effect} {words.privilege}"
            changed = self._grant(self._number(words.subject), sys.intern(fact), object_, adds)
        if self._exact and not changed:
            raise Contradiction(text)

    def _entity(self, entity: int, adds: bool) -> bool:
        before = self.existing[entity] if entity in self.existing else self._version.existing.get(entity)
        self.existing[entity] = True if adds else None
        return (before is not None) != adds

    def _member(self, subject: int, container: int, adds: bool) -> bool:
        before = self.containers[subject] if subject in self.containers else self._version.containers.get(subject)
        rest = tuple(each for each in before or () if each != container)
        self.containers[subject] = ((*rest, container) if adds else rest) or None
        return (len(rest) < len(before or ())) != adds

    def _grant(self, principal: int, fact: str, place: int, adds: bool) -> bool:
        before = self.grants[place] if place in self.grants else self._version.grants.get(place)
        granted = dict(before or {})
        former = granted.pop(fact, frozenset())
        several = frozenset([former]) if isinstance(former, int) else former
        changed = (principal in several) != adds
        several = several | {principal} if adds else several - {principal}
        if several:
            granted[fact] = several if len(several) > 1 else next(iter(several))
        self.grants[place] = granted or None
        return changed
