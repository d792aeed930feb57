"""`which` in memory: the objects of a type on which a subject is allowed, by the kernel that Spark's workers run.

The positions of the kernel are the objects of the type in byte order. A subtree is an interval of positions, because
the references of its objects have a common prefix. One window of positions after the other is evaluated until a page is
full.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import cached_property

import numpy as np

from grantpath.engine.answers.request import ResolvedQuestion
from grantpath.engine.facts.kernel.interval_sets import union
from grantpath.engine.facts.kernel.intervals import CompiledCondition, Events, IntervalRows
from grantpath.engine.facts.set.descendants import Descendants, range_below
from grantpath.engine.facts.set.fact_set import FactSet
from grantpath.engine.facts.set.fact_version import has_any
from grantpath.engine.facts.set.memory_check import acting, granted, ungranted
from grantpath.engine.policy.facts import Fact, FactKind, place_type
from grantpath.graph.language.reference import length_of, type_of

WINDOW, GROWTH = 1_000, 16  # the least size of the first window; the factor by which each following one is larger
NOBODY = -1  # the number of a subject that is not known
Row = tuple[int, int, int, int]  # number of the principals that act together, key, half-open range of objects


def compiled(question: ResolvedQuestion) -> tuple[dict[Fact, int], CompiledCondition]:
    """The keys of a question's facts, and its condition for the kernel."""
    codes = {fact: at for at, fact in enumerate(question.requirement.plan.facts)}
    return codes, CompiledCondition.of(question.requirement.clauses, codes, len(codes))


class MemoryWhich:
    """The objects of a type as positions, and the intervals on which the facts of principals hold."""

    def __init__(self, facts: FactSet, question: ResolvedQuestion, refs: list[str]) -> None:
        """`refs`: the existing objects of the type; all have the number of segments that the question is about."""
        self._facts, self._question = facts, question
        version, self._policy, root = facts
        self._version = version
        self._type, self._up = question.requirement.type, question.requirement.up
        self._refs = refs
        assert question.subject is not None, "`which` has a subject"
        self._subject = version.numbers.find(question.subject.text, NOBODY)
        self._codes, self._condition = compiled(question)
        self._chain = frozenset(self._up) - {root.type}
        plan = question.requirement.plan
        self._keys = {
            place: {name: self._codes[fact] for name, (fact, _) in stored.items() if fact in self._codes}
            for place, stored in plan.stored.items()
            if place in self._chain
        }

    def page(self, after: str, limit: int) -> list[str]:
        """At most `limit` of the objects after `after`, in byte order."""
        begin, size = bisect_right(self._refs, after) if after else 0, max(WINDOW, 4 * limit)
        found: list[str] = []
        while self._acting and begin < len(self._refs) and len(found) < limit:
            end = begin + size
            found += self._allowed(begin, min(end, len(self._refs)))
            begin, size = end, size * GROWTH
        return found[:limit]

    def _allowed(self, begin: int, end: int) -> list[str]:
        """The objects of a window on which the subject is allowed."""
        if () in self._question.requirement.clauses:
            return self._refs[begin:end]
        rows = np.array([*self._shared, *self._own(begin, end)], np.int64).reshape(-1, 4).T
        number, key, low, high = rows[:, (rows[2] < end) & (rows[3] > begin)]
        shown = IntervalRows(number, key, np.maximum(low, begin) - begin, np.minimum(high, end) - begin - 1)
        found = self._condition.solve(Events(shown, end - begin, len(self._codes)))
        _, first, behind = union(np.zeros(len(found.start), np.int64), found.start, found.last + 1)
        ranges = zip((first + begin).tolist(), (behind + begin).tolist(), strict=True)
        return [ref for first, behind in ranges for ref in self._refs[first:behind]]

    @cached_property
    def _acting(self) -> list[tuple[AbstractSet[int], set[int]]]:
        """The principals that act together, and the entities on which they have a grant or an ownership."""
        version = self._version
        if not version.existing.get(self._subject):
            return []
        return [
            (principals, {place for each in principals for place in version.places_of.get(each) or ()})
            for _, principals in acting(version, self._question, self._subject)
        ]

    @cached_property
    def _shared(self) -> list[Row]:
        """The rows of all facts except grants on the objects themselves and their owners."""
        return [
            (number, key, begin, end)
            for number, (principals, places) in enumerate(self._acting)
            for key, begin, end in (*self._not_granted(principals), *self._above(principals, places))
            if begin < end
        ]

    def _own(self, window_begin: int, window_end: int) -> Iterator[Row]:
        """The rows of grants on the objects of a window, and of their owners."""
        refs, window = self._version.numbers.refs, self._refs[window_begin:window_end]
        least, most = window[0], window[-1]  # all references in byte order between these two have the same type
        for number, (principals, places) in enumerate(self._acting if self._up[0] in self._keys else ()):
            for place in places:
                if least <= refs[place] <= most:
                    at = bisect_left(window, refs[place])
                    if window[at] == refs[place]:
                        begin = window_begin + at
                        yield from (
                            (number, key, begin, begin + 1) for key in self._had(place, self._up[0], principals)
                        )

    def _above(self, principals: AbstractSet[int], places: Iterable[int]) -> Iterator[tuple[int, int, int]]:
        """The grants on the places above the objects, and their owners: key and half-open range."""
        refs = self._version.numbers.refs
        for place in places:
            at = self._place_of(refs[place])
            if at in self._keys and at != self._up[0] and (keys := self._had(place, at, principals)):
                begin, end = self._within(refs[place])
                yield from ((key, begin, end) for key in keys)

    def _place_of(self, ref: str) -> str:
        """The name of the place at which an entity is."""
        type_ = type_of(ref)
        return self._policy.names.place(type_, length_of(ref)) if type_ in self._policy.names.repeated else type_

    def _had(self, place: int, at: str, principals: AbstractSet[int]) -> list[int]:
        """The keys of the facts that the principals have on a place."""
        keys = self._keys[at]
        return [
            keys[name]
            for name, by in (self._version.grants.get(place) or {}).items()
            if name in keys and has_any(by, principals)
        ]

    def _not_granted(self, principals: AbstractSet[int]) -> Iterator[tuple[int, int, int]]:
        """The key and the half-open range of all other facts."""
        version, question = self._version, self._question
        plan, subject = question.requirement.plan, self._subject
        shared = [fact for fact, by in granted(version, question, self._chain) if not principals.isdisjoint(by)]
        others = ungranted(self._facts, question, subject, principals, self._chain)
        for fact in (*shared, *(fact for fact, _ in others)):
            if fact in self._codes:
                yield self._codes[fact], 0, len(self._refs)
        for fact in plan.properties_of_places:
            if fact.place in self._chain:
                for begin, end in self._property(fact, principals):
                    yield self._codes[fact], begin, end
        for fact, place in self._below(principals) if plan.inside else ():
            yield (self._codes[fact], *self._within(place))

    def _below(self, principals: AbstractSet[int]) -> Iterator[tuple[Fact, str]]:
        """The true facts about descendants, as (fact, place). The place is above some of the objects, or is an
        object."""
        plan, descendants = self._question.requirement.plan, Descendants(self._facts)
        for fact, place, _ in descendants.held(plan.some, principals):
            if fact.place in self._chain:
                yield fact, place
        for fact in plan.every:
            for place in self._version.listed.get(place_type(fact.place), ()) if fact.place in self._chain else ():
                if self._place_of(place) == fact.place and descendants.on_every(
                    fact, self._facts.reference(place), principals
                ):
                    yield fact, place

    def _property(self, fact: Fact, principals: AbstractSet[int]) -> Iterable[tuple[int, int]]:
        """The ranges of a property of the places above the objects, or of the objects themselves."""
        refs = self._version.numbers.refs
        match fact.kind:
            case FactKind.EXISTS:
                return [(0, len(self._refs))]
            case FactKind.BUILTIN:
                chosen = [ref for ref in self._policy.builtins if self._version.exists(ref)]
            case FactKind.IS:
                chosen = [refs[self._subject]]
            case _:
                chosen = [refs[each] for each in principals]
        return [self._within(ref) for ref in chosen if self._place_of(ref) == fact.place]

    def _within(self, ref: str) -> tuple[int, int]:
        """The half-open range of the objects inside a place, or the object itself."""
        if self._place_of(ref) == self._up[0]:
            at = bisect_left(self._refs, ref)
            return at, at + (self._refs[at : at + 1] == [ref])
        return range_below(self._refs, self._type, self._facts.reference(ref), self._policy)
