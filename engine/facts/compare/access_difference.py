"""Compares the access of classes of users to the objects of a region before and after a change, with the kernel."""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np

from grantpath.engine.facts.compare.access_names import AskedName
from grantpath.engine.facts.compare.region import Region
from grantpath.engine.facts.compare.user_classes import ActingRows, UserClasses
from grantpath.engine.facts.kernel.fact_table import AnswerIntervals, Prepared, PreparedQuestion, targeted_at
from grantpath.engine.facts.kernel.interval_sets import runs_of, union, within
from grantpath.engine.facts.kernel.intervals import PAIRS, CompiledCondition, Events, IntervalRows, Ints
from grantpath.engine.policy.clauses import Clauses
from grantpath.engine.policy.policy import Requirement
from grantpath.graph.distinct_numbers import distinct

ONLY_FIRST = (((((0,), (1,)),),),)  # the clauses: the fact 0 and not the fact 1


@dataclass(frozen=True)
class SideAnswer:
    """A prepared question of one side, the facts of its rows, and the targets on which each row is allowed."""

    requirement: Requirement
    prepared: Prepared
    asked: PreparedQuestion
    rows: ActingRows
    events: Events
    allowed: AnswerIntervals


@dataclass(frozen=True)
class AccessDifference:
    """The targets on which classes of users gain, or lose, one name.

    Row i: the class `of[i]`, and the half-open interval `low[i]`, `high[i]` of the numbers of the targets. `yes`: the
    answer of the side that allows these targets. `no`: the answer of the other side; None if the policy of that side
    does not have the name.
    """

    name: AskedName
    gained: bool
    targets: Ints
    of: Ints
    low: Ints
    high: Ints
    yes: SideAnswer
    no: SideAnswer | None

    def clauses(self, lengths: Ints) -> dict[int, Clauses]:
        """By number of segments of the targets, the clauses that allow; 0 if they do not depend on it."""
        requirement = self.yes.requirement
        if (of := requirement.of_length) is None:
            return {0: requirement.clauses}
        return {length: of(length).clauses for length in distinct(lengths).tolist()}


def differences(
    region: Region, names: Sequence[AskedName], classes: UserClasses
) -> Iterator[tuple[int, list[AccessDifference]]]:
    """Yields the differences batch by batch: the number of the first class in the batch, and the differences of its
    classes."""
    asked = [name for name in names if len(region.targets[name.type])]
    before = _Questions(region, asked, 0)
    sides = [before, before.after() if region.tables[0] is region.tables[1] else _Questions(region, asked, 1)]
    low = 0
    while asked and low < len(classes.users):
        high = min(low + _most(sides, len(classes.users)), len(classes.users))
        answers = [side.answers(classes, low, high) for side in sides]
        found = [each for name in asked for each in _compared(region, name, answers[0].get(name), answers[1].get(name))]
        yield low, found
        low = high


def _most(sides: "Sequence[_Questions]", classes: int) -> int:
    """The number of classes in a batch: at least 1,000, and more as long as the batch fits into one sweep even if each
    class has all facts of the region."""
    facts = max((side.facts for side in sides), default=0)
    return max(1_000, min(classes, PAIRS // max(facts, 1)))


class _Questions:
    """The prepared questions of one side: those for all principals together, and those for one role at a time."""

    def __init__(self, region: Region, names: Sequence[AskedName], side: int) -> None:
        self._side = side
        self._shown = region.shown[side]
        self._modes: list[tuple[bool, Prepared, list[tuple[AskedName, Requirement]]]] = []
        self.facts = len(region.tables[side].place)
        for one_role in (False, True):
            asked = [
                (name, requirement)
                for name in names
                if (requirement := (name.before, name.after)[side]) is not None and requirement.one_role == one_role
            ]
            if asked:
                numbering = region.numberings[side]
                targeted = [targeted_at(numbering, each, region.targets[each.type]) for _, each in asked]
                self._modes.append((one_role, Prepared(region.tables[side], targeted), asked))

    def after(self) -> "_Questions":
        """The questions of the side after a change that changes only memberships."""
        other = copy(self)
        other._side = 1
        return other

    def answers(self, classes: UserClasses, low: int, high: int) -> dict[AskedName, SideAnswer]:
        """The answers of the classes low..high, by name."""
        found: dict[AskedName, SideAnswer] = {}
        for one_role, prepared, asked in self._modes:
            rows = classes.rows(self._side, one_role, low, high)
            events = prepared.events(rows.acting)
            for (name, requirement), question in zip(asked, prepared.asked, strict=True):
                shown = self._shown[question.targets]
                allowed = prepared.answer(question, events)
                if not shown.all():
                    allowed = within(*union(*allowed), runs_of(shown))
                found[name] = SideAnswer(requirement, prepared, question, rows, events, allowed)
        return found


def _compared(
    region: Region, name: AskedName, before: SideAnswer | None, after: SideAnswer | None
) -> Iterator[AccessDifference]:
    targets = region.targets[name.type]
    for yes, no, gained in ((after, before, True), (before, after, False)):
        if yes is not None:
            of, low, high = _without(_by_class(yes), _by_class(no), len(targets))
            if len(of):
                yield AccessDifference(name, gained, targets, of, low, high, yes, no)


def _by_class(answer: SideAnswer | None) -> AnswerIntervals:
    if answer is None:
        nothing = np.empty(0, np.int64)
        return nothing, nothing, nothing
    row, low, high = answer.allowed
    return answer.rows.of[row], low, high


def _without(one: AnswerIntervals, other: AnswerIntervals, size: int) -> AnswerIntervals:
    """The parts of the intervals `one` that are not in the intervals `other`."""
    rows = [IntervalRows(of, np.full(len(of), key), low, high - 1) for key, (of, low, high) in enumerate((one, other))]
    found = CompiledCondition(ONLY_FIRST, 2).solve(Events(IntervalRows.concat(rows), size, 2))
    return found.row, found.start, found.last + 1
