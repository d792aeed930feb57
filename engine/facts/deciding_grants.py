"""Finds the grants that decide a difference of access: they allow on one side, and not on the other one."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from grantpath.engine.decide.evaluation import winning
from grantpath.engine.facts.access_difference import AccessDifference, SideAnswer
from grantpath.engine.facts.fact_table import OF_TARGETS, FactTable
from grantpath.engine.facts.intervals import Bools, CompiledCondition, Coverage, Events, Ints, offsets, ranges
from grantpath.engine.facts.region import Region
from grantpath.engine.policy.clauses import Clauses, facts_of
from grantpath.engine.policy.facts import ALL, Fact, FactKind, place_type

WITHOUT_GRANT = (FactKind.EXISTS, FactKind.BUILTIN, FactKind.IS, FactKind.ALL)
Decided = tuple[tuple[Fact, bool], ...]  # facts; true: of the side that allows, false: a DENY of the other side


class DecidingGrants:
    """Names the deciding grants of the differences in one region."""

    def __init__(self, region: Region) -> None:
        self._region = region
        self._tables = [_Granted(table) for table in region.tables]

    def decided(self, difference: AccessDifference) -> Iterator[tuple[int, int, int, tuple[str, ...]]]:
        """(class, low, high, grants) for parts of the difference, ascending by class and target; in each part the same
        grants decide."""
        cells = _Cells(difference, self._region.shown[not difference.gained][difference.targets])
        yes, no = cells.truth()
        patterns, of = np.unique(np.concatenate([yes, no], axis=1), axis=0, return_inverse=True)
        clauses, facts = difference.yes.requirement.clauses, cells.facts
        decisions = [
            decisive(
                clauses,
                {fact for fact, true in zip(facts, pattern[: len(facts)], strict=True) if true},
                {fact for fact, true in zip(facts, pattern[len(facts) :], strict=True) if true},
            )
            for pattern in patterns
        ]
        known: dict[tuple[object, ...], tuple[str, ...]] = {}
        places: dict[tuple[int, int], tuple[int, ...]] = {}
        shown = self._region.shown[not difference.gained][difference.targets]
        columns = (cells.of, cells.low, cells.high, cells.yes_row, of.reshape(-1))
        for class_, low, high, row, kind in zip(*(each.tolist() for each in columns), strict=True):
            if not shown[low]:
                yield class_, low, high, self._existence(difference, low)
                continue
            at = places.get((kind, low))
            if at is None:
                at = places[kind, low] = self._places(difference, decisions[kind], int(difference.targets[low]))
            key = (kind, row, at)
            if key not in known:
                known[key] = tuple(self._texts(difference, decisions[kind], at, class_, row))
            yield class_, low, high, known[key]

    def _existence(self, difference: AccessDifference, target: int) -> tuple[str]:
        """The addition or the drop of an object, or of the highest place above it that is added or dropped, too."""
        numbering, other = self._region.numberings[0], self._region.shown[not difference.gained]
        top = int(difference.targets[target])
        while numbering.parent[top] >= 0 and not other[numbering.parent[top]]:
            top = int(numbering.parent[top])
        return (f"{'add' if difference.gained else 'drop'} {numbering.refs[top]}",)

    def _places(self, difference: AccessDifference, decided: Decided, target: int) -> tuple[int, ...]:
        """The positions of the facts' places; -1 for a named entity."""
        numbering = self._region.numberings[difference.gained]
        return tuple(
            -1 if fact.entity else int(numbering.above(np.array([target]), place_type(fact.place))[0])
            for fact, _ in decided
        )

    def _texts(
        self, difference: AccessDifference, decided: Decided, places: Sequence[int], class_: int, row: int
    ) -> Iterator[str]:
        gained, refs = difference.gained, self._region.numberings[0].refs
        for (fact, of_yes), place in zip(decided, places, strict=True):
            side = int(gained) if of_yes else int(not gained)
            answer = difference.yes if of_yes else difference.no
            assert answer is not None, "a DENY of the other side was found in its answer"
            rows = [row] if of_yes else np.flatnonzero(answer.rows.of == class_).tolist()
            principals = {each for at in rows for each in _principals(answer, at)}
            if fact.kind is FactKind.HOLDS:
                yield f"membership in {fact.entity or refs[place]}"
            elif fact.kind is FactKind.EVERY_BELOW:
                yield f"{','.join(fact.privileges)} on every {','.join(fact.types)} below {refs[place]}"
            else:
                by, on = self._tables[side].find(fact, place, principals, self._tables[1 - side])
                yield _statement(fact, refs[by], refs[on])


def decisive(clauses: Clauses, yes: AbstractSet[Fact], no: AbstractSet[Fact]) -> Decided:
    """The facts that make the difference between a yes and a no, given the facts that are true in both.

    These are the facts of the clause that holds that are true in the yes only; if there is none, the DENYs that are
    true in the no only and stop that clause there; otherwise all facts of the clause.
    """
    won = [fact for fact in winning(clauses, dict.fromkeys(yes, ())) if fact.kind not in WITHOUT_GRANT]
    new = [fact for fact in won if fact not in no]
    if new:
        return tuple((fact, True) for fact in new)
    denied = {
        fact
        for clause in clauses
        for term in clause
        for atom in term
        if atom.holds(yes) and any(each in won for each in atom.any)
        for fact in atom.none
        if fact in no
    }
    if denied:
        return tuple((fact, False) for fact in sorted(denied))
    return tuple((fact, True) for fact in won)


def _statement(fact: Fact, by: str, on: str) -> str:
    if fact.kind is FactKind.OWNS:
        return f"owner {by} of {on}"
    word = "deny" if fact.kind is FactKind.DENY else "allow"
    return f"{word} {fact.privileges[0]} on {on} to {by}"


def _principals(answer: SideAnswer, row: int) -> list[int]:
    acting = answer.rows.acting
    return acting.principal[acting.offset[row] : acting.offset[row + 1]].tolist()  # type: ignore[no-any-return]


class _Granted:
    """The facts of one side by place, as positions."""

    def __init__(self, table: FactTable) -> None:
        self._numbering = table.numbering
        self._code = {fact: at for at, fact in enumerate(table.keys)}
        self._by: dict[tuple[int, int], set[int]] = {}
        for by, key, place in zip(table.principal.tolist(), table.key.tolist(), table.place.tolist(), strict=True):
            self._by.setdefault((key, place), set()).add(by)

    def find(self, fact: Fact, place: int, principals: set[int], other: "_Granted") -> tuple[int, int]:
        """A principal that has the fact, and the place where: preferably one that the other side lacks."""
        stored = [(base, on) for base, places in self._stored(fact, place) for on in places]
        for without_other in (True, False):
            found = [
                (by, on)
                for base, on in stored
                for by in (self.by(base, on) - other.by(base, on) if without_other else self.by(base, on)) & principals
            ]
            if found:
                return min(found)
        raise LookupError(f"no principal has the fact {fact}")

    def by(self, fact: Fact, place: int) -> set[int]:
        """The principals that have a fact on a place."""
        return self._by.get((self._code.get(fact, -1), place), set())

    def _stored(self, fact: Fact, place: int) -> Iterator[tuple[Fact, Iterator[int]]]:
        if fact.kind is FactKind.ALLOW_BELOW:
            inside = range(place, int(self._numbering.last[place]) + 1)
            for type_ in fact.types:
                yield Fact(FactKind.ALLOW, type_, fact.privileges), iter(inside)
        else:
            yield Fact(fact.kind, place_type(fact.place), fact.privileges), iter((place,))


class _Cells:
    """The parts of a difference in which all facts of the question are the same, on both sides.

    `of`, `low`, `high`: class and half-open interval of targets, sorted. `yes_row`: the row that is allowed there.
    """

    def __init__(self, difference: AccessDifference, shown: Bools) -> None:
        """`shown`: by target, whether it exists on the side that does not allow."""
        self._shown = shown
        self._yes, self._no = difference.yes, difference.no
        self._targets = difference.targets
        self._width = len(difference.targets) + 1
        self.facts = [fact for fact in facts_of(difference.yes.requirement.clauses) if fact != ALL]
        points = [self._points(answer) for answer in (difference.yes, difference.no) if answer is not None]
        pieces = difference.yes
        points.append(pieces.rows.of[pieces.allowed[0]] * self._width + pieces.allowed[1])
        self._static = {
            (fact, answer is self._no): answer.prepared.static(fact, difference.targets)
            for answer in (self._yes, self._no)
            if answer is not None
            for fact in self.facts
            if fact.kind in OF_TARGETS and fact in answer.prepared.codes
        }
        begins, ends = self._cut(difference, np.unique(np.concatenate(points)))
        self.of, self.low, self.high = begins // self._width, begins % self._width, ends % self._width
        self.yes_row = self._allowed_row()

    def _points(self, answer: SideAnswer) -> Ints:
        """Where a fact of a row begins or ends, as class and target in one number."""
        used = np.zeros(2 * answer.prepared.size, np.bool_)
        for fact in self.facts:
            code = answer.prepared.codes.get(fact)
            if code is not None:
                used[2 * code : 2 * code + 2] = True
        place = np.unique(answer.events.place[answer.events.of(np.flatnonzero(used))])
        row, position = place >> answer.events.middle, place & ((1 << answer.events.middle) - 1)
        points: Ints = answer.rows.of[row] * self._width + answer.asked.before[position]
        return points

    def _cut(self, difference: AccessDifference, points: Ints) -> tuple[Ints, Ints]:
        begins, ends = difference.of * self._width + difference.low, difference.of * self._width + difference.high
        first = np.searchsorted(points, begins, side="right")
        inner = points[ranges(first, np.maximum(np.searchsorted(points, ends, side="left") - first, 0))]
        low, count = difference.low + 1, np.zeros(len(begins), np.int64)
        steps = self._steps()
        if len(steps):
            first = np.searchsorted(steps, low)
            count = np.maximum(np.searchsorted(steps, difference.high) - first, 0)
            inner = np.unique(
                np.concatenate([inner, np.repeat(difference.of * self._width, count) + steps[ranges(first, count)]])
            )
        return np.sort(np.concatenate([begins, inner])), np.sort(np.concatenate([ends, inner]))

    def _steps(self) -> Ints:
        """The targets at which a fact that does not depend on the user changes."""
        changes = np.zeros(len(self._targets), np.bool_)
        for truth in (self._shown, *self._static.values()):
            if truth is not None:
                changes[1:] |= truth[1:] != truth[:-1]
        return np.flatnonzero(changes)

    def _allowed_row(self) -> Ints:
        """For each cell, the first row of the class that is allowed there."""
        row, low, high = self._yes.allowed
        order = np.lexsort((low, row))
        start, end = row[order] * self._width + low[order], row[order] * self._width + high[order]
        cell, candidate = self._with_rows(self._yes)
        at = candidate * self._width + self.low[cell]
        found = np.searchsorted(start, at, side="right") - 1
        allowed = (found >= 0) & (at < end[found])
        first: Ints = np.full(len(self.of), -1, np.int64)
        cell, candidate = cell[allowed][::-1], candidate[allowed][::-1]
        first[cell] = candidate  # of several values for an index, the last one stays: the first row
        return first

    def _with_rows(self, answer: SideAnswer) -> tuple[Ints, Ints]:
        """Each cell with each row of its class."""
        begin = offsets(answer.rows.of, int(self.of.max(initial=0)) + 1)
        count = begin[self.of + 1] - begin[self.of]
        return np.repeat(np.arange(len(self.of)), count), ranges(begin[self.of], count)

    # ---- truth -------------------------------------------------------------------------------------------------------
    def truth(self) -> tuple[Bools, Bools]:
        """By cell and fact: whether it is true for the allowed row, and for any row of the class on the other side."""
        every = np.arange(len(self.of))
        yes = self._of_rows(self._yes, False, every, self.yes_row)
        no = np.zeros_like(yes)
        if self._no is not None:
            cell, row = self._with_rows(self._no)
            np.logical_or.at(no, cell, self._of_rows(self._no, True, cell, row))
        return yes, no

    def _of_rows(self, answer: SideAnswer, other: bool, cell: Ints, row: Ints) -> Bools:
        target = self.low[cell]
        place = (row << answer.events.middle) + self._targets[target]
        columns = np.zeros((len(cell), len(self.facts)), np.bool_)
        for at, fact in enumerate(self.facts):
            code, static = answer.prepared.codes.get(fact), self._static.get((fact, other))
            if code is not None and (static is None or fact.kind is FactKind.EVERY_BELOW):
                columns[:, at] = _covers(_coverage(answer, code), answer.events, place)
            if static is not None:
                columns[:, at] |= static[target]
        return columns


def _coverage(answer: SideAnswer, code: int) -> Coverage:
    return CompiledCondition([[[((code,), ())]]], answer.prepared.size).solve(answer.events)


def _covers(coverage: Coverage, events: Events, place: Ints) -> Bools:
    start = (coverage.row << events.middle) + coverage.start
    last = (coverage.row << events.middle) + coverage.last
    if not len(start):
        return np.zeros(len(place), np.bool_)
    found = np.searchsorted(start, place, side="right") - 1
    inside: Bools = (found >= 0) & (place <= last[found])
    return inside
