"""Answers `who` and `which` in memory, with the kernel that Spark's workers run.

For `who`, the positions of the kernel are the users in byte order, and each fact is a column of booleans by user.
"""

import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from grantpath.engine.answers.request import ResolvedQuestion, of_length
from grantpath.engine.facts.kernel.intervals import Bools
from grantpath.engine.facts.set.descendants import Descendants
from grantpath.engine.facts.set.fact_set import FactSet
from grantpath.engine.facts.set.fact_version import FactVersion, Numbers, members
from grantpath.engine.facts.set.memory_check import MemoryChecks, granted, has, known
from grantpath.engine.facts.set.memory_which import MemoryWhich, compiled
from grantpath.engine.policy.facts import Fact, FactKind
from grantpath.graph.language.reference import length_of


@dataclass(frozen=True)
class MemoryList:
    """A list at one revision, in byte order. `page(after, limit)` returns at most `limit` references after `after`."""

    page: Callable[[str, int], list[str]]
    known: list[str]
    version: FactVersion

    @property
    def refs(self) -> list[str]:
        """All references."""
        return self.page("", sys.maxsize)

    def __call__(self, after: str, limit: int) -> Mapping[str, Any]:
        """At most `limit` references after `after`, in the form of the row of who.cypher."""
        return {
            "answer": self.page(after, limit),
            "known": self.known,
            "made": self.version.origin.made,
            **self.version.row,
        }


def listed(facts: FactSet, questions: Sequence[ResolvedQuestion]) -> MemoryList:
    """The answer to `who` or `which`. Of several questions, all answers together."""
    pages = [_pages(facts, question) for question in questions]
    there = [ref for question in questions for ref in known(facts.version, question)]
    return MemoryList(pages[0] if len(pages) == 1 else partial(_merged, pages), there, facts.version)


def _merged(pages: Sequence[Callable[[str, int], list[str]]], after: str, limit: int) -> list[str]:
    return sorted(ref for page in pages for ref in page(after, limit))[:limit]


def _pages(facts: FactSet, question: ResolvedQuestion) -> Callable[[str, int], list[str]]:
    """The function that returns the pages of one answer."""
    if question.object is None:
        refs = facts.version.listed.get(question.requirement.type, [])
        if facts.policy.names.varies(question.requirement.type):
            return partial(_merged, _of_all_lengths(facts, question, refs))
        return MemoryWhich(facts, question, refs).page
    if question.one_role:
        return partial(_page, _who_by_role(facts, question))
    return partial(_page, _Actors(facts, question.listed).allowed(question))


def _of_all_lengths(
    facts: FactSet, question: ResolvedQuestion, refs: list[str]
) -> list[Callable[[str, int], list[str]]]:
    """The pages of `which` for a type whose objects have different numbers of segments: each number is asked apart."""
    by_length: dict[int, list[str]] = {}
    for ref in refs:
        by_length.setdefault(length_of(ref), []).append(ref)
    return [MemoryWhich(facts, of_length(question, length), some).page for length, some in sorted(by_length.items())]


def _page(refs: list[str], after: str, limit: int) -> list[str]:
    begin = bisect_right(refs, after) if after else 0
    return refs[begin : begin + limit]


# ---- who -------------------------------------------------------------------------------------------------------------
class _Actors:
    """The existing subjects of some types as positions, in byte order."""

    def __init__(self, facts: FactSet, types: Iterable[str]) -> None:
        self._facts, self._version = facts, facts.version
        self.refs, self._position = facts.version.numbers.positions(tuple(types), facts.version.listed)

    def has(self, number: int) -> bool:
        """Whether the entity is one of these subjects."""
        return number < len(self._position) and bool(self._position[number] >= 0)

    def allowed(self, question: ResolvedQuestion) -> list[str]:
        """The subjects that the question allows."""
        codes, condition = compiled(question)
        columns = {codes[fact]: column for fact, column in self._columns(question) if fact in codes}
        none = np.zeros(len(self.refs), np.bool_)

        def having(keys: tuple[int, ...]) -> Bools:
            some = none.copy()
            for key in keys:
                some |= columns.get(key, none)
            return some

        return [self.refs[at] for at in np.flatnonzero(condition.holds(len(self.refs), having)).tolist()]

    def _columns(self, question: ResolvedQuestion) -> Iterator[tuple[Fact, Bools]]:
        """Each fact, with a column that tells which subjects have it."""
        plan, find = question.requirement.plan, self._version.numbers.find
        for fact, by in granted(self._version, question):
            yield fact, self._belonging(by)
        for fact in plan.properties_of_places:
            number = find(fact.entity or question.places[fact.place].text)
            if number is not None:
                yield fact, self._property(fact, number)
        if plan.inside:
            yield from self._below(question)

    def _below(self, question: ResolvedQuestion) -> Iterator[tuple[Fact, Bools]]:
        plan, descendants = question.requirement.plan, Descendants(self._facts)
        for fact in plan.some:
            yield fact, self._belonging(descendants.holders(fact, question.places[fact.place]))
        for fact in plan.every:
            place = question.places[fact.place]
            column = np.full(len(self.refs), descendants.is_node(place))
            for grantees in descendants.grantees_of_each(fact, place):
                if not column.any():
                    break
                column &= self._belonging(grantees)
            yield fact, column

    def _property(self, fact: Fact, number: int) -> Bools:
        if fact.kind is FactKind.HOLDS:
            return self._belonging([number])
        if fact.kind is FactKind.IS:
            return self._of(np.array([number], np.int32))
        ref = self._version.numbers.refs[number]
        return np.full(len(self.refs), has(self._facts, fact.kind, ref, number, set()))

    def _belonging(self, principals: Iterable[int]) -> Bools:
        """The subjects that are one of these principals, or belong to one directly or through others."""
        found = self._version.containers_in(principals)
        members = [users for each in found if (users := self._version.users_in.get(each)) is not None]
        return self._of(np.concatenate([*members, np.fromiter(found, np.int32, len(found))]))

    def _of(self, numbers: Numbers) -> Bools:
        column = np.zeros(len(self.refs), np.bool_)
        positions = self._position[numbers[numbers < len(self._position)]]
        column[positions[positions >= 0]] = True
        return column


def _who_by_role(facts: FactSet, question: ResolvedQuestion) -> list[str]:
    """The subjects with a role that is allowed by itself. Users with facts of their own, and subjects that are not
    users, are checked one by one."""
    version, policy, _ = facts
    checks, refs, find = MemoryChecks(facts), version.numbers.refs, version.numbers.find
    listed = _Actors(facts, question.listed)

    def alone(ref: str) -> bool:
        asked = question._replace(subject=facts.reference(ref))
        return any(one["allowed"] for one in checks.answer(asked)["acting"])

    if not {*question.listed} <= {*policy.user_types}:
        return [ref for ref in listed.refs if alone(ref)]
    holding: set[int] = set()
    for role in _Actors(facts, policy.role_types).allowed(question):
        users = version.users_in.get(find(role, -1))
        if users is not None:
            holding.update(users.tolist())
    for user in _with_own_facts(facts, question):
        (holding.add if alone(refs[user]) else holding.discard)(user)
    return sorted(refs[user] for user in holding if version.existing.get(user) and listed.has(user))


def _with_own_facts(facts: FactSet, question: ResolvedQuestion) -> set[int]:
    """The users that are a place of the question, or have a grant or an ownership of their own on a place or below
    it."""
    version, found = facts.version, set[int]()
    for place in question.places.values():
        number = version.numbers.find(place.text)
        if number is not None:
            found.add(number)
        for by in version.granted_on(place.text).values():
            found.update(members(by))
    descendants, plan = Descendants(facts), question.requirement.plan
    for fact in plan.some:
        found |= descendants.holders(fact, question.places[fact.place])
    for fact in plan.every:
        found.update(*descendants.grantees_of_each(fact, question.places[fact.place]))
    return found & version.numbers.users
