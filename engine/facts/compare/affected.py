"""Finds the users and the objects whose access a delta can change, so that only these are compared."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from grantpath.engine.facts.compare.access_names import AskedName
from grantpath.engine.facts.compare.equal_rows import numbered
from grantpath.engine.facts.set.fact_set import Sides
from grantpath.engine.facts.set.fact_version import (
    TAGGED,
    FactVersion,
    Numbers,
    fact_of,
    members,
)
from grantpath.engine.policy.facts import FactKind, place_type
from grantpath.graph.distinct_numbers import distinct
from grantpath.graph.language.reference import type_of
from grantpath.graph.language.statement import Statement, parse_statement

MOST_SOURCES = 62  # with more parts, all parts of a delta are merged, because each part is one bit of an integer
MOST_BLOCKS = 16
NOBODY = np.empty(0, np.int32)
FREE = (FactKind.EXISTS, FactKind.BUILTIN, FactKind.EVERY_BELOW, FactKind.ALL)  # can be true without a fact of the user


@dataclass(frozen=True)
class Block:
    """Users whose access to the objects in the subtrees of `roots` can differ. `users`: their numbers, ascending."""

    users: Numbers
    roots: frozenset[int]


@dataclass
class _Source:
    """A part of a delta: the users whose facts it changes (None: all users), and the roots of the subtrees where their
    access can differ."""

    users: set[int] | None = None
    roots: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class _Reads:
    """What the conditions of the names read.

    `below`: the types of places about whose descendants a condition asks. `named`: the entities that conditions name;
    `types_of_named`: the types that such conditions are about. `free_types`: the types on which a user can be allowed
    without a fact of its own. `words`: for each name, pairs of 'ALLOW SELECT_TABLE' or OWNS, and the type of the place.
    """

    below: frozenset[str]
    named: frozenset[str]
    types_of_named: frozenset[str]
    free_types: frozenset[str]
    one_role: bool
    words: Mapping[AskedName, frozenset[tuple[str, str]]]


@lru_cache(maxsize=16)
def _what_is_read(names: tuple[AskedName, ...]) -> _Reads:
    requirements = [each for name in names for each in (name.before, name.after) if each is not None]
    facts = {fact for each in requirements for fact in each.facts}
    return _Reads(
        below=frozenset(place_type(fact.place) for fact in facts if fact.below),
        named=frozenset(fact.entity for fact in facts if fact.entity),
        types_of_named=frozenset(each.type for each in requirements if any(fact.entity for fact in each.facts)),
        free_types=frozenset(
            each.type
            for each in requirements
            if any(
                all(any(f.kind in FREE for o in term for f in o.any) for term in clause)
                for one in each.of_examples
                for clause in one.clauses
            )
        ),
        one_role=any(each.one_role for each in requirements),
        words={name: frozenset(_words(name)) for name in names},
    )


def _words(name: AskedName) -> Iterator[tuple[str, str]]:
    for requirement in (name.before, name.after):
        for fact in requirement.facts if requirement else ():
            words = [f"{'DENY' if fact.kind is FactKind.DENY else 'ALLOW'} {each}" for each in fact.privileges]
            for type_ in fact.types or (place_type(fact.place),):
                yield from ((word, type_) for word in words or [fact.kind.value])


class Affected:
    """Finds the users, objects and names that a delta affects, among the names that are compared."""

    def __init__(self, sides: Sides, names: Sequence[AskedName]) -> None:
        self._sides = sides
        self._names = names
        self._words: set[tuple[str, str]] = set()  # 'ALLOW SELECT_TABLE' or OWNS, and the type of the place
        self._all_names = False
        self.added_or_dropped: set[int] = set()  # numbers of entities; set by `blocks`
        self.users_differ = False  # whether users or their memberships differ between the sides; set by `blocks`
        self._reads = _what_is_read(tuple(names))

    def blocks(self, statements: Iterable[str]) -> list[Block]:
        """The users and objects to compare; no user is in two blocks. `statements` are all facts of the delta."""
        sources = list(self._sources(statements))
        roots_of_all = {root for each in sources if each.users is None for root in each.roots}
        limited = [each for each in sources if each.users is not None]
        if len(limited) > MOST_SOURCES:
            limited = [_merged(limited)]
        listed = [np.fromiter(each.users or (), np.int32) for each in limited]
        users = self.all_users() if roots_of_all else distinct(np.concatenate([NOBODY, *listed]))
        marks = np.zeros(len(users), np.int64)
        for bit, each in enumerate(listed):
            place = np.searchsorted(users, each)
            marks[place[np.append(users, -1)[place] == each]] |= 1 << bit
        first, of = numbered(marks)
        kinds = marks[first]
        if len(kinds) > MOST_BLOCKS:
            kinds, of = np.unique(marks > 0, return_inverse=True)
            limited = [_merged(limited)]
        blocks = []
        for at, kind in enumerate(kinds.tolist()):
            roots = {root for bit, each in enumerate(limited) if kind >> bit & 1 for root in each.roots}
            chosen = users[of == at].astype(np.int32) if len(kinds) > 1 else users
            blocks.append(Block(chosen, frozenset(roots | roots_of_all)))
        return [block for block in blocks if len(block.users) and block.roots]

    def all_users(self) -> Numbers:
        """The numbers of all users of both sides, ascending."""
        before, after = (side.users() for side in self._sides)
        if before is after:
            return before
        found = np.zeros(len(self._sides[1].version.numbers.refs), np.bool_)
        found[before] = found[after] = True
        return np.flatnonzero(found).astype(np.int32)

    def relevant(self) -> list[AskedName]:
        """The names whose answers the statements of `blocks` can change."""
        if self._all_names:
            return [*self._names]
        return [name for name in self._names if not self._words.isdisjoint(self._reads.words[name])]

    # ---- sources -----------------------------------------------------------------------------------------------------
    def _sources(self, statements: Iterable[str]) -> Iterator[_Source]:
        everyone = _Source()
        granted: dict[int, _Source] = {}
        joined: dict[int, _Source] = {}
        find, refs = self._sides[1].version.numbers.find, self._sides[1].version.numbers.refs
        for text in statements:
            words = parse_statement(text)
            object_, subject = find(words.object, -1), find(words.subject or "", -1)
            if words.kind == "add":
                self._all_names = True
                self.added_or_dropped.add(object_)
                everyone.roots |= self._with_places_above(object_)
                if any(object_ in side.version.numbers.users for side in self._sides):
                    self.users_differ = True
                    yield self._user(object_)
            elif words.kind == "member":
                self._all_names = self.users_differ = True
                self._member(joined, subject, object_)
            else:
                for principal, label, place in self._granted(words):
                    self._words.add((label, type_of(refs[place])))
                    source = granted.get(principal)
                    if source is None:
                        source = granted[principal] = _Source(self._members(principal))
                    source.roots |= self._with_places_above(place)
        yield from granted.values()
        yield from joined.values()
        if everyone.roots:
            yield everyone

    def _granted(self, words: Statement) -> Iterator[tuple[int, str, int]]:
        """The grants and ownerships that begin or end with a fact: the principal, the label and the place. A tag brings
        what is granted on it to what has the tag."""
        numbers = self._sides[1].version.numbers
        one, label, ref = fact_of(words)
        principal, place = numbers.find(one, -1), numbers.find(ref, -1)
        if label != TAGGED:
            yield principal, label, place
        for side in self._sides:
            version, tags = side.version, side.version.numbers
            if label == TAGGED:
                for on_tag, by in (version.grants.get(principal) or {}).items():
                    if by_tag := tags.label_by_tag(on_tag, type_of(one)):
                        yield from ((each, by_tag, place) for each in members(by))
            elif by_tag := tags.label_by_tag(label, type_of(ref)):
                yield from ((principal, by_tag, tagged) for tagged in version.places_of.get(place) or ())

    def _user(self, user: int) -> _Source:
        """The source for a user that is added or dropped: every object that it can be allowed on."""
        source = _Source({user}, {user})
        self._everything_of(source, [user])
        self._free(source)
        return source

    def _member(self, joined: dict[int, _Source], subject: int, container: int) -> None:
        source = joined.get(subject)
        if source is None:
            source = joined[subject] = _Source(self._members(subject))
            if self._reads.one_role:  # a user without a role is not allowed anything
                self._everything_of(source, source.users or ())
                self._free(source)
        self._everything_of(source, [container])

    def _everything_of(self, source: _Source, subjects: Iterable[int]) -> None:
        """Adds the effective principals of the subjects, the places on which they have facts, and all objects whose
        conditions name one of these principals."""
        for side in self._sides:
            version, refs = side.version, side.version.numbers.refs
            held = set[int]().union(*(version.effective(each) for each in subjects))
            for principal in held:
                source.roots.add(principal)
                for place in version.places_of.get(principal) or ():
                    if place not in source.roots:
                        source.roots |= self._with_places_above(place)
            if any(refs[principal] in self._reads.named for principal in held):
                self._whole(source, self._reads.types_of_named)

    def _free(self, source: _Source) -> None:
        """Adds all objects on which a user can be allowed without a fact of its own."""
        self._whole(source, self._reads.free_types)

    def _whole(self, source: _Source, types: Collection[str]) -> None:
        """Adds the root object if objects of these types exist. Comparing all objects costs little: most are alike."""
        if any(side.version.listed.get(type_) for side in self._sides for type_ in types):
            source.roots.add(self._sides[0].version.numbers.of(self._sides[0].root.text))

    def _with_places_above(self, place: int) -> set[int]:
        """The place, and the places above it about whose descendants a condition asks."""
        if not self._reads.below:
            return {place}
        refs = self._sides[0].version.numbers.refs
        chain = {each for side in self._sides for each in side.places(place)}
        return {place, *(each for each in chain if type_of(refs[each]) in self._reads.below)}

    def _members(self, subject: int) -> set[int]:
        """The users that are the subject or belong to it, on either side."""
        return set[int]().union(*(_users_of(side.version, subject) for side in self._sides))


def _users_of(version: FactVersion, subject: int) -> set[int]:
    users = {subject} & version.numbers.users
    for container in version.containers_in([subject]):
        members = version.users_in.get(container)
        if members is not None:
            users.update(members.tolist())
    return users


def _merged(sources: Sequence[_Source]) -> _Source:
    users = set[int]().union(*(each.users or () for each in sources))
    return _Source(users, set[int]().union(*(each.roots for each in sources)))
