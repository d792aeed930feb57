"""Renumbers the entities of a mirror in tree order after entities were added and dropped."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from grantpath.engine.facts.kernel.intervals import AnyInts, Bools, Ints
from grantpath.engine.facts.kernel.tree_order import Numbering
from grantpath.engine.policy.policy import Policy
from grantpath.graph.distinct_numbers import distinct
from grantpath.graph.language.reference import Reference, type_of
from grantpath.spark_sync.mirroring.graph_rows import TreeKeys


@dataclass(frozen=True)
class Rows:
    """Decides which entities have a row: those that exist, those that an edge needs, and their ancestors."""

    at: Mapping[str, int]  # the old positions of the references in the changes, for those that have one
    used: Bools  # by old position: whether an edge that stays needs the entity
    ends: Collection[str]  # the references that new edges need
    entities: Mapping[str, bool]  # the added (true) and dropped (false) entities


@dataclass(frozen=True)
class Renumbering:
    """The new numbering. `position`: by old position, the new position; -1 for a removed row. `added`: by new position,
    whether the row is new. `new`: the references of the new rows."""

    numbering: Numbering
    position: Ints
    added: Bools
    new: Mapping[str, int]

    @property
    def order_changed(self) -> bool:
        """Whether a row was added or removed."""
        return bool(self.new) or bool((self.position < 0).any())

    def of(self, old: AnyInts) -> Ints:
        """The new positions for old positions."""
        found: Ints = self.position[old]
        return found

    def positions(self, at: Mapping[str, int]) -> dict[str, int]:
        """The new positions of references. `at`: the references with their old positions; the new references are
        added."""
        kept = {ref: int(self.position[old]) for ref, old in at.items() if self.position[old] >= 0}
        return kept | dict(self.new)


def renumbered(former: Numbering, rows: Rows, keys: TreeKeys, policy: Policy) -> Renumbering:
    """The numbering of the entities that exist, of those that edges need, and of all their ancestors."""
    exists = former.exists.copy()
    for ref, holds in rows.entities.items():
        if ref in rows.at:
            exists[rows.at[ref]] = holds
    tree = _OldTree(former, keys)
    wanted = {ref for ref in rows.ends if ref not in rows.at}
    wanted |= {ref for ref, holds in rows.entities.items() if holds and ref not in rows.at}
    fresh, above = tree.with_missing(wanted)
    needed = exists | rows.used
    needed[0] = True
    needed[[rows.at[ref] for ref in rows.ends if ref in rows.at]] = True
    needed[above] = True
    _mark_ancestors(former, needed)
    if not fresh and needed.all():
        same = np.array_equal(exists, former.exists)
        numbering = former if same else replace(former, exists=exists)
        return Renumbering(numbering, np.arange(len(former)), np.zeros(len(former), np.bool_), {})
    exist = {ref: rows.entities.get(ref, False) for ref in fresh}
    return _merged(replace(former, exists=exists), needed, tree, fresh, exist, policy)


def _mark_ancestors(numbering: Numbering, needed: Bools) -> None:
    """Marks the ancestors of all marked entities."""
    marked = np.flatnonzero(needed)
    while len(marked):
        above = numbering.parent[marked]
        above = distinct(above[above >= 0])
        marked = above[~needed[above]]
        needed[marked] = True


class _OldTree:
    """Finds places in the tree order of a numbering."""

    def __init__(self, numbering: Numbering, keys: TreeKeys) -> None:
        self._numbering, self._keys = numbering, keys

    def key(self, ref: str) -> bytes:
        return self._keys.key(ref, type_of(ref))

    def place(self, key: bytes) -> int:
        """The position of the entity with this key, or else the position before which it would be inserted."""
        refs = self._numbering.refs
        return 1 + bisect_left(range(1, len(refs)), key, key=lambda at: self.key(refs[at])) if key else 0

    def find(self, ref: str) -> int | None:
        """The position of an entity; None if it has none."""
        at = self.place(self.key(ref))
        return at if at < len(self._numbering) and self._numbering.refs[at] == ref else None

    def parent(self, ref: str) -> str | None:
        """The reference of the parent; None for an entity directly below the root object."""
        words = self.key(ref).decode().split("\0")[:-3]
        if not words:
            return None
        return Reference(words[-1], tuple(words[::2]), words[-1] in self._keys.one_segment).text

    def with_missing(self, wanted: Iterable[str]) -> tuple[list[str], list[int]]:
        """The references without a position, among the wanted ones and their ancestors, in tree order; and the
        positions of the nearest ancestors that have one."""
        fresh, above = set[str](), [0]
        for ref in wanted:
            each: str | None = ref
            while each is not None and each not in fresh:
                at = self.find(each)
                if at is not None:
                    above.append(at)
                    break
                fresh.add(each)
                each = self.parent(each)
        return sorted(fresh, key=self.key), above


def _merged(
    former: Numbering, needed: Bools, tree: _OldTree, fresh: list[str], exist: Mapping[str, bool], policy: Policy
) -> Renumbering:
    """The numbering with the old rows that are needed and the new ones, all in tree order."""
    # for each new reference, the old position before which it belongs
    place = np.array([tree.place(tree.key(ref)) for ref in fresh], np.int64)
    kept_before = np.concatenate([[0], np.cumsum(needed)]).astype(np.int64)
    at = kept_before[place]
    old = np.arange(len(former))
    position = np.where(needed, kept_before[old] + np.searchsorted(place, old, side="right"), -1)
    new = {ref: int(begin) + number for number, (ref, begin) in enumerate(zip(fresh, at.tolist(), strict=True))}

    def column(old_values: npt.NDArray[Any], values: list[Any]) -> npt.NDArray[Any]:
        return np.insert(old_values[needed], at, np.array(values, old_values.dtype))

    types = {name: number for number, name in enumerate(former.types)}
    refs = column(np.array(former.refs, object), fresh)
    above = position[former.parent]
    above[former.parent < 0] = -1
    parents = [_parent(tree, ref, new, position) for ref in fresh]
    parent = column(above, parents)
    added = column(np.zeros(len(former), np.bool_), [True] * len(fresh))
    numbering = Numbering(
        refs.tolist(),
        column(former.type, [types[type_of(ref)] for ref in fresh]),
        parent,
        _last(parent),
        column(former.exists, [exist[ref] for ref in fresh]),
        column(former.builtin, [ref in policy.builtins for ref in fresh]),
        former.types,
    )
    return Renumbering(numbering, position, added, new)


def _parent(tree: _OldTree, ref: str, new: Mapping[str, int], position: Ints) -> int:
    above = tree.parent(ref)
    if above is None:
        return int(position[0])
    if above in new:
        return new[above]
    at = tree.find(above)
    assert at is not None, f"{above} is neither new nor old"
    return int(position[at])


def _last(parent: Ints) -> Ints:
    """The last position of each subtree. Sizes are summed from the deepest level upwards."""
    depth, above = np.zeros(len(parent), np.int64), parent.copy()
    while (below := above >= 0).any():
        depth += below
        above = np.where(below, parent[above], -1)
    size = np.ones(len(parent), np.int64)
    for level in range(int(depth.max(initial=0)), 0, -1):
        here = np.flatnonzero(depth == level)
        size += np.bincount(parent[here], size[here], len(parent)).astype(np.int64)
    last: Ints = np.arange(len(parent)) + size - 1
    return last
