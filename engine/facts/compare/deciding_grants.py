"""Finds the grants that decide a difference of access: because of them, one side allows and the other does not."""

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from grantpath.engine.answers.evaluation import winning
from grantpath.engine.facts.compare.access_difference import AccessDifference, SideAnswer
from grantpath.engine.facts.compare.difference_cells import DifferenceCells, parted, words
from grantpath.engine.facts.compare.equal_rows import kinds_of
from grantpath.engine.facts.compare.region import Region
from grantpath.engine.facts.kernel.fact_table import FactTable
from grantpath.engine.facts.kernel.intervals import ActingPrincipals, Bools, Ints
from grantpath.engine.facts.set.fact_version import TAGGED, members
from grantpath.engine.policy.clauses import Clauses
from grantpath.engine.policy.facts import Fact, FactKind, of_tag, place_length, place_type
from grantpath.graph.language.reference import type_of

WITHOUT_PRINCIPAL = (FactKind.HOLDS, FactKind.EVERY_BELOW)
WITHOUT_GRANT = (FactKind.EXISTS, FactKind.BUILTIN, FactKind.IS, FactKind.ALL)
Decided = tuple[tuple[Fact, bool], ...]  # facts; true: of the side that allows, false: a DENY of the other side


@dataclass(frozen=True)
class DecidedParts:
    """Parts of a difference, sorted by class, grants and target. In a part, the same grants decide.

    `low`, `high`: half-open intervals of the numbers of targets. `by`: the index of a part's grants in `grants`.
    """

    of: Ints
    by: Ints
    low: Ints
    high: Ints
    grants: list[tuple[str, ...]]

    @staticmethod
    def whole(difference: AccessDifference) -> "DecidedParts":
        """The whole difference, without grants."""
        return DecidedParts(difference.of, np.zeros_like(difference.of), difference.low, difference.high, [()])

    @staticmethod
    def merged(parts: Iterable[tuple[Ints, Ints, Ints, Ints]], grants: list[tuple[str, ...]]) -> "DecidedParts":
        """Joins adjacent parts (class, grants, low, high) that have the same class and grants."""
        of, by, low, high = (np.concatenate(each) for each in zip(*parts, strict=True))
        order = np.lexsort((low, by, of))
        of, by, low, high = (each[order] for each in (of, by, low, high))
        new = np.ones(len(order), np.bool_)
        new[1:] = (of[1:] != of[:-1]) | (by[1:] != by[:-1]) | (low[1:] != high[:-1])
        first = np.flatnonzero(new)
        return DecidedParts(of[first], by[first], low[first], high[np.append(first[1:], len(order)) - 1], grants)


class DecidingGrants:
    """Names the deciding grants of the differences in one region."""

    def __init__(self, region: Region) -> None:
        self._region = region
        self._tables = [_Granted(table) for table in region.tables]
        self._above: dict[tuple[bool, str, str], Ints] = {}
        self._acting: tuple[ActingPrincipals | None, Ints] = None, np.empty(0, np.int64)

    def decided(self, difference: AccessDifference) -> DecidedParts:
        """The difference in parts, in each of which the same grants decide."""
        shown = self._region.shown[not difference.gained][difference.targets]
        numbering = self._region.numberings[0]
        varies = difference.yes.requirement.of_length is not None
        lengths = (numbering.lengths if varies else np.zeros(len(numbering), np.int64))[difference.targets]
        cells = DifferenceCells(difference, shown, lengths)
        grants: dict[tuple[str, ...], int] = {}
        parts: list[tuple[Ints, Ints, Ints, Ints]] = []
        for decided, places, chosen in self._decisions(difference, cells, shown[cells.low], lengths):
            # a cell can have several places with the same facts, each with grants of its own
            cell, low, high = parted(cells.low[chosen], cells.high[chosen], places)
            rows, on = cells.yes_row[chosen][cell], [each[low] for each in places]
            first, kind = kinds_of([np.where(self._one_text(difference, decided, rows, on), -1, rows), *on])
            found = [
                grants.setdefault(tuple(self._texts(difference, decided, at, row)), len(grants))
                for row, *at in np.stack([rows, *on])[:, first].T.tolist()
            ]
            parts.append((cells.of[chosen][cell], np.array(found, np.int64)[kind], low, high))
        return DecidedParts.merged(parts, [*grants])

    def _decisions(
        self, difference: AccessDifference, cells: DifferenceCells, exists: Bools, lengths: Ints
    ) -> Iterator[tuple[Decided, list[Ints], Ints]]:
        """Yields the facts that decide, their places by target, and the cells in which they decide. For targets that do
        not exist on the other side: no facts, and one place, whose addition or drop decides."""
        if not exists.all():
            yield (), [self._tops(difference)], np.flatnonzero(~exists)
        chosen = np.flatnonzero(exists)
        if not len(chosen):
            return
        yes, no = (truth[chosen] for truth in cells.truth())
        length, clauses = lengths[cells.low[chosen]], difference.clauses(lengths)
        first, kind = kinds_of([length, *words(np.concatenate([yes, no], axis=1))])
        for number, at in enumerate(first.tolist()):
            true = [{fact for fact, holds in zip(cells.facts, each[at], strict=True) if holds} for each in (yes, no)]
            decided = decisive(clauses[int(length[at])], *true)
            places = [self._places(difference, fact) for fact, _ in decided]
            yield decided, places, chosen[kind == number]

    def _tops(self, difference: AccessDifference) -> Ints:
        """By target: the highest place that is added or dropped together with it, which can be the target itself."""
        parent, other = self._region.numberings[0].parent, self._region.shown[not difference.gained]
        top = difference.targets.copy()
        while (higher := (parent[top] >= 0) & ~other[parent[top]]).any():
            top[higher] = parent[top[higher]]
        return top

    def _one_text(self, difference: AccessDifference, decided: Decided, rows: Ints, places: Sequence[Ints]) -> Bools:
        """By row and places: whether exactly one principal has each fact by a grant that the other side lacks, and the
        row has this principal. All such rows with the same places have the same text."""
        acting, side = difference.yes.rows.acting, int(difference.gained)
        if self._acting[0] is not acting:
            row = np.repeat(np.arange(len(acting.subject)), np.diff(acting.offset))
            self._acting = acting, np.sort(row * len(self._region.numberings[0]) + acting.principal)
        same = np.ones(len(rows), np.bool_)
        for (fact, of_yes), place in zip(decided, places, strict=False):
            if fact.kind in WITHOUT_PRINCIPAL:
                continue
            if not of_yes:
                return np.zeros(len(rows), np.bool_)
            listed, at = np.unique(place, return_inverse=True)
            only = np.array([self._tables[side].only(fact, each, self._tables[1 - side]) for each in listed.tolist()])
            wanted = rows * len(self._region.numberings[0]) + only[at]
            found = np.searchsorted(self._acting[1], wanted)
            same &= (only[at] >= 0) & (np.append(self._acting[1], -1)[found] == wanted)
        return same

    def _places(self, difference: AccessDifference, fact: Fact) -> Ints:
        """By target: the position of the fact's place; -1 for a fact that names its entity."""
        if fact.entity:
            return np.full(len(difference.targets), -1)
        place = fact.place.rpartition(".")[2]
        key = (difference.gained, difference.name.type, place)
        if key not in self._above:
            numbering = self._region.numberings[difference.gained]
            self._above[key] = numbering.above(difference.targets, place_type(place), place_length(place))
        return self._above[key]

    def _texts(self, difference: AccessDifference, decided: Decided, places: Sequence[int], row: int) -> Iterator[str]:
        gained, refs = difference.gained, self._region.numberings[0].refs
        if len(places) > len(decided):
            yield f"{'add' if gained else 'drop'} {refs[places[0]]}"
            return
        for (fact, of_yes), place in zip(decided, places, strict=True):
            side = int(gained) if of_yes else int(not gained)
            answer = difference.yes if of_yes else difference.no
            assert answer is not None, "a DENY of the other side was found in its answer"
            if fact.kind is FactKind.HOLDS:
                yield f"membership in {fact.entity or refs[place]}"
            elif fact.kind is FactKind.EVERY_BELOW:
                yield f"{','.join(fact.privileges)} on every {','.join(fact.types)} below {refs[place]}"
            else:
                rows = [row] if of_yes else np.flatnonzero(answer.rows.of == difference.yes.rows.of[row]).tolist()
                principals = {each for at in rows for each in _principals(answer, at)}
                by, on = self._tables[side].find(fact, place, principals, self._tables[1 - side])
                yield _statement(fact, refs[by], self._tag(fact, side, refs[by], refs[on]) or refs[on])

    def _tag(self, fact: Fact, side: int, by: str, on: str) -> str | None:
        """The tag of a place by which a principal has the fact there; None for other facts."""
        type_ = of_tag(fact.privileges[0])[1] if fact.privileges else ""
        if not type_:
            return None
        version = self._region.version(side)
        refs, label = version.numbers.refs, f"{fact.kind.value} {fact.granted}"
        tags = (refs[each] for each in members(version.granted_on(on).get(TAGGED)))
        granted = (tag for tag in tags if by in (refs[each] for each in members(version.granted_on(tag).get(label))))
        return min((tag for tag in granted if type_of(tag) == type_), default=None)


def decisive(clauses: Clauses, yes: AbstractSet[Fact], no: AbstractSet[Fact]) -> Decided:
    """The facts that decide between two sides. `yes`: the true facts on the side that allows; `no`: on the other side.

    The decisive facts belong to a clause that holds on the allowing side. They are its facts that are true on that side
    only; if there are none, the DENYs on the other side that stop the clause there; otherwise all facts of the clause.
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
    return f"{word} {fact.granted} on {on} to {by}"


def _principals(answer: SideAnswer, row: int) -> list[int]:
    acting = answer.rows.acting
    return acting.principal[acting.offset[row] : acting.offset[row + 1]].tolist()  # type: ignore[no-any-return]


class _Granted:
    """The facts of one side by place, as positions."""

    def __init__(self, table: FactTable) -> None:
        self._numbering = table.numbering
        self._code = {fact: at for at, fact in enumerate(table.keys)}
        self._candidates: dict[tuple[Fact, int], tuple[dict[int, int], dict[int, int]]] = {}
        self._by: dict[tuple[int, int], set[int]] = {}
        for by, key, place in zip(table.principal.tolist(), table.key.tolist(), table.place.tolist(), strict=True):
            self._by.setdefault((key, place), set()).add(by)

    def only(self, fact: Fact, place: int, other: "_Granted") -> int:
        """The principal that has the fact by a grant that the other side lacks; -1 if there is not exactly one."""
        new = self._having_it(fact, place, other)[0]
        return next(iter(new)) if len(new) == 1 else -1

    def find(self, fact: Fact, place: int, principals: set[int], other: "_Granted") -> tuple[int, int]:
        """One of `principals` that has the fact, if possible by a grant that the other side lacks, and the place."""
        for on in self._having_it(fact, place, other):
            if found := on.keys() & principals:
                by = min(found)
                return by, on[by]
        raise LookupError(f"no principal has the fact {fact}")

    def _having_it(self, fact: Fact, place: int, other: "_Granted") -> tuple[dict[int, int], dict[int, int]]:
        """The principals that have a fact, each with the first place of its grant: by grants that the other side lacks,
        and by all grants."""
        known = self._candidates.get((fact, place))
        if known is None:
            known = self._candidates[fact, place] = (
                self._having(fact, place, other),
                self._having(fact, place, None),
            )
        return known

    def _having(self, fact: Fact, place: int, without: "_Granted | None") -> dict[int, int]:
        """The principals that have a fact, each with the first place of its grant; omits the grants of `without`."""
        stored = [(base, on) for base, places in self._stored(fact, place) for on in places]
        return {
            by: on
            for base, on in reversed(stored)
            for by in self._of(base, on) - (without._of(base, on) if without else set())
        }

    def _of(self, fact: Fact, place: int) -> set[int]:
        return self._by.get((self._code.get(fact, -1), place), set())

    def _stored(self, fact: Fact, place: int) -> Iterator[tuple[Fact, Iterator[int]]]:
        if fact.kind is FactKind.ALLOW_BELOW:
            inside = range(place, int(self._numbering.last[place]) + 1)
            for type_ in fact.types:
                yield Fact(FactKind.ALLOW, type_, fact.privileges), iter(inside)
        else:
            yield Fact(fact.kind, place_type(fact.place), fact.privileges), iter((place,))
