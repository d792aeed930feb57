"""Finds grants without effect: shadowed grants are cancelled by a DENY, dead grants have no effect for another reason.

docs/report.md defines both. All sums are computed on columns; there are loops only over kinds of grants, conditions,
places with a DENY, and grantees.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from grantpath.engine.facts.kernel.fact_table import FactTable
from grantpath.engine.facts.kernel.intervals import AnyInts, Bools, Ints, offsets
from grantpath.engine.policy.facts import Fact, FactKind, is_privilege
from grantpath.graph.distinct_numbers import distinct
from grantpath.spark_sync.bulk.bulk_questions import listed_objects
from grantpath.spark_sync.bulk.condition_answers import ConditionAnswers
from grantpath.spark_sync.bulk.grant_uses import GrantUse, GrantUses
from grantpath.spark_sync.bulk.users_by_principal import UsersByPrincipal
from grantpath.spark_sync.session.snapshot import Snapshot


class Idle(IntEnum):
    """Why a grant has no effect. The first reason that applies counts."""

    NO_USER = 1  # no existing user is, or belongs to, its grantee
    NO_OBJECT = 2  # no condition counts the grant for an existing object
    SHADOWED = 3  # a DENY at or above its object cancels the grant for each user that has it
    NOTHING_OPEN = 4  # no user is allowed any operation that counts the grant, on any object for which it counts


@dataclass(frozen=True)
class IdleGrants:
    """The grants without effect, in columns."""

    row: Ints  # numbers of rows of the fact table
    reason: Ints  # values of Idle
    denied_at: Ints  # the position of the nearest place with such a DENY; -1 if the reason is not SHADOWED
    users: Ints  # the number of users that have the grant
    grants: int  # the number of all ALLOW and DENY grants
    on_tags: int  # grants that hold for what has the tag; they are not judged
    unanswered: int  # ALLOW grants with operations that have no bulk answers; they may be NOTHING_OPEN


class _Judge:
    """Judges the grants of one snapshot, row by row of its fact table."""

    def __init__(self, source: Snapshot, answers: ConditionAnswers, holders: UsersByPrincipal) -> None:
        self.source, self.answers, self.holders = source, answers, holders
        self.facts: FactTable = source.fact_table
        self.numbering = source.numbering
        self.uses = GrantUses(source.policy, answers.numbers)
        size = len(self.facts.key)
        self.reason = np.zeros(size, np.int64)
        self.denied_at = np.full(size, -1, np.int64)
        self.unanswered = 0
        self.rows_of = {key: np.flatnonzero(self.facts.key == at) for at, key in enumerate(self.facts.keys)}
        self.grants_of = {
            key: rows
            for key, rows in self.rows_of.items()
            if key.kind in (FactKind.ALLOW, FactKind.DENY) and not key.of_tag
        }
        # what a grant gives to the objects that have its tag is not known from the conditions on the tag itself
        self.judged = {
            key: rows
            for key, rows in self.grants_of.items()
            if source.policy.names.privilege_by_tag(key.granted, key.place) is None
        }
        self._existing: dict[str, Ints] = {}

    # ---- reach of a grant ------------------------------------------------------------------------------------
    def _region(self, rows: Ints, use: GrantUse) -> tuple[Ints, Ints]:
        """For each grant, the half-open range of positions for which it counts in this use; empty if it does not
        count."""
        place = self.facts.place[rows]
        top = place if use.above is None else self.numbering.above(place, use.above)
        start, end = np.where(top < 0, 0, top), np.where(top < 0, 0, self.numbering.last[top] + 1)
        return (start, np.where(self.numbering.exists[place], end, start)) if use.existing else (start, end)

    def _existing_before(self, type_: str) -> Ints:
        """By position: the number of existing objects of the type at lower positions."""
        if type_ not in self._existing:
            self._existing[type_] = _counts_before(listed_objects(self.source, type_), len(self.numbering))
        return self._existing[type_]

    def find_dead(self, key: Fact, rows: Ints) -> None:
        """Sets NO_USER and NO_OBJECT for the grants of one kind."""
        counted = np.zeros(len(rows), np.bool_)
        for use in {each._replace(condition=None) for each in self.uses.uses.get(key, ())}:
            start, end = self._region(rows, use)
            before = self._existing_before(use.target)
            counted |= before[end] > before[start]
        self.reason[rows[~counted]] = Idle.NO_OBJECT
        self.reason[rows[self.holders.count[self.facts.principal[rows]] == 0]] = Idle.NO_USER

    # ---- shadowed --------------------------------------------------------------------------------------------
    def find_shadowed(self, key: Fact, rows: Ints) -> None:
        """Sets SHADOWED for the ALLOW grants of one kind that have no reason yet."""
        rows = rows[self.reason[rows] == 0]
        denials = [self.rows_of[denier] for denier in self.uses.deniers(key) if denier in self.rows_of]
        deny = np.concatenate([np.empty(0, np.int64), *denials])
        if not len(rows) or not len(deny):
            return
        deny = deny[np.argsort(self.facts.place[deny], kind="stable")]
        deny_offset = offsets(self.facts.place[deny], len(self.numbering))
        denied = np.diff(deny_offset) > 0
        nearest = self._nearest(self.facts.place[rows], denied)
        rows, nearest = rows[nearest >= 0], nearest[nearest >= 0]
        if not len(rows):
            return
        order = np.argsort(nearest, kind="stable")
        rows, nearest = rows[order], nearest[order]
        places, first = np.unique(nearest, return_index=True)
        denials_of = np.zeros(len(self.numbering) if self._one_role else self.holders.total, np.int32)
        counted: list[int] = []  # the places whose DENY grants are at present included in `denials_of`
        for place, mine in zip(places.tolist(), np.split(rows, first[1:]), strict=True):
            path = self._path(place, denied)
            for at in {*path} ^ {*counted}:
                grants = deny[deny_offset[at] : deny_offset[at + 1]]
                self._count_denied(denials_of, self.facts.principal[grants], 1 if at in path else -1)
            counted = path
            hit = mine[self._all_denied(self.facts.principal[mine], denials_of)]
            self.reason[hit] = Idle.SHADOWED
            self.denied_at[hit] = place

    def _path(self, place: int, denied: Bools) -> list[int]:
        """The places with a DENY from the root down to this one."""
        path = [place]
        while (above := int(self._nearest(self.numbering.parent[path[-1:]], denied)[0])) >= 0:
            path.append(above)
        return path[::-1]

    def _nearest(self, positions: Ints, denied: Bools) -> Ints:
        """For each position, itself or its nearest ancestor with a DENY; -1 if it has none."""
        at = positions.copy()
        while True:
            wrong = (at >= 0) & ~denied[at]
            if not wrong.any():
                return at
            at[wrong] = self.numbering.parent[at[wrong]]

    @property
    def _one_role(self) -> bool:
        """Whether one role is active at a time. A DENY of another role may then be inactive, so only a grantee's own
        DENY counts."""
        return self.source.policy.active_roles

    def _count_denied(self, denials_of: AnyInts, holders: Ints, change: int) -> None:
        """Adds `change` to the count of each user of the grantees of DENYs (`holders`); with one active role, to the
        count of each grantee."""
        for holder in holders.tolist():
            denials_of[holder if self._one_role else self.holders.of(holder)] += change

    def _all_denied(self, holders: Ints, denials_of: AnyInts) -> Bools:
        """For each grantee, whether all of its users are denied."""
        if self._one_role:
            found: Bools = denials_of[holders] > 0
            return found
        different = distinct(holders[denials_of[self.holders.first(holders)] > 0])
        full = [holder for holder in different.tolist() if (denials_of[self.holders.of(holder)] > 0).all()]
        return np.isin(holders, full)

    # ---- nothing open ----------------------------------------------------------------------------------------
    def find_nothing_open(self) -> None:
        """Sets NOTHING_OPEN for ALLOW grants that have no reason yet, if all of their operations have answers."""
        index = {each.number: at for at, each in enumerate(self.answers.conditions)}
        operations = {number for (name, _), number in self.answers.numbers.items() if not is_privilege(name)}
        candidate = np.zeros(len(self.reason), np.bool_)
        by_condition: dict[int, list[tuple[Ints, GrantUse]]] = {}
        for key, rows in self.judged.items():
            uses = [(use.condition, use) for use in self.uses.uses.get(key, ()) if use.condition in operations]
            if key.kind is not FactKind.ALLOW or not uses:
                continue
            left = rows[self.reason[rows] == 0]
            if not all(number in index for number, _ in uses):
                self.unanswered += len(left)
                continue
            candidate[left] = True
            for number, use in uses:
                by_condition.setdefault(index[number], []).append((left, use))
        for at, used in by_condition.items():
            before = _counts_before(self.answers.exposed[self.answers.exposure_of(at)], len(self.numbering))
            for rows, use in used:
                start, end = self._region(rows, use)
                candidate[rows[before[end] > before[start]]] = False
        self.reason[candidate] = Idle.NOTHING_OPEN


def idle_grants(source: Snapshot, answers: ConditionAnswers, holders: UsersByPrincipal) -> IdleGrants:
    """The grants of a snapshot without effect. Raises InvalidInput if the snapshot cannot be read."""
    judge = _Judge(source, answers, holders)
    for key, rows in judge.judged.items():
        judge.find_dead(key, rows)
    for key, rows in judge.judged.items():
        if key.kind is FactKind.ALLOW:
            judge.find_shadowed(key, rows)
    judge.find_nothing_open()
    grants = sum(map(len, judge.grants_of.values()))
    row = np.flatnonzero(judge.reason)
    row = row[np.lexsort((judge.facts.principal[row], judge.facts.place[row], judge.reason[row]))]
    return IdleGrants(
        row,
        judge.reason[row],
        judge.denied_at[row],
        holders.count[judge.facts.principal[row]],
        grants,
        grants - sum(map(len, judge.judged.values())),
        judge.unanswered,
    )


def _counts_before(positions: Ints, size: int) -> Ints:
    """By position, and for the end: the number of these positions that are lower."""
    here = np.zeros(size + 1, np.int64)
    here[positions + 1] = 1
    counts: Ints = np.cumsum(here)
    return counts
