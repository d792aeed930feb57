"""The differences between two snapshots: entities, memberships, grants, and the access gained and lost."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from grantpath.engine.facts.kernel.interval_sets import runs_of, within
from grantpath.engine.facts.kernel.intervals import CompiledCondition, Events, IntervalRows, Ints
from grantpath.engine.facts.kernel.tree_order import Numbering, number
from grantpath.engine.policy.facts import FactKind
from grantpath.engine.tenants.tenant_state import Entity
from grantpath.graph.errors import InvalidInput
from grantpath.graph.files.remote_path import AnyPath
from grantpath.spark_sync.bulk.bulk_questions import conditions, prepare, users
from grantpath.spark_sync.bulk.verification import intervals_of
from grantpath.spark_sync.session.snapshot import Snapshot

USERS = 5_000  # the number of users compared at a time
BEFORE, AFTER = 0, 1
GAINED = CompiledCondition([[[((AFTER,), (BEFORE,))]]], 2)
LOST = CompiledCondition([[[((BEFORE,), (AFTER,))]]], 2)


@dataclass(frozen=True)
class AccessChange:
    """For one name on one type: the numbers of (user, object) pairs gained and lost, in total and by user."""

    name: str
    type: str
    gained: int
    lost: int
    by_user: dict[str, tuple[int, int]]  # gained, lost


@dataclass(frozen=True)
class Difference:
    """The changes from the first snapshot to the second. Lists are sorted; facts have the form of statements."""

    added: list[str]
    dropped: list[str]
    facts_added: list[str]
    facts_removed: list[str]
    access: list[AccessChange]


def diff(before: AnyPath | str, after: AnyPath | str, names: list[str] | None = None) -> Difference:
    """The changes from one snapshot to another, with the access by `names` (None: only the facts).

    Raises InvalidInput if one of them is not a snapshot, or they are of different tenants or policies; Unknown and
    Invalid for a name.
    """
    old, new = Snapshot(before), Snapshot(after)
    if (old.meta.root, old.meta.policy) != (new.meta.root, new.meta.policy):
        raise InvalidInput(
            f"{before} is of {old.meta.root} ({old.meta.policy}), {after} of {new.meta.root} ({new.meta.policy}); "
            "compare two snapshots of one tenant"
        )
    if names and old.meta.policy_digest != new.meta.policy_digest:
        raise InvalidInput(
            f"{before} and {after} are of different versions of the policy {old.meta.policy}; omit the names to "
            "compare only facts, or compare two snapshots of one version"
        )
    facts_before, facts_after = _facts(old), _facts(new)
    existing_before, existing_after = _existing(old), _existing(new)
    return Difference(
        sorted(existing_after - existing_before),
        sorted(existing_before - existing_after),
        sorted(facts_after - facts_before),
        sorted(facts_before - facts_after),
        list(_access(old, new, names)) if names else [],
    )


def _existing(source: Snapshot) -> set[str]:
    return {ref for ref, exists in zip(source.numbering.refs, source.numbering.exists, strict=True) if exists}


def _facts(source: Snapshot) -> set[str]:
    """Memberships, owners and grants as statements."""
    refs = [*source.numbering.refs]  # as Python strings, because all of them are looked up
    facts = {f"member {refs[member]} of {refs[container]}" for member, container in source.memberships}
    fact_table = source.fact_table
    for principal, key, place in zip(
        fact_table.principal.tolist(), fact_table.key.tolist(), fact_table.place.tolist(), strict=True
    ):
        fact = fact_table.keys[key]
        if fact.kind is FactKind.OWNS:
            facts.add(f"owner {refs[principal]} of {refs[place]}")
        else:
            facts.add(f"{fact.kind.value.lower()} {fact.privileges[0]} on {refs[place]} to {refs[principal]}")
    return facts


# ---- access ----------------------------------------------------------------------------------------------------
class _Side:
    """One snapshot, with its users and targets in the common numbering of both."""

    def __init__(self, source: Snapshot, common: Numbering) -> None:
        self.source = source
        self._common = pc.index_in(pa.array(source.numbering.refs), pa.array(common.refs)).to_numpy().astype(np.int64)
        self.closure = source.closure()
        self.users = np.flatnonzero(users(source))
        self.user_numbers = self._common[self.users]

    def intervals(self, name: str, type_: str, targets: Ints, chunk: tuple[int, int]) -> IntervalRows:
        """The access of the users in the chunk, in the numbers of the common targets."""
        listed, questions = conditions(self.source.policy, [name])
        question = next(questions[each.condition] for each in listed if each.type == type_)
        prepared = prepare(self.source, [question])
        place = np.searchsorted(targets, self._common[prepared.asked[0].targets])
        present = np.zeros(len(targets), np.bool_)
        present[place] = True
        here = self.users[(chunk[0] <= self.user_numbers) & (self.user_numbers < chunk[1])]
        parts = []
        for who, low, high in intervals_of(self.source, prepared, question, here, self.closure):
            row, low, high = within(self._common[who] - chunk[0], place[low], place[high - 1] + 1, runs_of(present))
            parts.append(IntervalRows(row, np.zeros(len(row), np.int64), low, high - 1))
        return IntervalRows.concat(parts)


def _access(old: Snapshot, new: Snapshot, names: list[str]) -> Iterator[AccessChange]:
    entities = {ref: code for side in (old, new) for ref, code in _typed(side)}
    common = number(new.policy, old.meta.root, (Entity(ref, type_) for ref, type_ in entities.items()))
    sides = _Side(old, common), _Side(new, common)
    for name, type_, _ in conditions(new.policy, names)[0]:
        targets = np.flatnonzero(common.of_type(type_))
        gained: dict[int, int] = {}
        lost: dict[int, int] = {}
        for begin in range(0, len(common), USERS):
            chunk = begin, begin + USERS
            if not any(((s.user_numbers >= chunk[0]) & (s.user_numbers < chunk[1])).any() for s in sides):
                continue
            before, after = (side.intervals(name, type_, targets, chunk) for side in sides)
            for change, into in ((GAINED, gained), (LOST, lost)):
                for user, many in _count(change, before, after, len(targets)):
                    into[begin + user] = many
        by_user = {common.refs[user]: (gained.get(user, 0), lost.get(user, 0)) for user in sorted({*gained, *lost})}
        yield AccessChange(name, type_, sum(gained.values()), sum(lost.values()), by_user)


def _typed(source: Snapshot) -> Iterator[tuple[str, str]]:
    types = source.numbering.types
    for ref, code in zip(source.numbering.refs, source.numbering.type.tolist(), strict=True):
        yield ref, types[code]


def _count(
    change: CompiledCondition, before: IntervalRows, after: IntervalRows, size: int
) -> Iterator[tuple[int, int]]:
    """By user, the number of targets that changed."""
    parts = [
        IntervalRows(rows.owner, np.full(len(rows.owner), side), rows.start, rows.last)
        for side, rows in ((BEFORE, before), (AFTER, after))
    ]
    found = change.solve(Events(IntervalRows.concat(parts), size, 2))
    many = np.bincount(found.row, weights=found.last - found.start + 1).astype(np.int64)
    for user in np.flatnonzero(many).tolist():
        yield user, int(many[user])
