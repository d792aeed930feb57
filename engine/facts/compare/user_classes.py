"""Groups users into classes: all users of a class have the same access to a region, both before and after a change."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from grantpath.engine.facts.compare.equal_rows import by_kind, kinds_of
from grantpath.engine.facts.compare.region import Region
from grantpath.engine.facts.kernel.intervals import ActingPrincipals, Bools, Ints
from grantpath.engine.facts.set.fact_set import FactSet, Sides
from grantpath.engine.facts.set.fact_version import Numbers
from grantpath.graph.distinct_numbers import distinct

Principals = frozenset[int]
Acting = tuple[tuple[int, ...], ...]  # sets of principals that act together, in order; equal sets once
Class = tuple[Acting, Acting, Acting, Acting]  # before: all principals together, one role at a time; the same after
MANY_USERS = 1_000  # for more users, the principals of all users are computed at once


@dataclass(frozen=True)
class Coded:
    """The sets of principals of users. `kinds`: by user, its kind. `codes`: by kind, the codes of the sets, packed;
    None for users that do not exist or are hidden."""

    kinds: Ints
    codes: Sequence[bytes | None]

    def of(self, at: int) -> bytes | None:
        return self.codes[int(self.kinds[at])]


@dataclass(frozen=True)
class ActingRows:
    """The rows of principals that act together, for the kernel. `of`: the class of each row, ascending."""

    acting: ActingPrincipals
    of: Ints


class UserClasses:
    """The classes of some users. `users`: by class, the numbers of its users."""

    def __init__(self, sides: Sides, users: Numbers, region: Region, one_role: Collection[bool]) -> None:
        """`one_role` contains false if all principals are to be evaluated together, true if one role at a time."""
        self._principals = region.principals
        self._sets: list[Principals] = []
        columns = _Held(sides[0], users, region, self._sets).columns(one_role)
        if alike_in_memberships(sides) and sides[0].users() is sides[1].users():
            columns += columns
        else:
            columns += _Held(sides[1], users, region, self._sets).columns(one_role)
        own = _own(users, region)
        first, kind = kinds_of([own, *(each.kinds for each in columns if len(each.codes) > 1)])
        number: dict[Class, int] = {}
        classes: list[int] = []  # by kind
        for at in first.tolist():
            coded, itself = [each.of(at) for each in columns], int(own[at]) if own[at] >= 0 else None
            before = self._acting(coded[0], itself, False), self._acting(coded[1], itself, True)
            after = before
            if coded[2:] != coded[:2]:
                after = self._acting(coded[2], itself, False), self._acting(coded[3], itself, True)
            classes.append(number.setdefault((*before, *after), len(number)))
        self._classes = [*number]
        self.users = by_kind(users, np.array(classes, np.int64)[kind])

    def _acting(self, codes: bytes | None, own: int | None, by_role: bool) -> Acting:
        if codes is None:
            return ()
        sets = [self._sets[code] for code in np.frombuffer(codes, np.int32).tolist()]
        if not by_role:
            sets = [frozenset[int]().union(*sets)]
        # tuples, because Python's garbage collector ignores tuples of integers, and there can be very many
        return tuple(sorted({tuple(sorted(each if own is None else each | {own})) for each in sets}))

    def rows(self, side: int, one_role: bool, low: int, high: int) -> ActingRows:
        """The rows of the classes low..high, numbered from `low`, on a side (0: before)."""
        column = 2 * side + one_role
        subject: list[int] = []
        of: list[int] = []
        principal: list[int] = []
        offset = [0]
        for number in range(low, high):
            own = int(self.users[number][0])
            for acting in self._classes[number][column]:
                of.append(number - low)
                # the kernel needs the user's own position only if the user is a place of the region
                subject.append(self._principals.get(own, 0))
                principal += sorted(self._principals[each] for each in acting)
                offset.append(len(principal))
        arrays = (np.array(each, np.int64) for each in (subject, offset, principal))
        return ActingRows(ActingPrincipals(*arrays), np.array(of, np.int64))


class _Held:
    """The sets of principals that users get by their groups and roles. A set contains only principals that have facts
    in the region, and one principal represents all that are alike.

    For many users, the search begins at the groups and roles that matter, because a region has few facts.
    """

    def __init__(self, side: FactSet, users: Numbers, region: Region, sets: list[Principals]) -> None:
        """Adds the sets to `sets`; their indexes there are their codes."""
        self._side = side
        self._version = side.version
        self._users = users
        self._stands_for = region.stands_for
        self._sets = sets
        self._code: dict[Principals, int] = {}
        self._at = np.full(len(side.version.numbers.refs), -1, np.int64)
        self._at[users] = np.arange(len(users))

    def columns(self, one_role: Collection[bool]) -> list[Coded]:
        """For all principals together, and for each role that a user holds directly: the codes of the sets, by user."""
        there = self._there()
        given = (self._together, self._by_role)
        if len(self._users) <= MANY_USERS:
            given = (self._together_of_each, self._by_role_of_each)
        nothing = Coded(np.zeros(len(there), np.int64), [None])
        return [self._by_user(given[by_role](), there) if by_role in one_role else nothing for by_role in (False, True)]

    def _there(self) -> Bools:
        """By user: whether it exists and answers may contain it."""
        if len(self._users) > MANY_USERS:
            all_ = np.zeros(len(self._at), np.bool_)
            all_[self._side.users()] = True
            there: Bools = all_[self._users]
            return there
        known, shows = self._version.numbers.users, self._side.shows
        return np.array([user in known and shows(user) for user in self._users.tolist()], np.bool_)

    def _together_of_each(self) -> Iterator[tuple[Numbers, Principals]]:
        """Each user, with the set of its effective principals."""
        for at, user in enumerate(self._users.tolist()):
            if chosen := self._chosen(self._version.effective(user)):
                yield self._users[at : at + 1], chosen

    def _by_role_of_each(self) -> Iterator[tuple[Numbers, Principals]]:
        """Each user, with the set of each role that it holds directly; the set can be empty."""
        for at, user in enumerate(self._users.tolist()):
            for role in self._version.held_roles(user):
                yield self._users[at : at + 1], self._chosen(self._version.with_roles(role))

    def _together(self) -> Iterator[tuple[Numbers, Principals]]:
        """The direct members of each group and role, with the effective principals of that group or role."""
        for container in self._version.containers_in(self._stands_for):
            members = self._version.users_in.get(container)
            if members is not None:
                yield members, self._chosen(self._version.effective(container))

    def _by_role(self) -> Iterator[tuple[Numbers, Principals]]:
        """The direct holders of each role, with the set of that role; the set can be empty."""
        for role in self._version.numbers.roles:
            members = self._version.users_in.get(role)
            if members is not None:
                yield members, self._chosen(self._version.with_roles(role))

    def _chosen(self, principals: Iterable[int]) -> Principals:
        stands_for = self._stands_for
        return frozenset(stands_for[each] for each in principals if each in stands_for)

    def _by_user(self, given: Iterable[tuple[Numbers, Principals]], there: Bools) -> Coded:
        """By user, the codes of all its sets, ascending."""
        members, codes = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
        for each, principals in given:
            code = self._code.get(principals)
            if code is None:
                code = self._code[principals] = len(self._sets)
                self._sets.append(principals)
            members.append(each)
            codes.append(np.full(len(each), code, np.int64))
        at, code_of = self._at[np.concatenate(members)], np.concatenate(codes)
        pairs = distinct((at[at >= 0] << 32) + code_of[at >= 0])
        user, packed = pairs >> 32, (pairs & 0xFFFFFFFF).astype(np.int32).tobytes()
        begin = np.flatnonzero(np.append(True, user[1:] != user[:-1])[: len(user)])
        number: dict[bytes, int] = {}
        edges = pairwise([*(4 * begin).tolist(), len(packed)])
        kinds = there.astype(np.int64)
        kinds[user[begin]] = [number.setdefault(packed[low:high], len(number) + 2) for low, high in edges]
        kinds[~there] = 0
        return Coded(kinds, [None, b"", *number])


def _own(users: Numbers, region: Region) -> Ints:
    """By user, the principal that represents it in a region; -1 if it has no facts there."""
    own = np.full(len(users), -1, np.int64)
    place = np.searchsorted(users, np.fromiter(region.stands_for, np.int64))
    for at, (principal, stands_for) in zip(place.tolist(), region.stands_for.items(), strict=True):
        if at < len(users) and users[at] == principal:
            own[at] = stands_for
    return own


def alike_in_memberships(sides: Sides) -> bool:
    """Whether surely no membership differs, because the two versions share the memberships."""
    before, after = (side.version for side in sides)
    return before.containers is after.containers and sides[0].policy is sides[1].policy


def held_by(sides: Sides, users: Numbers) -> Collection[int]:
    """The effective principals of any of the users, on either side. For many users it returns all entities, because the
    users have nearly all principals together, and finding them takes long."""
    if len(users) > MANY_USERS:
        return range(len(sides[0].version.numbers.refs))
    versions = {id(side.version.containers): side.version for side in sides}.values()
    return frozenset().union(*(version.effective(user) for version in versions for user in users.tolist()))
