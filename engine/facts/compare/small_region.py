"""Compares the access of users in a small part of the object tree place by place, without the kernel."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from typing import Generic, TypeVar

import numpy as np

from grantpath.engine.facts.compare.access_names import AskedName, asked_names
from grantpath.engine.facts.compare.affected import Block
from grantpath.engine.facts.compare.fact_bits import Chain, chosen, coded
from grantpath.engine.facts.compare.held_facts import FactsOfMany, FactsOfOne, UserIndexes
from grantpath.engine.facts.compare.region_tree import RegionTargets, RegionTree, Rest
from grantpath.engine.facts.compare.user_classes import alike_in_memberships
from grantpath.engine.facts.compare.user_kinds import OneUser, UserKinds
from grantpath.engine.facts.kernel.interval_sets import runs_of
from grantpath.engine.facts.kernel.intervals import Ints
from grantpath.engine.facts.set.fact_set import Sides
from grantpath.engine.facts.set.fact_version import Numbers
from grantpath.graph.language.reference import type_of

FEW_USERS = 8  # at most this many users are compared one by one
MOST_CELLS = 2_000_000  # users times places
Shown = tuple[bool, bool]  # whether an object exists and answers may contain it, before and after
Question = tuple[int, Shown, bool]  # about a place; true: the objects in it that are alike, false: the place itself
Pattern = tuple[Numbers, list[int], list[int]]  # users, targets, and the number of the effect on each target
Facts = TypeVar("Facts", OneUser, UserKinds)


@dataclass(frozen=True)
class SmallDifference:
    """What users gain or lose: `names` on the objects of half-open intervals of the numbers of targets.

    `users` are numbers of references.
    """

    type: str
    gained: bool
    names: tuple[str, ...]
    users: Numbers
    low: Ints
    high: Ints


class SmallRegion:
    """The subtrees of the roots of a block, for conditions whose facts can be coded as bits.

    `fits`: whether the block can be compared like this. `objects`: the targets.
    """

    def __init__(
        self,
        sides: Sides,
        block: Block,
        names: Sequence[AskedName],
        added_or_dropped: Collection[int],
    ) -> None:
        self._sides, self._users = sides, block.users
        self._refs = sides[0].version.numbers.refs
        if sides[0].policy.names.vary:  # then the index in a chain does not say which type a place has
            self.fits = False
            return
        self._bits = coded(tuple(asked_names(sides[0].policy, sides[1].policy)), sides[0].policy)
        few = len(block.users) <= FEW_USERS
        self.fits = self._bits.fits and sides[0].policy is sides[1].policy and (few or alike_in_memberships(sides))
        if not self.fits:
            return
        self._chosen = chosen(self._bits, tuple(names))
        on = self._chosen.on
        ones = [
            (FactsOfOne(sides[0], user, self._bits, on), FactsOfOne(sides[1], user, self._bits, on))
            for user in (block.users.tolist() if few else ())
        ]
        self._tree = RegionTree(sides, _differing(block.roots, ones, added_or_dropped) if few else block.roots)
        places = set[int]()
        for at, side in enumerate(sides):
            # many users: take all entities, because it takes long to find the effective principals
            held = frozenset[int]().union(*(facts[at].held for facts in ones)) if few else range(len(self._refs))
            places |= self._tree.granted(side.version, held, self._chosen.granted)
            places |= self._tree.among(held, self._chosen.itself)
        apart = self._tree.apart(chain(places, added_or_dropped, self._tree.special()))
        with_facts = apart.keys() | self._tree.above
        self.fits = len(with_facts) * len(block.users) <= MOST_CELLS
        if not self.fits:
            return
        self._effects: dict[tuple[int, int], int] = {(0, 0): 0}  # number by (gained names, lost names), as bits
        depth = {each: self._bits.depth(type_of(self._refs[each])) for each in with_facts}
        self._ones = [_OnPlaces(OneUser.of(*facts), depth) for facts in ones]
        self._many = None
        if not few:
            users = UserIndexes(block.users, sides[0].version.numbers)
            before, after = (FactsOfMany(side, users, self._bits, on) for side in sides)
            self._many = _OnPlaces(UserKinds.of(before, after), depth)
        self._apart = apart
        self._targets: dict[str, list[int | Rest]] = {type_: [] for type_ in self._chosen.names}
        self.objects = RegionTargets(self._tree, self._targets)

    def _shown(self, number: int) -> Shown:
        before, after = self._sides
        return before.shows(number), after.shows(number)

    # ---- differences -------------------------------------------------------------------------------------------------
    def differences(self) -> Iterator[SmallDifference]:
        """The differences of all users."""
        asked: dict[str, list[Question]] = {type_: [] for type_ in self._targets}
        for each in self._apart:
            if (type_ := type_of(self._refs[each])) in asked and any(shown := self._shown(each)):
                asked[type_].append((each, shown, False))
        for place, type_ in self._tree.kinds(self._apart, asked):
            asked[type_].append((place, (True, True), True))
        for type_, questions in asked.items():
            for users, at, effects in (
                self._patterns(type_, questions, self._many) if self._many else self._one_by_one(type_, questions)
            ):
                for (gained, names), those in self._by_names(type_, at, effects).items():
                    mask = np.zeros(len(self._targets[type_]), np.bool_)
                    mask[those] = True
                    yield SmallDifference(type_, gained, names, users, *runs_of(mask))

    def _target(self, type_: str, place: int, inside: bool) -> int | None:
        """Adds a target, and returns its number; None if there is no object. `inside`: for the objects in the place
        that are alike."""
        target = self._tree.rest(place, self._apart[place], type_) if inside else place
        if target is None:
            return None
        self._targets[type_].append(target)
        return len(self._targets[type_]) - 1

    def _one_by_one(self, type_: str, questions: Sequence[Question]) -> Iterator[Pattern]:
        """The effects on each user."""
        found: list[list[tuple[int, int]]] = [[] for _ in self._ones]
        for place, shown, inside in questions:
            decide, chain_ = partial(self._effect, type_, shown), self._tree.chain(place)
            effects = [known.on(chain_).decided((type_, shown), decide) for known in self._ones]
            if any(effects) and (target := self._target(type_, place, inside)) is not None:
                for cells, effect in zip(found, effects, strict=True):
                    if effect:
                        cells.append((target, effect))
        for at, cells in enumerate(found):
            if cells:
                yield self._users[at : at + 1], [target for target, _ in cells], [effect for _, effect in cells]

    def _patterns(self, type_: str, questions: Sequence[Question], known: "_OnPlaces[UserKinds]") -> Iterator[Pattern]:
        """Users with the same effects."""
        parts = list[tuple[Ints, Ints, Ints]]()
        for place, shown, inside in questions:
            effects = known.on(self._tree.chain(place)).decided((type_, shown), partial(self._effect, type_, shown))
            users = np.flatnonzero(effects)
            if len(users) and (target := self._target(type_, place, inside)) is not None:
                parts.append((users, np.full(len(users), target), effects[users]))
        if len(parts) == 1:
            users, _, effects = parts[0]
            for number in np.flatnonzero(np.bincount(effects)).tolist():
                yield self._users[users[effects == number]], [0], [number]
        if len(parts) < 2:
            return
        user, at, effect = (np.concatenate(each) for each in zip(*parts, strict=True))
        order = np.lexsort((at, user))
        user, cells = user[order], np.stack([at, effect], axis=1)[order]
        begin = np.flatnonzero(np.append(True, user[1:] != user[:-1])).tolist()
        alike: dict[bytes, list[int]] = defaultdict(list)
        for low, high in pairwise([*begin, len(user)]):
            alike[cells[low:high].tobytes()].append(low)
        for packed, heads in alike.items():
            targets, numbers = np.frombuffer(packed, np.int64).reshape(-1, 2).T.tolist()
            yield self._users[user[heads]], targets, numbers

    def _effect(self, type_: str, shown: Shown, before: Chain, after: Chain) -> int:
        """The number of the effect on an object of the type: which names are gained and lost; 0 for none."""
        if before == after and shown[0] == shown[1]:
            return 0
        former = self._bits.allowed(type_, before) if shown[0] else 0
        latter = self._bits.allowed(type_, after) if shown[1] else 0
        changed = (former ^ latter) & self._chosen.names[type_]
        return self._effects.setdefault((latter & changed, former & changed), len(self._effects))

    def _by_names(
        self, type_: str, targets: list[int], effects: list[int]
    ) -> dict[tuple[bool, tuple[str, ...]], list[int]]:
        """The targets by the names that are gained (true) or lost on them."""
        listed = [*self._effects]
        on: dict[tuple[bool, int], list[int]] = defaultdict(list)  # by name
        for target, effect in zip(targets, effects, strict=True):
            for gained, names in zip((True, False), listed[effect], strict=True):
                for at in range(names.bit_length()):
                    if names >> at & 1:
                        on[gained, at].append(target)
        alike: dict[tuple[bool, tuple[int, ...]], list[str]] = defaultdict(list)
        for (gained, at), those in on.items():
            alike[gained, tuple(those)] += self._bits.names(type_)[at].names
        return {(gained, tuple(sorted(names))): [*those] for (gained, those), names in alike.items()}


def _differing(
    roots: Collection[int], ones: Sequence[tuple[FactsOfOne, FactsOfOne]], added_or_dropped: Collection[int]
) -> Collection[int]:
    """The roots on which the facts of one of the users differ between the sides. On the others, access is the same."""
    if any(before.itself() != after.itself() for before, after in ones):
        return roots
    return [
        root
        for root in roots
        if root in added_or_dropped or any(before.on(root) != after.on(root) for before, after in ones)
    ]


class _OnPlaces(Generic[Facts]):
    """What is known about users on places, found once for each place with facts. `depth`: for each of these places, its
    index in chains."""

    def __init__(self, above_all: Facts, depth: Mapping[int, int]) -> None:
        self._above_all: Facts = above_all
        self._depth = depth
        self._known: dict[int, Facts] = {}

    def on(self, places: Sequence[int]) -> Facts:
        """What is known on the first of these places. Each of them is directly inside the next."""
        if not places:
            return self._above_all
        known = self._known.get(places[0])
        if known is None:
            known, depth = self.on(places[1:]), self._depth.get(places[0])
            if depth is not None:
                known = known.below(places[0], depth)
            self._known[places[0]] = known
        return known
