"""Numbers the entities of a root in tree order, so that each subtree is an interval of positions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from grantpath.engine.facts.kernel.intervals import Bools, Ints
from grantpath.engine.policy.policy import Policy
from grantpath.engine.tenants.tenant_state import Entity
from grantpath.graph.language.reference import Reference, parse

Path = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Numbering:
    """Entities by position, in pre-order: parents come first, and each subtree is contiguous."""

    refs: Sequence[str]
    type: npt.NDArray[np.int16]  # index in `types`
    parent: Ints  # -1 for a root
    last: Ints  # the last position of the subtree
    exists: Bools
    builtin: Bools
    types: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.refs)

    def of_type(self, name: str) -> Bools:
        """By position: whether the entity is of the type."""
        chosen: Bools = self.type == self.types.index(name)
        return chosen

    @cached_property
    def lengths(self) -> Ints:
        """By position: the number of entities above it, which is the number of segments of its reference."""
        found, above = np.zeros(len(self), np.int64), self.parent
        while (some := above >= 0).any():
            found += some
            above = np.where(some, self.parent[above], -1)
        return found

    def above(self, positions: Ints, name: str, length: int | None = None) -> Ints:
        """For each position, its nearest ancestor (or itself) of that type, with `length` segments if that is given;
        -1 if it has none."""
        found = positions.astype(np.int64).copy()
        wanted = self.types.index(name)
        while True:
            wrong = (found >= 0) & (self.type[found] != wanted)
            if length is not None:
                wrong |= (found >= 0) & (self.lengths[found] != length)
            if not wrong.any():
                return found
            found[wrong] = self.parent[found[wrong]]

    def roots(self) -> Ints:
        """The position of the root above each position."""
        top = np.flatnonzero(self.parent < 0)
        return top[np.searchsorted(top, np.arange(len(self)), side="right") - 1]


def number(policy: Policy, root: str, entities: Iterable[Entity], former: Policy | None = None) -> Numbering:
    """The numbering of one root. Parents that are not listed are added as entities that do not exist. `former`: another
    policy, for entities of types that `policy` does not have.

    Entities are sorted by segments, because in the order of texts `a-b` would come between `a` and `a.x`.
    """
    of_type = {type_: each for each in (former, policy) if each is not None for type_ in each.names.types}
    named: dict[Path, Entity] = {}
    for entity in entities:
        named[_path(of_type[entity.type], entity)] = entity
    named.setdefault((), Entity(root, policy.root_type))
    for path in list(named):
        for depth in range(len(path) - 1, 0, -1):
            if path[:depth] in named:
                break
            named[path[:depth]] = _missing(of_type[path[depth - 1][1]], path[:depth])
    return _numbered(tuple(of_type), named)


def _path(policy: Policy, entity: Entity) -> Path:
    if entity.type == policy.root_type:
        return ()
    segments = parse(entity.ref, policy.names.one_segment).segments
    down = policy.names.types_up(entity.type, len(segments))[-2::-1]
    return tuple(zip(segments, down, strict=True))


def _missing(policy: Policy, path: Path) -> Entity:
    type_ = path[-1][1]
    ref = Reference(type_, tuple(segment for segment, _ in path), type_ in policy.names.one_segment)
    return Entity(ref.text, type_, exists=False)


def _numbered(types: tuple[str, ...], named: dict[Path, Entity]) -> Numbering:
    paths = sorted(named)
    size = len(paths)
    last = np.arange(size, dtype=np.int64)
    parent = np.full(size, -1, np.int64)
    open_: list[int] = []
    for at, path in enumerate(paths):
        while len(open_) > len(path):
            last[open_.pop()] = at - 1
        if open_:
            parent[at] = open_[-1]
        open_.append(at)
    for at in open_:
        last[at] = size - 1
    code = {name: at for at, name in enumerate(types)}
    listed = [named[path] for path in paths]
    return Numbering(
        [entity.ref for entity in listed],
        np.fromiter((code[entity.type] for entity in listed), np.int16, size),
        parent,
        last,
        np.fromiter((entity.exists for entity in listed), np.bool_, size),
        np.fromiter((entity.builtin for entity in listed), np.bool_, size),
        types,
    )
