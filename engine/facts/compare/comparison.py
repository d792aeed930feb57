"""Compares all access before and after a change, restricted to the users and objects that the change can affect."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from grantpath.engine.answers.access_effects import AccessEffect, AccessShare, Effects
from grantpath.engine.facts.compare.access_difference import AccessDifference, differences
from grantpath.engine.facts.compare.access_names import AskedName, asked_names, names_with_second_objects
from grantpath.engine.facts.compare.affected import Affected, Block
from grantpath.engine.facts.compare.deciding_grants import DecidedParts, DecidingGrants
from grantpath.engine.facts.compare.equal_rows import by_kind
from grantpath.engine.facts.compare.region import Region
from grantpath.engine.facts.compare.region_cover import Extent, RegionCover, distinct_size, packed
from grantpath.engine.facts.compare.small_region import SmallRegion
from grantpath.engine.facts.compare.user_classes import UserClasses, held_by
from grantpath.engine.facts.kernel.intervals import Ints
from grantpath.engine.facts.set.fact_set import FactSet, Sides
from grantpath.engine.facts.set.fact_version import Numbers
from grantpath.engine.policy.policy import Policy
from grantpath.graph.frozen import unchecked

Key = tuple[bool, str, tuple[str, ...], tuple[str, ...]]  # gained, type, names, deciding grants


@dataclass
class _Found:
    """An effect while it is collected, in parts: users, the objects on which they have it, and these objects as spans
    of the sorted list of the type."""

    users: list[Numbers] = field(default_factory=list)
    extents: list[Extent] = field(default_factory=list)
    spans: list[tuple[Ints, Ints]] = field(default_factory=list)
    pairs: int = 0

    def by_extent(self) -> Iterator[tuple[Extent, Numbers]]:
        """The users by the objects on which they have the effect."""
        number: dict[Extent, int] = {}
        of = [number.setdefault(extent, len(number)) for extent in self.extents]
        kind = np.repeat(np.array(of, np.int64), [len(each) for each in self.users])
        return zip(number, by_kind(np.concatenate(self.users), kind), strict=True)


@dataclass
class _Effects:
    """All effects while they are collected."""

    explained: bool
    by_key: dict[Key, _Found] = field(default_factory=lambda: defaultdict(_Found))

    def add(self, cover: RegionCover, key: Key, users: Numbers, intervals: bytes) -> None:
        """Adds users to the effect `key`. `intervals`: the packed intervals of the targets on which they have it."""
        gained, type_, _, _ = key
        entry, (low, high, size) = self.by_key[key], cover.spans(type_, gained, intervals)
        entry.users.append(users)
        entry.extents.append(cover.extent(type_, gained, intervals))
        entry.spans.append((low, high))
        entry.pairs += size * len(users)


@dataclass(frozen=True)
class ChangedAccess:
    """What users gain or lose: names on `objects`, and on all objects of the type inside the places `below`.

    `users` are numbers of references.
    """

    gained: bool
    type: str
    names: tuple[str, ...]
    users: Numbers
    objects: tuple[str, ...]
    below: tuple[str, ...]


@dataclass
class _Parts(_Effects):
    """The effects in parts, as they are found."""

    parts: list[ChangedAccess] = field(default_factory=list)

    def add(self, cover: RegionCover, key: Key, users: Numbers, intervals: bytes) -> None:
        gained, type_, names, _ = key
        objects, below, _, _ = cover.extent(type_, gained, intervals)
        self.parts.append(ChangedAccess(gained, type_, names, users, objects, below))


def compare(before: FactSet, after: FactSet, statements: Iterable[str], explained: bool = True) -> Effects:
    """The effects of going from one side to the other. `statements` are all facts that differ, as canonical statements.

    The sides must number references alike, and be of the same root. `explained`: whether the effects name the deciding
    grants and the common place, and whether a share may be a place with exceptions. Otherwise `by` and `place` are
    empty, and shares have no exceptions, so their lists can be long.
    """
    found = _Effects(explained)
    _find((before, after), statements, found)
    omitted = {*names_with_second_objects(before.policy), *names_with_second_objects(after.policy)}
    return _effects((before, after), found, omitted)


def changed_access(before: FactSet, after: FactSet, statements: Iterable[str]) -> list[ChangedAccess]:
    """The effects in parts, without deciding grants and counts: for a follower, which needs no texts of users."""
    found = _Parts(explained=False)
    _find((before, after), statements, found)
    return found.parts


def _find(sides: Sides, statements: Iterable[str], found: _Effects) -> None:
    before, after = sides
    names, changed = asked_names(before.policy, after.policy), list[AskedName]()
    if before.policy is not after.policy:
        frame = _frame(before.policy) == _frame(after.policy)
        changed = [name for name in names if name.changed or not frame]
        names = [name for name in names if not name.changed and frame]
    affected = Affected(sides, names)
    blocks = affected.blocks(statements)
    if changed:
        root = before.version.numbers.of(before.root.text)
        everything = Block(affected.all_users(), frozenset([root]))
        _compare_block(sides, everything, changed, affected.added_or_dropped, False, found)
    relevant = affected.relevant()
    for block in blocks:
        _compare_block(sides, block, relevant, affected.added_or_dropped, not affected.users_differ, found)


def _frame(policy: Policy) -> object:
    """Everything in a policy, except its conditions, on which answers depend."""
    return policy.user_types, policy.role_types, sorted(policy.hidden), sorted(policy.builtins), policy.names.parents


def _compare_block(
    sides: Sides,
    block: Block,
    names: Sequence[AskedName],
    added_or_dropped: Collection[int],
    same_users: bool,
    found: _Effects,
) -> None:
    if not found.explained and _compare_small(sides, block, names, added_or_dropped, found):
        return
    held = held_by(sides, block.users)
    one_role = {each.one_role for name in names for each in (name.before, name.after) if each is not None}
    region = Region(sides, names, block.roots, held, added_or_dropped, same_users and True not in one_role)
    names = [name for name in names if len(region.targets[name.type])]
    if not names:
        return
    classes = UserClasses(sides, block.users, region, one_role)
    grants = DecidingGrants(region) if found.explained else None
    cover = RegionCover(region.objects, sides, found.explained)
    for first, differing in differences(region, names, classes):
        alike = _alike(differing, grants)
        for type_, gained in {(each[1], each[0]) for each in alike}:
            cover.prepare(type_, gained, (each[3] for each in alike if each[:2] == (gained, type_)))
        for (gained, type_, by, intervals, chosen), of in alike.items():
            users = np.concatenate([classes.users[first + each] for each in of])
            found.add(cover, (gained, type_, chosen, by), users, intervals)


def _compare_small(
    sides: Sides,
    block: Block,
    names: Sequence[AskedName],
    added_or_dropped: Collection[int],
    found: _Effects,
) -> bool:
    """Compares a block without deciding grants, and returns true; returns false if its region is not small."""
    region = SmallRegion(sides, block, names, added_or_dropped)
    if not region.fits:
        return False
    cover = RegionCover(region.objects, sides, with_exceptions=False)
    for each in region.differences():
        found.add(cover, (each.gained, each.type, each.names, ()), each.users, packed(each.low, each.high))
    return True


Alike = tuple[bool, str, tuple[str, ...], bytes, tuple[str, ...]]


def _alike(differing: Iterable[AccessDifference], grants: DecidingGrants | None) -> dict[Alike, list[int]]:
    """The classes that gain or lose the same names on the same objects by the same grants."""
    names: dict[tuple[int, bool, str, tuple[str, ...], bytes], list[str]] = {}
    for difference in differing:
        parts = grants.decided(difference) if grants else DecidedParts.whole(difference)
        new = np.append(True, (parts.of[1:] != parts.of[:-1]) | (parts.by[1:] != parts.by[:-1]))
        first, intervals = np.flatnonzero(new), packed(parts.low, parts.high)
        size = len(intervals) // len(parts.low)
        ends = np.append(first[1:], len(parts.low))
        columns = (parts.of[first], parts.by[first], first * size, ends * size)
        for class_, by, begin, end in zip(*(each.tolist() for each in columns), strict=True):
            key = (class_, difference.gained, difference.name.type, parts.grants[by], intervals[begin:end])
            names.setdefault(key, []).extend(difference.name.names)
    classes: dict[Alike, list[int]] = {}
    for (class_, gained, type_, by_, objects), chosen in names.items():
        classes.setdefault((gained, type_, by_, objects, tuple(sorted(chosen))), []).append(class_)
    return classes


# ---- result ----------------------------------------------------------------------------------------------------------
def _effects(sides: Sides, found: _Effects, omitted: Iterable[str]) -> Effects:
    refs = sides[0].version.numbers.refs
    users: dict[bool, set[int]] = {True: set(), False: set()}
    effects = []
    for (gained, type_, names, by), entry in found.by_key.items():
        distinct = {*np.concatenate(entry.users).tolist()}
        users[gained] |= distinct
        shares = [
            unchecked(  # there can be thousands
                AccessShare,
                {
                    "users": tuple(sorted(refs[each] for each in chosen.tolist())),
                    "objects": objects,
                    "below": below,
                    "except_objects": except_objects,
                    "except_below": except_below,
                },
            )
            for (objects, below, except_objects, except_below), chosen in entry.by_extent()
        ]
        low, high = (np.concatenate(each) for each in zip(*entry.spans, strict=True))
        effects.append(
            AccessEffect(
                effect="gain" if gained else "lose",
                names=names,
                type=type_,
                by=by,
                users=len(distinct),
                objects=distinct_size(low, high),
                pairs=entry.pairs,
                place=_place(sides[gained], type_, int(low.min()), int(high.max()) - 1) if found.explained else "",
                shares=tuple(sorted(shares, key=_order)),
            )
        )
    effects.sort(key=lambda each: (-each.pairs, each.effect, each.type, each.names, each.by))
    return Effects(
        revision=sides[0].version.revision,
        gaining=len(users[True]),
        losing=len(users[False]),
        effects=tuple(effects),
        omitted=tuple(sorted(omitted)),
    )


def _order(share: AccessShare) -> tuple[object, ...]:
    return -len(share.users), share.users, share.objects, share.below, share.except_objects, share.except_below


def _place(side: FactSet, type_: str, first: int, last: int) -> str:
    """The lowest place above some objects. `first`, `last`: the lowest and the highest index of these objects in the
    sorted list of the type."""
    numbers, listed = side.version.numbers, side.version.listed[type_]
    one, other = (side.chain(numbers.find(listed[at], -1)) for at in (first, last))
    return numbers.refs[next(each for each in one if each in other)]
