"""The differences between two snapshots: entities, memberships, grants, and the access gained and lost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from grantpath.engine.answers.batches import require_list
from grantpath.engine.facts.kernel.interval_sets import runs_of, within
from grantpath.engine.facts.kernel.intervals import CompiledCondition, Events, IntervalRows, Ints
from grantpath.engine.facts.kernel.tree_order import Numbering, number
from grantpath.engine.policy.facts import FactKind
from grantpath.engine.policy.policy import Requirement
from grantpath.engine.tenants.stored_policy import is_same
from grantpath.engine.tenants.tenant_state import Entity
from grantpath.graph.errors import InvalidInput
from grantpath.graph.files.remote_path import AnyPath
from grantpath.graph.language.stored_fact import StoredFact, fact_text
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
    names = None if names is None else require_list("names", names, None)
    compared = Comparison(Snapshot(before), Snapshot(after))
    if names and not compared.of_one_policy:
        raise InvalidInput(
            f"{before} and {after} are of different versions of the policy {compared.old.meta.policy}; omit the names "
            "to compare only facts, or compare two snapshots of one version"
        )
    return Difference(
        sorted(compared.added),
        sorted(compared.dropped),
        sorted(map(fact_text, compared.facts_added)),
        sorted(map(fact_text, compared.facts_removed)),
        list(_by_name(compared, names)) if names else [],
    )


def _by_name(compared: "Comparison", names: list[str]) -> Iterator[AccessChange]:
    listed, questions = conditions(compared.new.policy, names)
    found = []
    for changed in compared.access(questions):
        gained, lost = (_by_user(each) for each in (changed.gained, changed.lost))
        users_ = {compared.common.refs[at]: (gained.get(at, 0), lost.get(at, 0)) for at in sorted({*gained, *lost})}
        found.append((sum(gained.values()), sum(lost.values()), users_))
    for name, type_, condition in listed:
        yield AccessChange(name, type_, *found[condition])


def _by_user(pairs: "Pairs") -> dict[int, int]:
    """By user, the number of objects."""
    counts = np.bincount(pairs.user, pairs.end - pairs.first).astype(np.int64)
    return {at: int(counts[at]) for at in np.flatnonzero(counts).tolist()}


# ---- two snapshots -----------------------------------------------------------------------------------------------
class Pairs(NamedTuple):
    """Pairs of user and object in columns: a user, and a half-open range of indexes of objects. Sorted by user."""

    user: Ints
    first: Ints
    end: Ints


class ChangedAccess(NamedTuple):
    """The access by one question that users gained and lost. Users and objects have their common numbers."""

    objects: Ints  # to whose indexes the pairs refer
    gained: Pairs
    lost: Pairs


class Comparison:
    """An older and a newer snapshot of one root. Raises InvalidInput for two roots or policies."""

    def __init__(self, old: Snapshot, new: Snapshot) -> None:
        if (old.meta.root, old.meta.policy) != (new.meta.root, new.meta.policy):
            raise InvalidInput(
                f"{old.named_folder} is of {old.meta.root} ({old.meta.policy}), {new.named_folder} of {new.meta.root} "
                f"({new.meta.policy}); compare two snapshots of one root with one policy: name an older one of "
                f"{new.meta.root} ({new.meta.policy}) first"
            )
        self.old, self.new = old, new
        facts, existing = (_facts(old), _facts(new)), (_existing(old), _existing(new))
        self.added, self.dropped = existing[1] - existing[0], existing[0] - existing[1]
        self.facts_added, self.facts_removed = facts[1] - facts[0], facts[0] - facts[1]

    @property
    def of_one_policy(self) -> bool:
        """Whether the policies of both snapshots decide alike. Otherwise only their facts can be compared."""
        return is_same(self.old.policy, self.new.policy)

    @cached_property
    def common(self) -> Numbering:
        """The entities of both snapshots."""
        entities = {ref: code for side in (self.old, self.new) for ref, code in _typed(side)}
        return number(self.new.policy, self.old.meta.root, (Entity(ref, type_) for ref, type_ in entities.items()))

    def access(self, questions: Sequence[Requirement]) -> Iterator[ChangedAccess]:
        """The access by each question that users gained and lost. The snapshots must be `of_one_policy`."""
        common = self.common
        sides = _Side(self.old, common), _Side(self.new, common)
        used = np.unique(np.concatenate([side.user_numbers for side in sides]) // USERS) * USERS
        for question in questions:
            objects = np.flatnonzero(common.of_type(question.type))
            asked = [_Asked(side, question, objects) for side in sides]
            found: tuple[list[Pairs], list[Pairs]] = ([], [])
            for begin in used.tolist():
                before, after = (each.intervals(begin) for each in asked)
                for change, parts in zip((GAINED, LOST), found, strict=True):
                    parts.append(_changed(change, before, after, len(objects), begin))
            yield ChangedAccess(objects, *map(_joined, found))


def _existing(source: Snapshot) -> set[str]:
    return {ref for ref, exists in zip(source.numbering.refs, source.numbering.exists, strict=True) if exists}


def _facts(source: Snapshot) -> set[StoredFact]:
    """Memberships, owners, tags and grants. A snapshot does not say when they end."""
    refs = [*source.numbering.refs]  # as Python strings, because all of them are looked up
    facts = {("MEMBER", "", refs[member], refs[container], "") for member, container in source.memberships}
    fact_table = source.fact_table
    for principal, key, place in zip(
        fact_table.principal.tolist(), fact_table.key.tolist(), fact_table.place.tolist(), strict=True
    ):
        fact = fact_table.keys[key]
        if fact.kind is FactKind.TAGGED:
            facts.add((fact.kind.value, "", refs[place], refs[principal], ""))
        elif not fact.of_tag:
            facts.add((fact.kind.value, "".join(fact.privileges), refs[principal], refs[place], ""))
    return facts


class _Side:
    """One snapshot, with its users in the common numbering of both."""

    def __init__(self, source: Snapshot, common: Numbering) -> None:
        self.source = source
        self.common = pc.index_in(pa.array(source.numbering.refs), pa.array(common.refs)).to_numpy().astype(np.int64)
        self.closure = source.closure()
        self.users = np.flatnonzero(users(source))
        self.user_numbers = self.common[self.users]


class _Asked:
    """A question about one snapshot. `objects`: the common numbers of the objects of both."""

    def __init__(self, side: _Side, question: Requirement, objects: Ints) -> None:
        self._side, self._question = side, question
        self._prepared = prepare(side.source, [question])
        self._index = np.searchsorted(objects, side.common[self._prepared.asked[0].targets])
        present = np.zeros(len(objects), np.bool_)
        present[self._index] = True
        self._present = runs_of(present)

    def intervals(self, begin: int) -> IntervalRows:
        """The access of the USERS numbers from `begin` on, in indexes of the common objects."""
        side, index = self._side, self._index
        here = side.users[(begin <= side.user_numbers) & (side.user_numbers < begin + USERS)]
        parts = []
        for who, low, high in intervals_of(side.source, self._prepared, self._question, here, side.closure):
            row, low, high = within(side.common[who] - begin, index[low], index[high - 1] + 1, self._present)
            parts.append(IntervalRows(row, np.zeros(len(row), np.int64), low, high - 1))
        return IntervalRows.concat(parts)


def _typed(source: Snapshot) -> Iterator[tuple[str, str]]:
    types = source.numbering.types
    for ref, code in zip(source.numbering.refs, source.numbering.type.tolist(), strict=True):
        yield ref, types[code]


def _changed(change: CompiledCondition, before: IntervalRows, after: IntervalRows, size: int, begin: int) -> Pairs:
    """The pairs that changed, of the users from `begin` on."""
    parts = [
        IntervalRows(rows.owner, np.full(len(rows.owner), side), rows.start, rows.last)
        for side, rows in ((BEFORE, before), (AFTER, after))
    ]
    found = change.solve(Events(IntervalRows.concat(parts), size, 2))
    columns = (begin + found.row, found.start, found.last + 1)
    return Pairs(*(column.astype(np.int64) for column in columns))


def _joined(parts: Sequence[Pairs]) -> Pairs:
    empty = np.empty(0, np.int64)
    return Pairs(*(np.concatenate([empty, *(part[at] for part in parts)]) for at in range(3)))
