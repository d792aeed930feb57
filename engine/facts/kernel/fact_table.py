"""Prepares questions for the kernel: the intervals in which each fact holds, and the objects of each question."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from grantpath.engine.facts.kernel.folding import fold
from grantpath.engine.facts.kernel.interval_sets import runs_of, within
from grantpath.engine.facts.kernel.intervals import (
    ActingPrincipals,
    AnyInts,
    Bools,
    CompiledCondition,
    Events,
    IntervalRows,
    Ints,
    PrincipalFacts,
    check_size,
    ranges,
)
from grantpath.engine.facts.kernel.tree_order import Numbering
from grantpath.engine.policy.clauses import Clauses, facts_of
from grantpath.engine.policy.facts import ALL, Fact, FactKind, place_length, place_type, second_object
from grantpath.engine.policy.policy import Requirement
from grantpath.graph.distinct_numbers import distinct

OF_TARGETS = (
    FactKind.EXISTS,
    FactKind.BUILTIN,
    FactKind.EVERY_BELOW,
)  # known for each target; only a false EVERY_BELOW also depends on the subject, whose grants can make it true
GRANTED = (FactKind.ALLOW, FactKind.DENY, FactKind.OWNS, FactKind.ALLOW_BELOW)


@dataclass(frozen=True)
class FactTable:
    """The numbered entities, and the grants and ownerships on them. `key`: the index of the fact in `keys`."""

    numbering: Numbering
    principal: Ints
    key: Ints
    place: Ints
    keys: tuple[Fact, ...]  # `ALLOW SELECT_TABLE table`, `OWNS schema`

    def of(self, principals: AnyInts) -> "FactTable":
        """The facts of these principals."""
        wanted = np.zeros(len(self.numbering), np.bool_)
        wanted[principals] = True
        chosen = wanted[self.principal]
        return replace(self, principal=self.principal[chosen], key=self.key[chosen], place=self.place[chosen])


@dataclass(frozen=True)
class TargetedQuestion:
    """Clauses to evaluate on objects of one type: those at the positions `targets`, ascending. `with_`: second
    objects. `by_length`: if the clauses depend on the number of segments of the object, those for each number."""

    clauses: Clauses
    type: str
    targets: Ints
    with_: Mapping[str, int] = field(default_factory=dict)
    by_length: Mapping[int, Clauses] = field(default_factory=dict)

    @cached_property
    def facts(self) -> set[Fact]:
        """All facts of the clauses."""
        return {fact for clauses in self.by_length.values() or (self.clauses,) for fact in facts_of(clauses)}


@dataclass(frozen=True)
class Every:
    """A fact `EVERY P t below place`, prepared: the existing entities that it counts, and the grants needed on them."""

    code: int  # of the fact
    points: Ints  # the codes of the grants
    member: Bools  # by position: whether it is an existing entity of the types
    place: Ints  # by position: the place above it; -1 for none
    need: Ints  # by position of a place: the number of members below it
    fixed: int | None  # the position of the place, if it belongs to a second object


@dataclass(frozen=True)
class PreparedQuestion:
    """A question prepared for the kernel. Facts that do not depend on the subject divide its targets into parts."""

    targets: Ints
    before: Ints  # by position: the number of targets before it
    parts: list[tuple[CompiledCondition, tuple[Ints, Ints] | None]]  # condition, runs of targets (None: all)


AnswerIntervals = tuple[Ints, Ints, Ints]  # row, low, high: half-open in the numbers of the targets


class Prepared:
    """Questions about one fact table, prepared for any principals. They share the second objects that they name."""

    def __init__(self, fact_table: FactTable, asks: Sequence[TargetedQuestion]) -> None:
        self._numbering = fact_table.numbering
        self._with = dict(item for ask in asks for item in ask.with_.items())
        assert all(self._with[key] == at for ask in asks for key, at in ask.with_.items()), "they share second objects"
        facts = sorted({fact for ask in asks for fact in ask.facts} - {ALL})
        every = [fact for fact in facts if fact.kind is FactKind.EVERY_BELOW]
        self.codes = {fact: at for at, fact in enumerate([ALL, *facts])}
        points = sorted({key for fact in every for key in _every_keys(fact)})
        self._points = {key: at for at, key in enumerate(points, len(self.codes))}
        self.size = len(self.codes) + len(points)
        check_size(len(self._numbering), self.size)
        self._targets_before = _count_before(np.concatenate([ask.targets for ask in asks]), len(self._numbering))
        self.root = self._numbering.roots()
        self.last = self._numbering.last
        self._every = [self._prepare_every(fact) for fact in every]
        self._self = [self._prepare_self(fact) for fact in facts if fact.kind is FactKind.IS]
        self._granted_facts = [fact for fact in facts if fact.kind in GRANTED]
        held = [self._rows(fact, *self._held(fact)) for fact in facts if fact.kind is FactKind.HOLDS]
        rows = IntervalRows.concat([*held, self.granted(fact_table)])
        self.facts = PrincipalFacts(rows.merged(), len(self._numbering))
        self._counted: list[tuple[Ints, Ints]] = []
        self.asked = [self._prepare(ask) for ask in asks]
        self._everywhere = any(part.used[0] for asked in self.asked for part, _ in asked.parts)
        del self._counted

    def granted(self, fact_table: FactTable) -> IntervalRows:
        """The intervals of grants and ownerships that the questions need, by principal. `fact_table` may be a part of
        all facts."""
        rows = [self._rows(fact, *self._granted(fact, fact_table)) for fact in self._granted_facts]
        return IntervalRows.concat([*rows, *(_points(key, code, fact_table) for key, code in self._points.items())])

    def answers(self, acting: ActingPrincipals, more: IntervalRows | None = None) -> Iterator[AnswerIntervals]:
        """For each question, the targets on which it is allowed. `acting` must fit into one sweep (see `pieces`).

        `more` are facts by row of `acting`, in addition to those of the fact table.
        """
        events = self.events(acting, more)
        for asked in self.asked:
            yield self.answer(asked, events)

    def events(self, acting: ActingPrincipals, more: IntervalRows | None = None) -> Events:
        """The facts of each row, for a sweep."""
        found = acting.gather(self.facts)
        if more is not None:
            found = IntervalRows.concat([found, more])
        rows = IntervalRows.concat(
            [found, *self._own(acting), *(self._complete(each, found, acting) for each in self._every)]
        )
        return Events(rows, len(self.root), self.size)

    @staticmethod
    def answer(asked: PreparedQuestion, events: Events) -> AnswerIntervals:
        """The targets on which one question is allowed."""
        parts = []
        for condition, runs in asked.parts:
            found = condition.solve(events)
            low, high = asked.before[found.start], asked.before[found.last + 1]
            some = low < high
            answer = found.row[some], low[some], high[some]
            parts.append(within(*answer, runs) if runs else answer)
        row, low, high = (np.concatenate([part[at] for part in parts]) for at in range(3))
        return row, low, high

    # ---- facts -----------------------------------------------------------------------------------------------
    def _place(self, fact: Fact) -> tuple[str, int | None]:
        """The type of a fact's place, and its position if it belongs to a second object."""
        type_, key = place_type(fact.place), second_object(fact.place)
        if key is None:
            return type_, None
        return type_, int(self._above(np.array([self._with[key]]), fact)[0])

    def _above(self, positions: Ints, fact: Fact) -> Ints:
        """For each position, the place of a fact above it (or itself); -1 if it has none."""
        return self._numbering.above(positions, place_type(fact.place), place_length(fact.place))

    def _there(self, fact: Fact, places: Ints) -> Bools:
        """Which places have the number of segments of a fact's place, if it has one."""
        length = place_length(fact.place)
        return np.ones(len(places), np.bool_) if length is None else self._numbering.lengths[places] == length

    def _rows(self, fact: Fact, principal: Ints, start: Ints) -> IntervalRows:
        _, fixed = self._place(fact)
        principal, start = principal[start >= 0], start[start >= 0]
        last = self._numbering.last[start]
        if fixed is not None:
            here = (start <= fixed) & (fixed <= last)
            principal, start = principal[here], self.root[start[here]]
            last = self._numbering.last[start]
        used = self._targets_before[last + 1] > self._targets_before[start]  # intervals without a target change nothing
        principal, start, last = principal[used], start[used], last[used]
        return IntervalRows(principal, np.full(len(principal), self.codes[fact]), start, last)

    def _granted(self, fact: Fact, fact_table: FactTable) -> tuple[Ints, Ints]:
        if fact.kind is not FactKind.ALLOW_BELOW:
            principal, place = _base(Fact(fact.kind, place_type(fact.place), fact.privileges), fact_table)
            there = self._there(fact, place)
            return principal[there], place[there]
        principal, place = _base(Fact(FactKind.ALLOW, fact.types[0], fact.privileges), fact_table)
        parent = self._numbering.parent[place]  # the place itself is not below it
        return principal, np.where(parent < 0, -1, self._above(np.maximum(parent, 0), fact))

    def _held(self, fact: Fact) -> tuple[Ints, Ints]:
        type_, _ = self._place(fact)
        if fact.entity:
            refs = self._numbering.refs
            principal = np.array([refs.index(fact.entity)] if fact.entity in refs else [], np.int64)
            return principal, self.root[principal]
        principal = np.flatnonzero(self._numbering.of_type(type_))
        principal = principal[self._there(fact, principal)]
        return principal, principal

    # ---- facts of the subject itself --------------------------------------------------------------------------------
    def _prepare_self(self, fact: Fact) -> tuple[int, Bools, bool]:
        type_, fixed = self._place(fact)
        chosen = self._numbering.of_type(type_)
        if fixed is not None:
            chosen = np.arange(len(chosen)) == fixed
        return self.codes[fact], chosen, fixed is not None

    def _own(self, acting: ActingPrincipals) -> Iterator[IntervalRows]:
        everything = self.root[acting.subject]
        if self._everywhere:
            yield self._acting_rows(np.arange(len(acting.subject)), 0, everything)
        for code, chosen, whole in self._self:
            row = np.flatnonzero(chosen[acting.subject])
            yield self._acting_rows(row, code, (everything if whole else acting.subject)[row])

    def _acting_rows(self, row: Ints, code: int, start: Ints) -> IntervalRows:
        return IntervalRows(row, np.full(len(row), code), start, self.last[start])

    def _prepare_every(self, fact: Fact) -> Every:
        _, fixed = self._place(fact)
        member = self._numbering.exists.copy()
        member &= np.isin(self._numbering.type, [self._numbering.types.index(each) for each in fact.types])
        parent = self._numbering.parent
        place = np.where(parent < 0, -1, self._above(np.maximum(parent, 0), fact))
        need = np.bincount(place[member & (place >= 0)], minlength=len(self._numbering))
        points = np.array([self._points[key] for key in _every_keys(fact)])
        return Every(self.codes[fact], points, member, place, need, fixed)

    def _complete(self, every: Every, found: IntervalRows, acting: ActingPrincipals) -> IntervalRows:
        """The places below which the principals have the grant on every existing entity."""
        size = len(self.root)
        granted = np.flatnonzero(np.isin(found.key, every.points))
        count = found.last[granted] - found.start[granted] + 1
        row, at = np.repeat(found.owner[granted], count), ranges(found.start[granted], count)
        useful = every.member[at] & (every.place[at] >= 0)
        pairs = distinct(row[useful] * size + at[useful])
        places, have = np.unique(pairs // size * size + every.place[pairs % size], return_counts=True)
        full = have == every.need[places % size]
        row, start = places[full] // size, places[full] % size
        if every.fixed is not None:
            row = row[start == every.fixed]
            start = self.root[acting.subject[row]]
        return self._acting_rows(row, every.code, start)

    # ---- questions -------------------------------------------------------------------------------------------
    def _prepare(self, ask: TargetedQuestion) -> PreparedQuestion:
        static = {fact: truth for fact in ask.facts if (truth := self.static(fact, ask.targets)) is not None}
        lengths = self._numbering.lengths[ask.targets] if ask.by_length else np.zeros(len(ask.targets), np.int64)
        kinds = lengths
        for truth in static.values():
            # renumbered after each fact: bits of one number could distinguish at most 63 facts
            kinds = np.unique(kinds * 2 + truth, return_inverse=True)[1]
        parts: list[tuple[CompiledCondition, tuple[Ints, Ints] | None]] = []
        found, first = np.unique(kinds, return_index=True)
        for kind, at in zip(found, first, strict=True):
            known = {fact: bool(truth[at]) for fact, truth in static.items()}
            clauses = fold(ask.by_length[int(lengths[at])] if ask.by_length else ask.clauses, known)
            condition = CompiledCondition.of(clauses, self.codes, self.size)
            parts.append((condition, runs_of(kinds == kind) if len(found) > 1 else None))
        if not parts:
            parts.append((CompiledCondition((), self.size), None))
        return PreparedQuestion(ask.targets, self._before(ask.targets), parts)

    def _before(self, targets: Ints) -> Ints:
        """Counts of targets by position, shared by the questions about the same targets to save memory."""
        for seen, counts in self._counted:
            if seen is targets:
                return counts
        self._counted.append((targets, _count_before(targets, len(self._numbering))))
        return self._counted[-1][1]

    def static(self, fact: Fact, targets: Ints) -> Bools | None:
        """For each target, whether the fact is true for every subject; None if the fact is not one of OF_TARGETS."""
        if fact.kind not in OF_TARGETS:
            return None
        _, fixed = self._place(fact)
        above = self._above(targets, fact) if fixed is None else np.full(len(targets), fixed)
        if fact.kind is FactKind.EVERY_BELOW:
            need = next(each.need for each in self._every if each.code == self.codes[fact])
            column = need == 0
        else:
            column = self._numbering.exists if fact.kind is FactKind.EXISTS else self._numbering.builtin
        truth: Bools = (above >= 0) & column[above]
        return truth


def targeted_at(
    numbering: Numbering, requirement: Requirement, targets: Ints, with_: Mapping[str, int] | None = None
) -> TargetedQuestion:
    """The question of a requirement about the objects at some positions."""
    of = requirement.of_length
    lengths = distinct(numbering.lengths[targets]).tolist() if of else []
    by_length = {length: of(length).clauses for length in lengths} if of else {}
    return TargetedQuestion(requirement.clauses, requirement.type, targets, with_ or {}, by_length)


def _count_before(targets: Ints, size: int) -> Ints:
    """By position: the number of targets before it; size + 1 values. A target may be repeated."""
    here = np.zeros(size + 1, np.int64)
    here[targets + 1] = 1
    return np.cumsum(here)


def _base(key: Fact, fact_table: FactTable) -> tuple[Ints, Ints]:
    """The principals that have a fact, each with its place."""
    if key not in fact_table.keys:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    chosen = fact_table.key == fact_table.keys.index(key)
    return fact_table.principal[chosen].astype(np.int64), fact_table.place[chosen].astype(np.int64)


def _points(key: Fact, code: int, fact_table: FactTable) -> IntervalRows:
    """The grants on their own places, without descendants, for EVERY."""
    principal, place = _base(key, fact_table)
    return IntervalRows(principal, np.full(len(principal), code), place, place)


def _every_keys(fact: Fact) -> list[Fact]:
    """The grants that an EVERY counts, by privilege and type."""
    return [Fact(FactKind.ALLOW, type_, (name,)) for name in fact.privileges for type_ in fact.types]
