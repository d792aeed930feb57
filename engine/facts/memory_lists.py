"""Lists in memory: the users who can, and the objects on which a subject can, by the kernel that Spark's workers run.

For `which`, the positions of the kernel are the objects of the type in byte order: a subtree is an interval of them,
since the references of its objects begin alike. For `who` they are the users, and each fact is a column over them.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grantpath.engine.decide.request import ResolvedQuestion
from grantpath.engine.facts.descendants import Descendants, range_below
from grantpath.engine.facts.fact_version import FactVersion, Numbers, has_any, members
from grantpath.engine.facts.intervals import Bools, CompiledCondition, Events, IntervalRows, union
from grantpath.engine.facts.memory_check import acting, answer, found, granted, has, known
from grantpath.engine.policy.facts import Fact, FactKind, place_type
from grantpath.engine.policy.policy import Policy
from grantpath.graph.reference import Reference, type_of


@dataclass(frozen=True)
class MemoryList:
    """A complete list at one revision, in byte order, from which the pages of a Listing are read."""

    refs: list[str]
    known: list[str]
    version: FactVersion

    def __call__(self, after: str, limit: int) -> Mapping[str, Any]:
        """At most `limit` references after one, in the form of the row of who.cypher."""
        begin = bisect_right(self.refs, after) if after else 0
        return {
            "answer": self.refs[begin : begin + limit],
            "known": self.known,
            "revision": self.version.revision,
            "made": self.version.origin.made,
        }


def listed(version: FactVersion, policy: Policy, root: Reference, question: ResolvedQuestion) -> MemoryList:
    """The answer to `who` or `which`."""
    if question.object is None:
        refs = _which(_Objects(version, policy, root, question))
    elif question.one_role:
        refs = _who_by_role(version, policy, root, question)
    else:
        refs = _Actors(version, policy, root, policy.user_types).allowed(question)
    return MemoryList(refs, known(version, question), version)


def compiled(question: ResolvedQuestion) -> tuple[dict[Fact, int], CompiledCondition]:
    """The keys of a question's facts, and its condition for the kernel."""
    codes = {fact: at for at, fact in enumerate(question.requirement.plan.facts)}
    return codes, CompiledCondition.of(question.requirement.clauses, codes, len(codes))


# ---- which -----------------------------------------------------------------------------------------------------------
class _Objects:
    """The objects of a type as positions, and the intervals on which the facts of principals hold."""

    def __init__(self, version: FactVersion, policy: Policy, root: Reference, question: ResolvedQuestion) -> None:
        self.version, self.policy, self.root, self.question = version, policy, root, question
        self.type = question.requirement.type
        self.refs = version.listed.get(self.type, [])
        self.codes, self.condition = compiled(question)
        self._chain = frozenset(policy.names.chain(self.type)) - {root.type}
        plan = question.requirement.plan
        self._own = {
            (name, place): self.codes[fact]
            for place, stored in plan.stored.items()
            if place in self._chain
            for name, fact in stored.items()
            if fact in self.codes
        }

    def within(self, ref: str) -> tuple[int, int]:
        """The half-open range of the objects inside a place, or the object itself."""
        if type_of(ref) == self.type:
            at = bisect_left(self.refs, ref)
            return at, at + (self.refs[at : at + 1] == [ref])
        return range_below(self.refs, self.type, self.policy.reference(ref, self.root), self.policy)

    def facts(self, subject: int, principals: AbstractSet[int]) -> Iterator[tuple[int, int, int]]:
        """The key and the half-open range of each fact of principals that act together."""
        plan, everything = self.question.requirement.plan, (0, len(self.refs))
        shared = found(self.version, self.policy, self.root, self.question, subject, principals, self._chain)
        for fact, _ in shared:
            if fact in self.codes:
                yield (self.codes[fact], *everything)
        for fact in plan.properties_of_places:
            if fact.place in self._chain:
                for begin, end in self._property(fact, subject, principals):
                    yield self.codes[fact], begin, end
        for fact, place in self._below(principals) if plan.inside else ():
            yield (self.codes[fact], *self.within(place))
        yield from self._granted(principals)

    def _below(self, principals: AbstractSet[int]) -> Iterator[tuple[Fact, str]]:
        """(fact, place): each true fact about descendants. The place is above some of the objects, or one of them."""
        plan, descendants = self.question.requirement.plan, Descendants(self.version, self.policy, self.root)
        for fact, place, _ in descendants.held(plan.some, principals):
            if fact.place in self._chain:
                yield fact, place
        for fact in plan.every:
            for place in self.version.listed.get(fact.place, ()) if fact.place in self._chain else ():
                if descendants.on_every(fact, self.policy.reference(place, self.root), principals):
                    yield fact, place

    def _granted(self, principals: AbstractSet[int]) -> Iterator[tuple[int, int, int]]:
        refs, own = self.version.numbers.refs, self._own
        places = {place for each in principals for place in self.version.places_of.get(each) or ()}
        for place in places:
            type_ = type_of(refs[place])
            if type_ in self._chain:
                keys = [
                    own[name, type_]
                    for name, by in (self.version.grants.get(place) or {}).items()
                    if (name, type_) in own and has_any(by, principals)
                ]
                if keys:
                    begin, end = self.within(refs[place])
                    yield from ((key, begin, end) for key in keys)

    def _property(self, fact: Fact, subject: int, principals: AbstractSet[int]) -> Iterable[tuple[int, int]]:
        """The ranges of a property of the places above the objects, or of the objects themselves."""
        refs, type_ = self.version.numbers.refs, place_type(fact.place)
        match fact.kind:
            case FactKind.EXISTS:
                return [(0, len(self.refs))]
            case FactKind.BUILTIN:
                chosen = [ref for ref in self.policy.builtins if self.version.exists(ref)]
            case FactKind.IS:
                chosen = [refs[subject]]
            case _:
                chosen = [refs[each] for each in principals]
        return [self.within(ref) for ref in chosen if type_of(ref) == type_]


def _which(objects: _Objects) -> list[str]:
    version, question = objects.version, objects.question
    assert question.subject is not None, "`which` has a subject"
    subject = version.numbers.find(question.subject.text)
    if subject is None or not version.existing.get(subject) or not objects.refs:
        return []
    rows: list[tuple[int, int, int, int]] = []
    number = 0
    for number, (_, principals) in enumerate(acting(version, question, subject), 1):
        rows += [(number, key, begin, end - 1) for key, begin, end in objects.facts(subject, principals) if begin < end]
    if () in question.requirement.clauses:
        return objects.refs if number else []
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    found = objects.condition.solve(Events(IntervalRows(*columns), len(objects.refs), len(objects.codes)))
    _, low, high = union(np.zeros(len(found.start), np.int64), found.start, found.last + 1)
    return [ref for begin, end in zip(low.tolist(), high.tolist(), strict=True) for ref in objects.refs[begin:end]]


# ---- who -------------------------------------------------------------------------------------------------------------
class _Actors:
    """The existing subjects of some types as positions, in byte order."""

    def __init__(self, version: FactVersion, policy: Policy, root: Reference, types: Iterable[str]) -> None:
        self._version, self._policy, self._root = version, policy, root
        self.refs, self._position = version.numbers.positions(tuple(types), version.listed)

    def allowed(self, question: ResolvedQuestion) -> list[str]:
        """Those whose effective principals have the facts that the question needs."""
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
        """Each fact, and who has it."""
        plan, find = question.requirement.plan, self._version.numbers.find
        for fact, by in granted(self._version, question):
            yield fact, self._belonging(members(by))
        for fact in plan.properties_of_places:
            number = find(fact.entity or question.places[fact.place].text)
            if number is not None:
                yield fact, self._property(fact, number)
        if plan.inside:
            yield from self._below(question)

    def _below(self, question: ResolvedQuestion) -> Iterator[tuple[Fact, Bools]]:
        plan, descendants = question.requirement.plan, Descendants(self._version, self._policy, self._root)
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
        return np.full(len(self.refs), has(self._version, self._policy, fact.kind, ref, number, set()))

    def _belonging(self, principals: Iterable[int]) -> Bools:
        """These principals, and all that are in them, directly or through others."""
        found = self._version.containers_in(principals)
        members = [users for each in found if (users := self._version.users_in.get(each)) is not None]
        return self._of(np.concatenate([*members, np.fromiter(found, np.int32, len(found))]))

    def _of(self, numbers: Numbers) -> Bools:
        column = np.zeros(len(self.refs), np.bool_)
        positions = self._position[numbers[numbers < len(self._position)]]
        column[positions[positions >= 0]] = True
        return column


def _who_by_role(version: FactVersion, policy: Policy, root: Reference, question: ResolvedQuestion) -> list[str]:
    """The users who hold a role that is allowed alone. Users with facts of their own are checked one by one."""
    refs, find = version.numbers.refs, version.numbers.find
    holding: set[int] = set()
    for role in _Actors(version, policy, root, policy.role_types).allowed(question):
        users = version.users_in.get(find(role, -1))
        if users is not None:
            holding.update(users.tolist())
    for user in _with_own_facts(version, policy, root, question):
        asked = replace(question, subject=policy.reference(refs[user], root))
        alone = any(one["allowed"] for one in answer(version, policy, root, asked)["acting"])
        (holding.add if alone else holding.discard)(user)
    return sorted(refs[user] for user in holding if version.existing.get(user))


def _with_own_facts(version: FactVersion, policy: Policy, root: Reference, question: ResolvedQuestion) -> set[int]:
    """The users that are a place of the question, or have a grant or an ownership at one or below it without a role."""
    found: set[int] = set()
    for place in question.places.values():
        number = version.numbers.find(place.text)
        if number is not None:
            found.add(number)
        for by in version.granted_on(place.text).values():
            found.update(members(by))
    descendants, plan = Descendants(version, policy, root), question.requirement.plan
    for fact in plan.some:
        found |= descendants.holders(fact, question.places[fact.place])
    for fact in plan.every:
        found.update(*descendants.grantees_of_each(fact, question.places[fact.place]))
    return found & version.numbers.users
