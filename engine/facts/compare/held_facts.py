"""Finds, as bits, the facts that users have on a place, directly or through their groups and roles."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from grantpath.engine.facts.compare.fact_bits import THERE, FactBits
from grantpath.engine.facts.kernel.intervals import Bools, Ints
from grantpath.engine.facts.set.fact_set import FactSet
from grantpath.engine.facts.set.fact_version import (
    NO_GRANTS,
    EntityNumbers,
    FactVersion,
    Grants,
    Numbers,
    containers_of,
    has_any,
    members,
)
from grantpath.engine.facts.set.layered_map import LayeredMap
from grantpath.engine.policy.facts import FactKind
from grantpath.graph.language.reference import type_of

Words = Mapping[str, Mapping[str, int]]  # the bits of facts, as in FactBits
HOLDS, IS = FactKind.HOLDS.value, FactKind.IS.value
NO_WORDS: Mapping[str, int] = {}
MANY_GRANTS = 400  # grants on a place; if there are more, the facts of all users there are kept
MOST_KEPT = 32  # places
MANY_MOVED = 1_000  # users; if there are more, the facts of all users are found again
SPARSE = 16  # if the others are at least this many times as many, each number is searched among them


class PlaceFacts(NamedTuple):
    """Users with facts on a place: their indexes, ascending, and the bits of their facts. `kinds`: for each user a
    number that stands for the value of its bits; None if it is not known."""

    users: Ints
    bits: Ints
    kinds: Ints | None = None


class FactsOfOne:
    """The facts of one user on one side (before or after a change)."""

    def __init__(self, side: FactSet, user: int, bits: FactBits, words: Words) -> None:
        self._side, self._version, self._user = side, side.version, user
        self._named, self._words = bits.named, words
        self.held = side.version.effective(user)

    def itself(self) -> int:
        """The bits for: the user exists and answers may contain it; a named entity is an effective principal of it."""
        find = self._version.numbers.find
        there = self._user in self._version.numbers.users and self._side.shows(self._user)
        return there * THERE | sum(bit for ref, bit in self._named.items() if find(ref) in self.held)

    def granted(self, place: int) -> int:
        """The grants and the ownership on a place."""
        words, found = self._words.get(type_of(self._version.numbers.refs[place]), NO_WORDS), 0
        for word, principals in (self._version.grants.get(place) or NO_GRANTS).items():
            if word in words and has_any(principals, self.held):
                found |= words[word]
        return found

    def on(self, place: int) -> int:
        """The facts on a place."""
        found = self.granted(place)
        if place in self.held:
            words = self._words.get(type_of(self._version.numbers.refs[place]), NO_WORDS)
            found |= words.get(HOLDS, 0) | (words.get(IS, 0) if place == self._user else 0)
        return found


@dataclass(frozen=True)
class KeptFacts:
    """The facts of all users on a place; never changed. They follow from the grants (`granted`), which `principals`
    have, and the memberships (`containers`). `kinds`: by number of a user, its kind. `bits`: the facts of each kind."""

    granted: Grants
    principals: frozenset[int]
    containers: LayeredMap[int, tuple[int, ...]]
    kinds: Ints
    bits: Ints


class UserIndexes:
    """Many users, ascending, with the index of each."""

    def __init__(self, users: Numbers, numbers: EntityNumbers) -> None:
        self.users = users
        self._size = len(numbers.refs)

    @cached_property
    def at(self) -> Ints:
        """By number of an entity: the index of the user; the number of users if it is not one of them."""
        at = np.full(self._size, len(self.users), np.int64)
        at[self.users] = np.arange(len(self.users))
        return at


class FactsOfMany:
    """The facts of many users on one side (before or after a change)."""

    def __init__(self, side: FactSet, users: UserIndexes, bits: FactBits, words: Words) -> None:
        self._side, self._version, self._indexes, self._users = side, side.version, users, users.users
        self._bits, self._words = bits, words

    def alike(self, other: "FactsOfMany", place: int) -> bool:
        """Whether the versions share the grants on a place: with the same memberships, the facts are then the same."""
        return self._version.grants.get(place) is other._version.grants.get(place)

    def themselves(self) -> Ints:
        """By user, the bits of `FactsOfOne.itself`."""
        shown = self._side.users()
        found = np.full(len(self._users), THERE, np.int64)
        if shown is not self._users:
            found *= _are_in(self._users, shown)
        for ref, bit in self._bits.named.items():
            entity = self._version.numbers.find(ref)
            if entity is not None:
                found = self._with(found, {entity: bit})
        return found

    def on(self, place: int) -> PlaceFacts:
        """The facts on a place."""
        words = self._words.get(type_of(self._version.numbers.refs[place]), NO_WORDS)
        granted = self._version.grants.get(place) or NO_GRANTS
        itself = words.get(HOLDS, 0) | (words.get(IS, 0) if place in self._version.numbers.users else 0)
        if itself == 0 and sum(1 if isinstance(each, int) else len(each) for each in granted.values()) > MANY_GRANTS:
            return self._kept_on(place, granted, sum(words.values()))
        by = _by_principal(granted, words)
        if itself:
            by[place] = by.get(place, 0) | itself
        found = self._with(np.zeros(len(self._users), np.int64), by)
        chosen = np.flatnonzero(found)
        return PlaceFacts(chosen, found[chosen])

    def _with(self, found: Ints, by: Mapping[int, int]) -> Ints:
        """The bits of the users (`found`) with those of their principals (`by`)."""
        with_others, at = np.append(found, 0), self._indexes.at
        for principal, bits in by.items():
            for users in self._users_of(principal):
                with_others[at[users]] |= bits
        return with_others[:-1]

    def _users_of(self, principal: int) -> Iterator[Numbers | list[int]]:
        """The users that are the principal or belong to it."""
        if principal in self._version.numbers.users:
            yield [principal]
        for container in self._version.containers_in([principal]):
            users = self._version.users_in.get(container)
            if users is not None:
                yield users

    # ---- kept facts --------------------------------------------------------------------------------------------------
    def _kept_on(self, place: int, granted: Grants, read: int) -> PlaceFacts:
        """The granted facts on a place, limited to the bits `read`."""
        kept = self._kept(place, granted)
        bits, kind = np.unique(kept.bits & read, return_inverse=True)
        kinds = kind[kept.kinds[self._users]]
        found = bits[kinds]
        chosen = np.flatnonzero(found)
        return PlaceFacts(chosen, found[chosen], kinds[chosen])

    def _kept(self, place: int, granted: Grants) -> KeptFacts:
        """The granted facts of all users on a place. From one revision to the next, few users change."""
        every = _kept_about(self._version, self._bits)
        kept = every.get(place)
        same = kept is not None and kept.granted is granted and kept.containers is self._version.containers
        if kept is not None and same and len(kept.kinds) == self._size:
            return kept
        moved = None if kept is None or kept.granted is not granted else self._moved(kept)
        known = None if kept is None or moved is None else self._updated(kept, place, moved)
        kept = self._found_on(place, granted) if known is None else known
        if len(every) >= MOST_KEPT and place not in every:
            every.pop(next(iter(every)))
        every[place] = kept
        return kept

    @property
    def _size(self) -> int:
        return len(self._version.numbers.refs)

    def _moved(self, kept: KeptFacts) -> Collection[int] | None:
        """The users whose facts on the place can differ from `kept`, by memberships; None if many, or not known."""
        former, latter = kept.containers, self._version.containers
        moved = latter.changed_since(former)
        if moved is None:
            return None
        users = set[int]()
        for subject in moved:
            # a membership changes nothing here if it gives no fact on the place, neither before nor after
            if kept.principals.isdisjoint(_joined(former, latter, subject)):
                continue
            for some in self._users_of(subject):
                users.update(some if isinstance(some, list) else some.tolist())
            if len(users) > MANY_MOVED:
                return None
        return users

    def _found_on(self, place: int, granted: Grants) -> KeptFacts:
        found = np.zeros(self._size, np.int64)
        words = self._bits.on[type_of(self._version.numbers.refs[place])]
        for principal, bits in _by_principal(granted, words).items():
            for users in self._users_of(principal):
                found[users] |= bits
        some = np.flatnonzero(found)
        values, kinds = np.unique(found[some], return_inverse=True)
        found[some] = kinds + 1
        having = frozenset[int]().union(*map(members, granted.values()))
        return KeptFacts(granted, having, self._version.containers, found, np.append(0, values))

    def _updated(self, kept: KeptFacts, place: int, moved: Collection[int]) -> KeptFacts:
        """What is kept, with the facts of some users found again."""
        kinds, values = kept.kinds, kept.bits
        if len(moved) or len(kinds) < self._size:  # the first kind has no facts
            kinds = np.concatenate([kinds, np.zeros(self._size - len(kinds), np.int64)])
        for user in moved:
            own = FactsOfOne(self._side, user, self._bits, self._bits.on).granted(place)
            if own not in values:
                values = np.append(values, own)
            kinds[user] = np.flatnonzero(values == own)[0]
        return KeptFacts(kept.granted, kept.principals, self._version.containers, kinds, values)


def _are_in(some: Numbers, others: Numbers) -> Bools:
    """For each number, whether it is among the others. Both are ascending."""
    if len(some) * SPARSE > len(others):
        return np.isin(some, others, kind="table")
    found: Bools = np.append(others, -1)[np.searchsorted(others, some)] == some
    return found


def _by_principal(granted: Grants, words: Mapping[str, int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for word in granted.keys() & words.keys():
        for each in members(granted[word]):
            found[each] = found.get(each, 0) | words[word]
    return found


def _joined(
    former: LayeredMap[int, tuple[int, ...]], latter: LayeredMap[int, tuple[int, ...]], subject: int
) -> set[int]:
    """A superset of the groups and roles that a subject gets or loses by changes of its own memberships."""
    joined = {*(former.get(subject) or ())} ^ {*(latter.get(subject) or ())}
    return containers_of(former, joined) | containers_of(latter, joined) if joined else joined


_KEPT: WeakKeyDictionary[EntityNumbers, dict[FactBits, dict[int, KeptFacts]]] = WeakKeyDictionary()


def _kept_about(version: FactVersion, bits: FactBits) -> dict[int, KeptFacts]:
    """The kept facts of the versions of a copy, by place."""
    return _KEPT.setdefault(version.numbers, {}).setdefault(bits, {})
