"""Derives a later or an earlier version of the facts from a version and the deltas of the log."""

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from grantpath.engine.facts.set.copy_size import GRANT, MEMBERSHIP
from grantpath.engine.facts.set.fact_version import (
    TAGGED,
    FactVersion,
    Grants,
    Numbers,
    fact_of,
    has_any,
    members,
)
from grantpath.engine.facts.set.layered_map import LayeredMap
from grantpath.engine.facts.set.renamed_facts import renamed_facts
from grantpath.graph.language.reference import type_of
from grantpath.graph.language.statement import parse_statement

# The lists `added` and `removed` of an entry of the log. If it is a rename or a move with many facts, they are empty or
# missing, and the list `renamed` has the former and the new reference.
Facts = Mapping[str, Sequence[str]]
Value = TypeVar("Value")
Drafted = dict[int, Value | None]  # the changes of a map; None removes a key
MANY = 100  # changes of a list of references from which on it is sorted again
NO_USERS = np.empty(0, np.int32)


class Contradiction(Exception):
    """A delta removes a fact that the copy does not have, or adds one that it has."""


def advanced(version: FactVersion, entries: Iterable[Facts], revision: int, exact: bool = True) -> FactVersion:
    """The facts at a later revision, after the deltas of the log's entries.

    If `exact`, raises Contradiction if a delta does not fit the facts. Set `exact` to false for facts that were read
    while others changed the graph: they may already contain some facts that a delta adds, and lack some that it
    removes.
    """
    draft = FactDraft(version, exact)
    for entry in entries:
        if entry.get("renamed"):
            draft = FactDraft(draft.version(revision), exact)
            entry = listed_facts(draft.former, entry)
        draft.change(entry["removed"], entry["added"])
    return draft.version(revision)


def returned(version: FactVersion, entries: Iterable[Facts], revision: int) -> FactVersion:
    """The facts at an earlier revision, before the deltas of the log's entries, which are given newest first.

    Raises Contradiction if a delta does not fit the facts.
    """
    draft = FactDraft(version, exact=True)
    for entry in entries:
        if entry.get("renamed"):
            draft = FactDraft(draft.version(revision), exact=True)
            back = listed_facts(draft.former, {"renamed": entry["renamed"][::-1]})
            draft.change(back["removed"], back["added"])
        else:
            draft.change(reversed(entry["added"]), reversed(entry["removed"]))
    return draft.version(revision)


def listed_facts(version: FactVersion, entry: Facts) -> Facts:
    """The entry with the facts that it adds to this version and removes from it, also if it is a rename or a move.

    Raises Contradiction if the version does not have the entity that is renamed.
    """
    if not (names := entry.get("renamed")):
        return entry
    ref, to = names
    if not version.exists(ref):
        raise Contradiction(f"{ref} was renamed to {to}")
    return renamed_facts(version, ref, to)


class FactDraft:
    """The changes from one version to the next."""

    def __init__(self, former: FactVersion, exact: bool) -> None:
        self.former = former
        self._exact = exact
        self._number = former.numbers.of
        self._size_of_edges = former.size_of_edges
        self._existing: Drafted[bool] = {}
        self._containers: Drafted[tuple[int, ...]] = {}
        self._grants: Drafted[Grants] = {}
        self._users_in: Drafted[Numbers] = {}
        self._others_in: Drafted[tuple[int, ...]] = {}
        self._places_of: dict[int, dict[int, None]] = {}  # no tuples: one principal can have very many places

    def change(self, removed: Iterable[str], added: Iterable[str]) -> None:
        """Removes and adds the facts of canonical statements. Raises Contradiction."""
        for text in removed:
            self._apply(text, adds=False)
        for text in added:
            self._apply(text, adds=True)

    def _apply(self, text: str, adds: bool) -> None:
        words = parse_statement(text)
        object_ = self._number(words.object)
        if words.kind == "add":
            changed = self._entity(object_, adds)
        elif words.kind == "member":
            changed = self._member(self._number(words.subject or ""), object_, adds)
        else:
            principal, label, _ = fact_of(words)
            changed = self._grant(self._number(principal), sys.intern(label), object_, adds)
        if self._exact and not changed:
            raise Contradiction(text)

    def version(self, revision: int) -> FactVersion:
        """The version with these changes."""
        former = self.former
        return replace(
            former,
            revision=revision,
            existing=former.existing.changed(self._existing),
            containers=former.containers.changed(self._containers),
            grants=former.grants.changed(self._grants),
            users_in=former.users_in.changed(self._users_in),
            others_in=former.others_in.changed(self._others_in),
            places_of=former.places_of.changed({each: tuple(of) or None for each, of in self._places_of.items()}),
            listed=_relisted(former.listed, self._changed(self._exists)),
            granted_names=_relisted(former.granted_names, self._changed(self._only_granted)),
            size_of_edges=self._size_of_edges,
            closures={} if self._containers else former.closures,
            closures_of_containers={} if self._containers else former.closures_of_containers,
        )

    def _changed(self, holds: Callable[[int, bool], bool]) -> list[tuple[str, bool]]:
        """The references for which a condition begins (true) or ceases (false) to hold.

        `holds(number, now)` evaluates it for an entity: in the next version if `now` is true, else in the former one.
        """
        touched = {*self._existing, *self._grants}
        return [
            (self.former.numbers.refs[number], now)
            for number in touched
            if (now := holds(number, True)) != holds(number, False)
        ]

    def _exists(self, number: int, now: bool) -> bool:
        return _latest(self._existing if now else {}, self.former.existing, number) is not None

    def _only_granted(self, number: int, now: bool) -> bool:
        granted = _latest(self._grants if now else {}, self.former.grants, number)
        return granted is not None and not self._exists(number, now)

    def _entity(self, entity: int, adds: bool) -> bool:
        before = _latest(self._existing, self.former.existing, entity)
        self._existing[entity] = True if adds else None
        return (before is not None) != adds

    def _member(self, subject: int, container: int, adds: bool) -> bool:
        changed = _toggle(self._containers, self.former.containers, subject, container, adds)
        if not changed:
            return False
        self._size_of_edges += MEMBERSHIP if adds else -MEMBERSHIP
        if subject in self.former.numbers.users:
            before = _latest(self._users_in, self.former.users_in, container)
            rest = NO_USERS if before is None else before
            rest = np.append(rest, np.int32(subject)) if adds else rest[rest != subject]
            self._users_in[container] = rest if len(rest) else None
        else:
            _toggle(self._others_in, self.former.others_in, container, subject, adds)
        return True

    def _grant(self, principal: int, fact: str, place: int, adds: bool) -> bool:
        """Adds or removes a grant, an ownership or a tag, with what follows from it for what has the tag."""
        several = frozenset(members(self._on(place).get(fact)))
        if (principal in several) == adds:
            return False
        self._set(fact, place, several | {principal} if adds else several - {principal})
        refs, tags = self.former.numbers.refs, self.former.numbers.tag_types
        if fact == TAGGED:
            for label in self._on(principal) if type_of(refs[principal]) in tags else ():
                self._follow_tags(label, type_of(refs[principal]), place)
        elif type_of(refs[place]) in tags:
            for tagged in [*self._places(place)]:
                self._follow_tags(fact, type_of(refs[place]), tagged)
        return True

    def _follow_tags(self, label: str, type_: str, place: int) -> None:
        """Sets who has a grant on a tag of this type that the entity has."""
        numbers = self.former.numbers
        by_tag = numbers.label_by_tag(label, type_)
        if by_tag is not None:
            tags = (tag for tag in members(self._on(place).get(TAGGED)) if type_of(numbers.refs[tag]) == type_)
            have = frozenset(by for tag in tags for by in members(self._on(tag).get(label)))
            self._set(sys.intern(by_tag), place, have)

    def _on(self, place: int) -> Grants:
        return _latest(self._grants, self.former.grants, place) or {}

    def _set(self, fact: str, place: int, principals: frozenset[int]) -> None:
        """Sets who has a fact on an entity."""
        granted = dict(self._on(place))
        before = frozenset(members(granted.pop(fact, None)))
        if before == principals:
            return
        self._size_of_edges += GRANT * (len(principals) - len(before))
        if principals:
            granted[fact] = principals if len(principals) > 1 else next(iter(principals))
        self._grants[place] = granted or None
        for each in before ^ principals:
            if any(has_any(by, {each}) for by in granted.values()):
                self._places(each)[place] = None
            else:
                self._places(each).pop(place, None)

    def _places(self, principal: int) -> dict[int, None]:
        """The entities on which a principal has a fact, to be changed."""
        drafted = self._places_of.get(principal)
        if drafted is None:
            drafted = self._places_of[principal] = dict.fromkeys(self.former.places_of.get(principal) or ())
        return drafted


def _relisted(listed: Mapping[str, list[str]], changed: Iterable[tuple[str, bool]]) -> Mapping[str, list[str]]:
    """The sorted references by type, with some of them added (true) or removed. Unchanged lists are shared."""
    changes: dict[str, list[tuple[str, bool]]] = {}
    for ref, added in changed:
        changes.setdefault(type_of(ref), []).append((ref, added))
    later = dict(listed)
    for type_, of_type in changes.items():
        if len(of_type) > MANY:
            gone = {ref for ref, added in of_type if not added}
            rest = (ref for ref in listed.get(type_, ()) if ref not in gone)
            later[type_] = sorted([*rest, *(ref for ref, added in of_type if added)])
            continue
        refs = later[type_] = [*listed.get(type_, ())]
        for ref, added in of_type:
            at = bisect_left(refs, ref)
            refs[at : at + (not added)] = [ref] if added else []
    return later if changes else listed


def _latest(drafted: "Drafted[Value]", former: LayeredMap[int, Value], key: int) -> Value | None:
    return drafted[key] if key in drafted else former.get(key)


def _toggle(
    drafted: "Drafted[tuple[int, ...]]", former: LayeredMap[int, tuple[int, ...]], key: int, member: int, adds: bool
) -> bool:
    """Adds a member to the tuple of a key, or removes it. False if nothing changes."""
    before = _latest(drafted, former, key) or ()
    if (member in before) == adds:
        return False
    rest = (*before, member) if adds else tuple(each for each in before if each != member)
    drafted[key] = rest or None
    return True
