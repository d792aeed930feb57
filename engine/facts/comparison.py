"""Compares all access before and after a change, restricted to the users and objects that the change can affect."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from grantpath.engine.decide.access_effects import AccessEffect, AccessShare, Effects
from grantpath.engine.facts.access_difference import AccessDifference, differences
from grantpath.engine.facts.access_names import AskedName, asked_names, names_with_second_objects
from grantpath.engine.facts.affected import Affected, Block, Side
from grantpath.engine.facts.deciding_grants import DecidingGrants
from grantpath.engine.facts.intervals import ranges
from grantpath.engine.facts.region import Region
from grantpath.engine.facts.region_cover import Intervals, RegionCover
from grantpath.engine.facts.user_classes import UserClasses, alike_in_memberships, effective_of
from grantpath.engine.policy.policy import Policy

Key = tuple[bool, str, tuple[str, ...], tuple[str, ...]]  # gained, type, names, deciding grants
Extent = tuple[tuple[str, ...], tuple[str, ...]]  # objects one by one, and places below which all are meant


@dataclass
class _Found:
    """An effect, while it is collected. `users` by their objects; `covered` are the objects of all of them."""

    users: dict[Extent, list[int]] = field(default_factory=lambda: defaultdict(list))
    objects: set[int] = field(default_factory=set)
    places: set[int] = field(default_factory=set)
    pairs: int = 0


def compare(before: Side, after: Side, statements: Iterable[str]) -> Effects:
    """The effects of going from one side to the other. `statements` are all facts that differ, as canonical statements.

    The sides must number references alike, and be of the same root.
    """
    found: dict[Key, _Found] = defaultdict(_Found)
    sides, names = (before, after), asked_names(before.policy, after.policy)
    if before.policy is not after.policy:
        frame = _frame(before.policy) == _frame(after.policy)
        changed = [name for name in names if name.changed or not frame]
        names = [name for name in names if not name.changed and frame]
        if changed:
            everything = Affected(sides, changed)
            root = before.version.numbers.of(before.root.text)
            _compare_block(sides, Block(everything.all_users(), frozenset([root])), changed, False, found)
    affected = Affected(sides, names)
    blocks = affected.blocks(statements)
    for block in blocks:
        _compare_block(sides, block, affected.relevant(), not affected.users_differ, found)
    omitted = {*names_with_second_objects(before.policy), *names_with_second_objects(after.policy)}
    return _effects(sides, found, omitted)


def _frame(policy: Policy) -> object:
    """What decides about the answers of a policy beside its conditions."""
    chains = {type_: policy.names.chain(type_) for type_ in policy.names.types}
    return policy.user_types, policy.role_types, sorted(policy.hidden), sorted(policy.builtins), chains


def _compare_block(
    sides: tuple[Side, Side], block: Block, names: Sequence[AskedName], alike: bool, found: dict[Key, _Found]
) -> None:
    held = effective_of(sides[0].version, block.users)
    if not alike_in_memberships(sides):
        held |= effective_of(sides[1].version, block.users)
    one_role = {each.one_role for name in names for each in (name.before, name.after) if each is not None}
    region = Region(sides, names, block.roots, held, alike and True not in one_role)
    names = [name for name in names if len(region.targets[name.type])]
    if not names:
        return
    classes = UserClasses(sides, block.users, region, one_role)
    grants, cover = DecidingGrants(region), RegionCover(region, sides, block.roots)
    for first, differing in differences(region, names, classes):
        for key, of in _alike(differing, grants).items():
            gained, type_, by, intervals, chosen = key
            entry = found[gained, type_, chosen, by]
            extent = cover.extent(type_, gained, intervals)
            for each in of:
                entry.users[extent] += classes.users[first + each]
                entry.pairs += cover.size(intervals) * len(classes.users[first + each])
            low, high = np.array(intervals, np.int64).T
            entry.objects.update(cover.numbers(type_, ranges(low, high - low)))
            entry.places.add(cover.place(type_, intervals))


Alike = tuple[bool, str, tuple[str, ...], Intervals, tuple[str, ...]]


def _alike(differing: Iterable[AccessDifference], grants: DecidingGrants) -> dict[Alike, list[int]]:
    """The classes that gain or lose the same names on the same objects by the same grants."""
    names: dict[tuple[int, bool, str, tuple[str, ...], Intervals], list[str]] = {}
    for difference in differing:
        merged: dict[tuple[int, tuple[str, ...]], list[tuple[int, int]]] = {}
        for class_, low, high, by in grants.decided(difference):
            intervals = merged.setdefault((class_, by), [])
            if intervals and intervals[-1][1] == low:
                intervals[-1] = (intervals[-1][0], high)
            else:
                intervals.append((low, high))
        for (class_, by), intervals in merged.items():
            key = (class_, difference.gained, difference.name.type, by, tuple(intervals))
            names.setdefault(key, []).extend(difference.name.names)
    classes: dict[Alike, list[int]] = {}
    for (class_, gained, type_, by, intervals_), chosen in names.items():
        classes.setdefault((gained, type_, by, intervals_, tuple(sorted(chosen))), []).append(class_)
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
            AccessShare(users=tuple(sorted(refs[each] for each in chosen)), objects=objects, below=below)
            for (objects, below), chosen in entry.users.items()
        ]
        effects.append(
            AccessEffect(
                effect="gain" if gained else "lose",
                names=names,
                type=type_,
                by=by,
                users=len(distinct),
                objects=len(entry.objects),
                pairs=entry.pairs,
                place=refs[_common(sides[gained], entry.places)],
                shares=tuple(sorted(shares, key=lambda each: (-len(each.users), each.users, each.objects, each.below))),
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


def _common(side: Side, places: set[int]) -> int:
    """The lowest place that contains all of these places."""
    first, *others = [side.chain(each) for each in sorted(places)]
    return next(each for each in first if all(each in other for other in others))
