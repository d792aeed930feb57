"""Compares all access before and after a change, restricted to the users and objects that the change can affect."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from grantpath.engine.decide.access_effects import AccessEffect, AccessShare, Effects
from grantpath.engine.facts.access_difference import AccessDifference, differences
from grantpath.engine.facts.access_names import AskedName, asked_names, names_with_second_objects
from grantpath.engine.facts.affected import Affected, Block, Side
from grantpath.engine.facts.deciding_grants import DecidedParts, DecidingGrants
from grantpath.engine.facts.intervals import Ints
from grantpath.engine.facts.region import Region
from grantpath.engine.facts.region_cover import Extent, RegionCover, distinct_size, packed
from grantpath.engine.facts.small_region import SmallRegion
from grantpath.engine.facts.user_classes import UserClasses, held_by
from grantpath.engine.policy.policy import Policy

Key = tuple[bool, str, tuple[str, ...], tuple[str, ...]]  # gained, type, names, deciding grants


@dataclass
class _Found:
    """An effect while it is collected. `users`: the users by the objects on which they have it; `objects`: the objects
    of all these users."""

    users: dict[Extent, list[int]] = field(default_factory=lambda: defaultdict(list))
    objects: list[tuple[Ints, Ints]] = field(default_factory=list)  # spans
    places: set[int] = field(default_factory=set)
    pairs: int = 0


@dataclass
class _Effects:
    """All effects while they are collected."""

    explained: bool
    by_key: dict[Key, _Found] = field(default_factory=lambda: defaultdict(_Found))


def compare(before: Side, after: Side, statements: Iterable[str], explained: bool = True) -> Effects:
    """The effects of a change from `before` to `after`. `statements` are all facts that differ, as canonical
    statements.

    Both sides must be of the same root, and give a reference the same number. If `explained`, the effects name the
    deciding grants and the common place, and a share may name a place with exceptions. Otherwise `by` and `place` are
    empty, and a share lists every object or place, which can be long.
    """
    found = _found(before, after, statements, explained)
    omitted = {*names_with_second_objects(before.policy), *names_with_second_objects(after.policy)}
    return _effects((before, after), found.by_key, omitted)


@dataclass(frozen=True)
class ChangedAccess:
    """What users gain or lose: names on `objects`, and on all objects of the type inside the places `below`.

    `users` are numbers of references.
    """

    gained: bool
    type: str
    names: tuple[str, ...]
    users: list[int]
    objects: tuple[str, ...]
    below: tuple[str, ...]


def changed_access(before: Side, after: Side, statements: Iterable[str]) -> Iterator[ChangedAccess]:
    """The effects in parts, without deciding grants and counts. Users are numbers, since a follower needs no names."""
    for (gained, type_, names, _), entry in _found(before, after, statements, explained=False).by_key.items():
        for (objects, below, _, _), users in entry.users.items():
            yield ChangedAccess(gained, type_, names, users, objects, below)


def _found(before: Side, after: Side, statements: Iterable[str], explained: bool) -> _Effects:
    found = _Effects(explained)
    sides, names, changed = (before, after), asked_names(before.policy, after.policy), list[AskedName]()
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
    return found


def _frame(policy: Policy) -> object:
    """Everything in a policy, except its conditions, on which answers depend."""
    chains = {type_: policy.names.chain(type_) for type_ in policy.names.types}
    return policy.user_types, policy.role_types, sorted(policy.hidden), sorted(policy.builtins), chains


def _compare_block(
    sides: tuple[Side, Side],
    block: Block,
    names: Sequence[AskedName],
    added_or_dropped: Collection[int],
    alike: bool,
    found: _Effects,
) -> None:
    if not found.explained and _compare_small(sides, block, names, added_or_dropped, found):
        return
    held = held_by(sides, block.users)
    one_role = {each.one_role for name in names for each in (name.before, name.after) if each is not None}
    region = Region(sides, names, block.roots, held, added_or_dropped, alike and True not in one_role)
    names = [name for name in names if len(region.targets[name.type])]
    if not names:
        return
    classes = UserClasses(sides, block.users, region, one_role)
    grants = DecidingGrants(region) if found.explained else None
    cover = RegionCover(region.objects, sides, found.explained)
    for first, differing in differences(region, names, classes):
        for (gained, type_, by, intervals, chosen), of in _alike(differing, grants).items():
            entry, spans = found.by_key[gained, type_, chosen, by], cover.spans(type_, gained, intervals)
            users = [user for each in of for user in classes.users[first + each]]
            entry.users[cover.extent(type_, gained, intervals)] += users
            entry.pairs += int((spans[1] - spans[0]).sum()) * len(users)
            entry.objects.append(spans)
            if found.explained:
                entry.places.update(cover.ends(type_, gained, spans))


def _compare_small(
    sides: tuple[Side, Side],
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
        entry, intervals = found.by_key[each.gained, each.type, each.names, ()], packed(each.low, each.high)
        spans = cover.spans(each.type, each.gained, intervals)
        entry.users[cover.extent(each.type, each.gained, intervals)] += each.users
        entry.pairs += int((spans[1] - spans[0]).sum()) * len(each.users)
        entry.objects.append(spans)
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
def _effects(sides: tuple[Side, Side], found: dict[Key, _Found], omitted: Iterable[str]) -> Effects:
    refs = sides[0].version.numbers.refs
    users: dict[bool, set[int]] = {True: set(), False: set()}
    effects = []
    for (gained, type_, names, by), entry in found.items():
        distinct = set[int]().union(*entry.users.values())
        users[gained] |= distinct
        shares = [
            AccessShare(
                users=tuple(sorted(refs[each] for each in chosen)),
                objects=objects,
                below=below,
                except_objects=except_objects,
                except_below=except_below,
            )
            for (objects, below, except_objects, except_below), chosen in entry.users.items()
        ]
        effects.append(
            AccessEffect(
                effect="gain" if gained else "lose",
                names=names,
                type=type_,
                by=by,
                users=len(distinct),
                objects=distinct_size(*(np.concatenate(each) for each in zip(*entry.objects, strict=True))),
                pairs=entry.pairs,
                place=refs[_common(sides[gained], entry.places)] if entry.places else "",
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


def _common(side: Side, places: set[int]) -> int:
    """The lowest place that contains all of these places."""
    first, *others = [side.chain(each) for each in sorted(places)]
    return next(each for each in first if all(each in other for other in others))
