"""Finds in memory the facts that checks need, in the form in which check.cypher returns them."""

from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from grantpath.engine.decide.request import ResolvedQuestion
from grantpath.engine.facts.descendants import Descendants
from grantpath.engine.facts.fact_version import FactVersion, Principals, has_any, members
from grantpath.engine.policy.facts import Fact, FactKind
from grantpath.engine.policy.policy import Policy
from grantpath.graph.reference import Reference

# facts, each with the principals that have it; None if it is not one grant, e.g. EXISTS
Found = list[tuple[Fact, Principals | None]]


class FoundFacts:
    """The facts of principals that act together, in the form of check.cypher; written only when they are read."""

    __slots__ = ("_facts", "_principals", "_refs")

    def __init__(self, facts: Found, principals: AbstractSet[int], refs: Sequence[str]) -> None:
        self._facts, self._principals, self._refs = facts, principals, refs

    def __iter__(self) -> Iterator[dict[str, str | None]]:
        for fact, by in self._facts:
            if by is None:
                yield {"fact": fact.text, "by": None}
            for each in members(by):
                if each in self._principals:
                    yield {"fact": fact.text, "by": self._refs[each]}


def answers(
    version: FactVersion, policy: Policy, root: Reference, questions: Sequence[ResolvedQuestion]
) -> list[dict[str, Any]]:
    """The answers to checks, as check.cypher gives them."""
    return [answer(version, policy, root, question) for question in questions]


def known(version: FactVersion, question: ResolvedQuestion) -> list[str]:
    """The references that the question needs, without those that do not exist."""
    return [ref for ref in question.needed if version.exists(ref)]


def answer(version: FactVersion, policy: Policy, root: Reference, question: ResolvedQuestion) -> dict[str, Any]:
    """The answer to one check."""
    assert question.subject is not None, "a check has a subject"
    acted = []
    subject = version.numbers.find(question.subject.text)
    if subject is not None and version.existing.get(subject):
        refs, plan = version.numbers.refs, question.requirement.plan
        for role, principals in acting(version, question, subject):
            facts = found(version, policy, root, question, subject, principals)
            acted.append(
                {
                    "role": role,
                    "found": FoundFacts(facts, principals, refs),
                    "allowed": plan.allows(fact for fact, _ in facts),
                }
            )
    return {"known": known(version, question), "acting": acted}


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


def found(
    version: FactVersion,
    policy: Policy,
    root: Reference,
    question: ResolvedQuestion,
    subject: int,
    principals: AbstractSet[int],
    without: Collection[str] = (),
) -> Found:
    """The facts of these principals on the places of the question, except for the places `without`."""
    plan = question.requirement.plan
    facts: Found = [each for each in granted(version, question, without) if has_any(each[1], principals)]
    for fact in plan.properties_of_places:
        if fact.place not in without:
            ref = fact.entity or question.places[fact.place].text
            if has(version, policy, fact.kind, ref, subject, principals):
                facts.append((fact, None))
    if plan.inside:
        facts += _below(Descendants(version, policy, root), question, principals, without)
    return facts


def granted(
    version: FactVersion, question: ResolvedQuestion, without: Collection[str] = ()
) -> list[tuple[Fact, Principals]]:
    """The facts about grants and owners on the places of a question, and who has them."""
    plan, places, granted_on = question.requirement.plan, question.places, version.granted_on
    return [
        (wanted[name], by)
        for place, wanted in plan.stored.items()
        if place not in without
        for name, by in granted_on(plan.named.get(place) or places[place].text).items()
        if name in wanted
    ]


def _below(
    descendants: Descendants, question: ResolvedQuestion, principals: AbstractSet[int], without: Collection[str]
) -> Found:
    plan, places = question.requirement.plan, question.places
    some: Found = [
        (fact, principal)
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
    """Whether a property of a place holds for a subject and the principals that act for it."""
    number = version.numbers.find(ref)
    if number is None:
        return False
    if kind is FactKind.IS:
        return number == subject
    if kind is FactKind.HOLDS:
        return number in principals
    return version.existing.get(number) is not None and (kind is FactKind.EXISTS or ref in policy.builtins)
