"""Updates the closure of memberships: computes it again only for the subjects that a changed membership affects."""

import numpy as np

from grantpath.engine.facts.kernel.intervals import Bools, Ints, offsets, ranges
from grantpath.graph.distinct_numbers import distinct
from grantpath.spark_sync.following.changed_order import Renumbering
from grantpath.spark_sync.mirroring.mirror_tables import EffectivePrincipals, Members, Small


def changed_closure(
    former: EffectivePrincipals, moved: Renumbering, members: Members, sources: Ints, added: Ints
) -> EffectivePrincipals:
    """The closure after a change. `members`: all memberships after it; `sources`: the subjects whose direct memberships
    changed; `added`: the new subjects. All positions are new ones.

    A subject is affected only if a source was one of its effective principals: the part of its path that comes before
    the first changed membership existed before the change, so the old closure has the pair of subject and source.
    """
    size = len(moved.numbering)
    subject, holder = moved.of(former.subject), moved.of(former.holder)
    affected = np.zeros(size, np.bool_)
    affected[sources] = True
    again = affected[holder] | (holder < 0)
    affected[subject[again & (subject >= 0)]] = True
    affected[added] = True
    keep = subject >= 0
    keep &= ~affected[subject]
    kept = EffectivePrincipals(subject[keep].astype(np.int32), holder[keep].astype(np.int32))
    new_subject, new_holder = _closed(kept, members, affected, size)
    at = np.searchsorted(kept.subject, new_subject)
    return EffectivePrincipals(
        np.insert(kept.subject, at, new_subject), np.insert(kept.holder, at, new_holder.astype(np.int32))
    )


def _closed(kept: EffectivePrincipals, members: Members, affected: Bools, size: int) -> tuple[Small, Ints]:
    """(subject, holder) of the affected subjects, sorted. `kept` is the closure of the others."""
    begin = offsets(members.source, size)
    is_container = np.zeros(size, np.bool_)
    is_container[members.target] = True
    inner, outer = np.flatnonzero(affected & is_container), np.flatnonzero(affected & ~is_container)
    reached = {each: _reach(each, begin, members.target) for each in inner.tolist()}
    count = begin[outer + 1] - begin[outer]
    direct = members.target[ranges(begin[outer], count)]
    containers, which = np.unique(direct, return_inverse=True)
    known = [
        reached[each] if affected[each] else _principals(kept, each).astype(np.int64) for each in containers.tolist()
    ]
    sizes = np.array([len(each) for each in known], np.int64)
    starts = np.cumsum(sizes) - sizes
    all_known = np.concatenate([*known, np.empty(0, np.int64)])
    owner = np.repeat(np.repeat(outer, count), sizes[which])
    through = all_known[ranges(starts[which], sizes[which])]
    packed = [outer * size + outer, owner * size + through, *(each * size + found for each, found in reached.items())]
    pairs = distinct(np.concatenate(packed))
    return (pairs // size).astype(np.int32), pairs % size


def _principals(closure: EffectivePrincipals, subject: int) -> Small:
    low, high = np.searchsorted(closure.subject, np.array([subject, subject + 1], np.int32))
    return closure.holder[low:high]


def _reach(start: int, begin: Ints, target: Ints) -> Ints:
    """A subject with all its groups and roles, directly or through others."""
    found, waiting = {start}, [start]
    while waiting:
        each = waiting.pop()
        for container in target[begin[each] : begin[each + 1]].tolist():
            if container not in found:
                found.add(container)
                waiting.append(container)
    return np.fromiter(found, np.int64, len(found))
