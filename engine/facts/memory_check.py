"""Finds in memory the facts that checks need, in the form in which check.cypher returns them."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from grantpath.engine.decide.request import ResolvedQuestion
from grantpath.engine.facts.descendants import Descendants
from grantpath.engine.facts.fact_version import GRANTED, FactVersion, Granted, members
from grantpath.engine.policy.fact_plan import FactPlan
from grantpath.engine.policy.facts import Fact, FactKind
from grantpath.engine.policy.policy import Policy
from grantpath.graph.reference import Reference

# facts, each with a principal that has it; None for a fact that is not a single grant, e.g. EXISTS
Found = list[tuple[Fact, Collection[int] | None]]


class FoundFacts:
    """The facts of principals that act together, in the form of check.cypher. The texts are written when they are
    read."""

    __slots__ = ("_granted", "_others", "_principals", "_refs")

    def __init__(
        self, granted: Sequence[Granted], others: Found, principals: AbstractSet[int], refs: Sequence[str]
    ) -> None:
        """`granted` may also contain facts of other principals; they are omitted."""
        self._granted, self._others, self._principals, self._refs = granted, others, principals, refs

    def __iter__(self) -> Iterator[dict[str, str | None]]:
        granted = ((fact, by) for facts in self._granted for fact, _, by in facts)
        for fact, by in (*granted, *self._others):
            if by is None:
                yield {"fact": fact.text, "by": None}
            for each in by or ():
                if each in self._principals:
                    yield {"fact": fact.text, "by": self._refs[each]}


class MemoryChecks:
    """Answers checks at one version of the facts."""

    def __init__(self, version: FactVersion, policy: Policy, root: Reference) -> None:
        self._version, self._policy, self._root = version, policy, root

    def answer(self, question: ResolvedQuestion) -> dict[str, Any]:
        """The answer to one check, as check.cypher gives it."""
        assert question.subject is not None, "a check has a subject"
        version, plan = self._version, question.requirement.plan
        acted = []
        subject = version.numbers.find(question.subject.text)
        if subject is not None and version.existing.get(subject):
            granted = self._granted_on(question)
            for role, principals in acting(version, question, subject):
                others: Found = []
                if plan.others:
                    others = ungranted(version, self._policy, self._root, question, subject, principals)
                found = FoundFacts(granted, others, principals, version.numbers.refs)
                allowed = plan.allows(_bits(plan, granted, others, principals))
                acted.append({"role": role, "found": found, "allowed": allowed})
        return {"known": known(version, question), "acting": acted}

    def _granted_on(self, question: ResolvedQuestion) -> list[Granted]:
        """What is granted on the places of a question, for each place that has grants or an owner."""
        plan, places, version = question.requirement.plan, question.places, self._version
        kept = version.granted.get(plan)
        if kept is None:
            kept = version.granted[plan] = [(place, plan.named.get(place), {}) for place in plan.stored]
        found = []
        for place, named, by_ref in kept:
            ref = named or places[place].text
            granted = by_ref.get(ref)
            if granted is None:
                if len(by_ref) >= GRANTED:
                    by_ref.clear()
                granted = by_ref[ref] = granted_on(version, plan, place, ref)
            if granted:
                found.append(granted)
        return found


def _bits(plan: FactPlan, granted: Iterable[Granted], others: Found, principals: AbstractSet[int]) -> int:
    """The bits of the facts that the principals have."""
    found = 0
    for facts in granted:
        for _, bit, by in facts:
            if not principals.isdisjoint(by):
                found |= bit
    return found | plan.bits_of(fact for fact, _ in others) if others else found


def answers(
    version: FactVersion, policy: Policy, root: Reference, questions: Sequence[ResolvedQuestion]
) -> list[dict[str, Any]]:
    """The answers to checks, as check.cypher gives them."""
    checks = MemoryChecks(version, policy, root)
    return [checks.answer(question) for question in questions]


def known(version: FactVersion, question: ResolvedQuestion) -> list[str]:
    """Those of the references in the question that exist."""
    return [ref for ref in question.needed if version.exists(ref)]


def acting(
    version: FactVersion, question: ResolvedQuestion, subject: int
) -> Iterator[tuple[str | None, AbstractSet[int]]]:
    """The principals that act together: all effective ones, or the subject with one role at a time."""
    effective = version.effective(subject)
    role = None if question.as_role is None else version.numbers.find(question.as_role)
    if question.as_role is not None and role not in effective:
        return
    if not question.one_role:
        yield question.as_role, effective
        return
    for each in version.held_roles(subject) if role is None else [role]:
        yield version.numbers.refs[each], {subject, *version.with_roles(each)}


def ungranted(
    version: FactVersion,
    policy: Policy,
    root: Reference,
    question: ResolvedQuestion,
    subject: int,
    principals: AbstractSet[int],
    without: Collection[str] = (),
) -> Found:
    """The facts of these principals other than grants on a place and its owner. Facts about the places `without` are
    omitted."""
    plan = question.requirement.plan
    facts: Found = []
    for fact in plan.properties_of_places:
        if fact.place not in without:
            ref = fact.entity or question.places[fact.place].text
            if has(version, policy, fact.kind, ref, subject, principals):
                facts.append((fact, None))
    if plan.inside:
        facts += _below(Descendants(version, policy, root), question, principals, without)
    return facts


def granted_on(version: FactVersion, plan: FactPlan, place: str, ref: str) -> Granted:
    """The grants and owners on a place that the clauses need."""
    wanted = plan.stored[place]
    return [(*wanted[name], members(by)) for name, by in version.granted_on(ref).items() if name in wanted]


def granted(
    version: FactVersion, question: ResolvedQuestion, without: Collection[str] = ()
) -> list[tuple[Fact, Collection[int]]]:
    """The facts about grants and owners on the places of a question, each with its principals."""
    plan, places = question.requirement.plan, question.places
    return [
        (fact, by)
        for place in plan.stored
        if place not in without
        for fact, _, by in granted_on(version, plan, place, plan.named.get(place) or places[place].text)
    ]


def _below(
    descendants: Descendants, question: ResolvedQuestion, principals: AbstractSet[int], without: Collection[str]
) -> Found:
    plan, places = question.requirement.plan, question.places
    some: Found = [
        (fact, (principal,))
        for fact, place, principal in descendants.held(plan.some, principals)
        if fact.place not in without and places[fact.place].text == place
    ]
    return some + [
        (fact, None)
        for fact in plan.every
        if fact.place not in without and descendants.on_every(fact, places[fact.place], principals)
    ]


def has(
    version: FactVersion, policy: Policy, kind: FactKind, ref: str, subject: int, principals: AbstractSet[int]
) -> bool:
    """Whether the fact of a kind is true of a place, for a subject and the principals that act for it."""
    number = version.numbers.find(ref)
    if number is None:
        return False
    if kind is FactKind.IS:
        return number == subject
    if kind is FactKind.HOLDS:
        return number in principals
    return version.existing.get(number) is not None and (kind is FactKind.EXISTS or ref in policy.builtins)
