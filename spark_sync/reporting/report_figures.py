"""The figures of a report: exposure by level and by container, the reach of users, and the top of each list."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grantpath.engine.facts.kernel.intervals import Ints
from grantpath.spark_sync.bulk.bulk_questions import listed_objects
from grantpath.spark_sync.bulk.condition_answers import ConditionAnswers
from grantpath.spark_sync.reporting.scales import step
from grantpath.spark_sync.session.snapshot import Snapshot

FOCUS = 4  # the number of conditions with columns and plots of their own
BARS = 10  # the most bars of a histogram, without the one for 0 objects


@dataclass(frozen=True)
class Exposure:
    """The exposure of a set of objects. `pairs` are (user, object), counted for each condition that has bulk
    answers."""

    objects: int
    open: int  # objects on which at least one user can use at least one name
    pairs: int  # the allowed pairs
    possible: int
    most: int  # the most users that one object has under one condition

    @property
    def share(self) -> float:
        """The allowed share of all possible pairs, from 0 to 1."""
        return self.pairs / self.possible if self.possible else 0.0


@dataclass(frozen=True)
class ConditionFigures:
    """The figures of one condition."""

    exposure: Exposure
    reaching: int  # users that are allowed on at least one object
    widest: int  # the most objects on which one user is allowed


@dataclass(frozen=True)
class Histogram:
    """The number of users by the number of objects: bar i counts those with low[i] to high[i] objects.

    Bar 0 counts the users without an object. All others are equally wide.
    """

    low: list[int]
    high: list[int]
    users: list[int]
    width: int
    half: int  # at least half of the users have at most this many objects
    nine_tenths: int
    most: int


class Figures:
    """Sums of the bulk answers of one snapshot. Each sum is over columns."""

    def __init__(self, source: Snapshot, answers: ConditionAnswers) -> None:
        self.answers, self.numbering = answers, source.numbering
        self.user_count = int(answers.users.sum())
        self.listed = {type_: listed_objects(source, type_) for type_ in self.numbering.types}
        self._size = len(self.numbering)
        self._types = [each.type for each in answers.conditions]
        self.less = {source.policy.root_type, *source.policy.names.subject_types}  # tell less about access to data
        self.focus = self._choose_focus()
        number = len(answers.conditions)
        # for each object, the condition with the most users and their count, packed into one number
        code = answers.exposed_users * number + (number - 1 - answers.exposed_condition)
        self._best = np.full(self._size, -1, np.int64)
        np.maximum.at(self._best, answers.exposed, code)
        self.pairs_at = np.bincount(answers.exposed, answers.exposed_users, self._size).astype(np.int64)

    def _choose_focus(self) -> list[int]:
        """The conditions with the most pairs: one of each type, then a second one of each type, and so on. The types of
        the root and of subjects are chosen only if there are no others."""
        pairs = np.bincount(
            self.answers.exposed_condition, self.answers.exposed_users, minlength=len(self._types)
        ).astype(np.int64)
        by_type: dict[str, list[int]] = {}
        for at in np.argsort(-pairs, kind="stable").tolist():
            by_type.setdefault(self._types[at], []).append(at)
        filled = [type_ for type_ in by_type if len(self.listed[type_])]
        turns = [type_ for type_ in filled if type_ not in self.less] or filled
        turns.sort(key=lambda each: -len(self.listed[each]))
        chosen: list[int] = []
        while len(chosen) < FOCUS and any(by_type[type_] for type_ in turns):
            chosen += [by_type[type_].pop(0) for type_ in turns if by_type[type_]][: FOCUS - len(chosen)]
        return chosen

    # ---- exposure --------------------------------------------------------------------------------------------
    def _exposure(self, type_: str, conditions: list[int]) -> Exposure:
        """The exposure of the objects of a type, under these of its conditions."""
        slices = [self.answers.exposure_of(at) for at in conditions]
        exposed = np.concatenate([self.answers.exposed[each] for each in slices])
        users = np.concatenate([self.answers.exposed_users[each] for each in slices])
        objects = len(self.listed[type_])
        possible = self.user_count * objects * len(conditions)
        return Exposure(objects, len(np.unique(exposed)), int(users.sum()), possible, int(users.max(initial=0)))

    def by_level(self) -> dict[str, Exposure]:
        """By type that has bulk answers: the exposure of all of its objects."""
        found = {}
        for type_ in dict.fromkeys(self._types):
            own = [at for at, each in enumerate(self._types) if each == type_]
            found[type_] = self._exposure(type_, own)
        return found

    def by_condition(self, at: int) -> ConditionFigures:
        """The figures of a condition."""
        reach = self._reach(at)
        exposure = self._exposure(self._types[at], [at])
        return ConditionFigures(exposure, int((reach > 0).sum()), int(reach.max(initial=0)))

    def most_used(self, type_: str) -> int:
        """The condition of a type with the most pairs. The type must have bulk answers."""
        own = [at for at, each in enumerate(self._types) if each == type_]
        return max(own, key=lambda at: int(self.answers.exposed_users[self.answers.exposure_of(at)].sum()))

    def containers(self, types: list[str]) -> Ints:
        """The positions of the existing entities of these types directly below the root."""
        chosen = (self.numbering.parent == 0) & self.numbering.exists
        return np.flatnonzero(chosen & np.isin(self.numbering.type, [self.numbering.types.index(t) for t in types]))

    def by_container(self, containers: Ints) -> "ContainerFigures":
        """The exposure of all objects in each container, itself included, in columns."""
        exposed = self.answers.exposed
        inside = self.inside(containers, exposed)
        mine = inside >= 0
        size = len(containers)
        users, at = self.answers.exposed_users[mine], inside[mine]
        pairs = np.bincount(at, users, size).astype(np.int64)
        most = np.zeros(size, np.int64)
        np.maximum.at(most, at, users)
        opened = np.unique(exposed[mine])
        objects = np.zeros(size, np.int64)
        for type_ in set(self._types):
            objects += self.per_container(containers, self.listed[type_])
        means = [self._mean(containers, inside, at) for at in self.focus]
        return ContainerFigures(containers, objects, self.per_container(containers, opened), pairs, most, means)

    def inside(self, containers: Ints, positions: Ints) -> Ints:
        """For each position, the index of its container; -1 if it is in none of them."""
        if not len(containers):
            return np.full(len(positions), -1, np.int64)
        at = np.searchsorted(containers, positions, side="right") - 1
        inside: Ints = np.where((at >= 0) & (positions <= self.numbering.last[containers][at]), at, -1)
        return inside

    def per_container(self, containers: Ints, positions: Ints) -> Ints:
        """By container: how many of these positions are in it."""
        inside = self.inside(containers, positions)
        counts: Ints = np.bincount(inside[inside >= 0], minlength=len(containers)).astype(np.int64)
        return counts

    def _mean(self, containers: Ints, inside: Ints, condition: int) -> list[float | None]:
        """By container: the mean number of users of an object under the condition; None without such objects."""
        objects = self.per_container(containers, self.listed[self._types[condition]])
        rows = self.answers.exposure_of(condition)
        mine = inside[rows] >= 0
        pairs = np.bincount(inside[rows][mine], self.answers.exposed_users[rows][mine], len(containers))
        return [each / many if many else None for each, many in zip(pairs.tolist(), objects.tolist(), strict=True)]

    # ---- reach -----------------------------------------------------------------------------------------------
    def _reach(self, condition: int) -> Ints:
        """For each user, in order of position: the number of objects under a condition."""
        objects = np.full(self._size, self.answers.common[condition], np.int64)
        mine = self.answers.reach_of(condition)
        objects[self.answers.reach_subject[mine]] = self.answers.reach_objects[mine]
        return objects[self.answers.users]

    def histogram(self, condition: int) -> Histogram:
        """The distribution of reach."""
        reach = np.sort(self._reach(condition))
        most = int(reach.max(initial=0))
        width = step(most, BARS)
        bar = -(-reach // width)  # rounded up: bar 1 has 1 to `width` objects
        users = np.bincount(bar, minlength=2).tolist()
        high = [width * at for at in range(len(users))]
        low = [0, *(each + 1 for each in high[:-1])]
        half, nine_tenths = (int(reach[-(-len(reach) * n // 10) - 1]) if len(reach) else 0 for n in (5, 9))
        return Histogram(low, high, users, width, half, nine_tenths, most)

    @cached_property
    def _total(self) -> Ints:
        """By position of a user: the number of objects, summed over all conditions."""
        total = np.full(self._size, int(self.answers.common.sum()), np.int64)
        more = self.answers.reach_objects - self.answers.common[self.answers.reach_condition]
        np.add.at(total, self.answers.reach_subject, more)
        return total

    @property
    def users_without_access(self) -> int:
        """The number of users that can use no name on any object."""
        return int((self._total[self.answers.users] == 0).sum())

    def widest(self, top: int) -> tuple[Ints, Ints, list[Ints]]:
        """The users with the most objects, summed over all conditions: positions, sums, and objects by focus."""
        total, users = self._total, np.flatnonzero(self.answers.users)
        chosen = users[np.lexsort((users, -total[users]))][:top]
        rank = np.searchsorted(users, chosen)
        return chosen, total[chosen], [self._reach(at)[rank] for at in self.focus]

    def most_exposed(self, top: int) -> tuple[Ints, Ints, Ints, Ints]:
        """The objects with the most users under one condition: positions, users, that condition, pairs of all
        conditions.

        Objects with equally many users are sorted by their pairs.
        """
        some = np.flatnonzero(self._best >= 0)
        number = len(self._types)
        users = self._best[some] // number
        chosen = some[np.lexsort((some, -self.pairs_at[some], -users))][:top]
        best = self._best[chosen]
        return chosen, best // number, number - 1 - best % number, self.pairs_at[chosen]

    @property
    def exposed_objects(self) -> int:
        """The number of objects on which at least one user can use a name."""
        return int((self._best >= 0).sum())

    def most_users(self, positions: Ints) -> Ints:
        """For each position: the most users that the object has under one condition."""
        best: Ints = np.maximum(self._best[positions], 0) // max(len(self._types), 1)
        return best

    def most_exposed_of(self, condition: int) -> tuple[int, int, int] | None:
        """The object with the most users under a condition, their number, and how many other objects have as many; None
        if no user has any. Of these objects, it is the first one in the order of `most_exposed`."""
        rows = self.answers.exposure_of(condition)
        users = self.answers.exposed_users[rows]
        if not users.any():
            return None
        most = int(users.max())
        alike = self.answers.exposed[rows][users == most]
        first = alike[np.lexsort((alike, -self.pairs_at[alike]))][0]
        return int(first), most, len(alike) - 1


@dataclass(frozen=True)
class ContainerFigures:
    """The exposure of containers, in columns; `means`: for each condition of the focus."""

    position: Ints
    objects: Ints
    open: Ints
    pairs: Ints
    most: Ints
    means: list[list[float | None]]
