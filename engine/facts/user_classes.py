"""Groups users into classes: in a region, the users of a class have the same access before and after a change."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from grantpath.engine.facts.affected import Side
from grantpath.engine.facts.fact_version import FactVersion, Numbers
from grantpath.engine.facts.intervals import ActingPrincipals, Ints
from grantpath.engine.facts.region import Region

Principals = frozenset[int]
Acting = frozenset[Principals]  # the sets of principals of which each acts alone
Class = tuple[Acting, Acting, Acting, Acting]  # together and by single roles, before; the same after


@dataclass(frozen=True)
class ActingRows:
    """The rows of principals that act together, for the kernel. `of`: the class of each row, ascending."""

    acting: ActingPrincipals
    of: Ints


class UserClasses:
    """The classes of some users. `users`: by class, the numbers of its users."""

    def __init__(self, sides: tuple[Side, Side], users: Numbers, region: Region, one_role: Collection[bool]) -> None:
        """`one_role`: whether single roles are to be evaluated, or all principals together, or both."""
        self._principals = region.principals
        held = [_Held(side.version, region.stands_for) for side in sides]
        alike: dict[Class, list[int]] = {}
        nothing: Acting = frozenset()
        for user in users.tolist():
            rows: list[Acting] = []
            for side, of in zip(sides, held, strict=True):
                there = user in side.version.numbers.users and side.shows(user)
                rows.append(of.together(user) if there and False in one_role else nothing)
                rows.append(of.by_role(user) if there and True in one_role else nothing)
            alike.setdefault((rows[0], rows[1], rows[2], rows[3]), []).append(user)
        self._classes = [*alike]
        self.users = [*alike.values()]

    def rows(self, side: int, one_role: bool, low: int, high: int) -> ActingRows:
        """The rows of the classes low..high, numbered from `low`, on a side (0: before)."""
        column = 2 * side + one_role
        subject: list[int] = []
        of: list[int] = []
        principal: list[int] = []
        offset = [0]
        for number in range(low, high):
            own = self.users[number][0]
            for acting in self._classes[number][column]:
                of.append(number - low)
                # of a user who is no place itself, it does not matter who it is
                subject.append(self._principals.get(own, 0))
                principal += sorted(self._principals[each] for each in acting)
                offset.append(len(principal))
        arrays = (np.array(each, np.int64) for each in (subject, offset, principal))
        return ActingRows(ActingPrincipals(*arrays), np.array(of, np.int64))


class _Held:
    """The principals that matter, of those of each user; of principals that are alike, one stands for all."""

    def __init__(self, version: FactVersion, stands_for: Mapping[int, int]) -> None:
        self._version = version
        self._stands_for = stands_for
        self._above: dict[int, Principals] = {}
        self._roles: dict[int, Principals] = {}
        self._together: dict[tuple[int, ...], Acting] = {}
        self._by_role: dict[tuple[int, ...], Acting] = {}

    def together(self, user: int) -> Acting:
        """All effective principals of a user, as one set."""
        containers = self._version.containers.get(user) or ()
        found = self._together.get(containers)
        if found is None:
            sets = filter(None, map(self._closure, containers))
            found = self._together[containers] = frozenset([frozenset[int]().union(*sets)])
        return self._with(user, found)

    def by_role(self, user: int) -> Acting:
        """A set for each role that a user holds directly."""
        containers = self._version.containers.get(user) or ()
        found = self._by_role.get(containers)
        if found is None:
            roles = (each for each in containers if each in self._version.numbers.roles)
            found = self._by_role[containers] = frozenset(map(self._role, roles))
        return self._with(user, found)

    def _with(self, user: int, acting: Acting) -> Acting:
        own = self._stands_for.get(user)
        return acting if own is None else frozenset(each | {own} for each in acting)

    def _closure(self, container: int) -> Principals:
        found = self._above.get(container)
        if found is None:
            found = self._above[container] = self._chosen(self._version.effective(container))
        return found

    def _role(self, role: int) -> Principals:
        found = self._roles.get(role)
        if found is None:
            found = self._roles[role] = self._chosen(self._version.with_roles(role))
        return found

    def _chosen(self, principals: Iterable[int]) -> Principals:
        stands_for = self._stands_for
        return frozenset(stands_for[each] for each in principals if each in stands_for)


def effective_of(version: FactVersion, users: Numbers) -> set[int]:
    """The effective principals of any of these users, and the users."""
    found = set(users.tolist())
    waiting = [*found]
    while waiting:
        for each in version.containers.get(waiting.pop()) or ():
            if each not in found:
                found.add(each)
                waiting.append(each)
    return found
