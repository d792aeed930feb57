"""Finds in memory the facts that checks need, in the form in which check.cypher returns them."""

from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from grantpath.engine.decide.request import ResolvedQuestion
from grantpath.engine.facts.descendants import Descendants
from grantpath.engine.facts.fact_version import FactVersion, Principals
from grantpath.engine.policy.clauses import Clauses
from grantpath.engine.policy.facts import Fact, FactKind
from grantpath.engine.policy.policy import Policy
from grantpath.graph.reference import Reference

Found = list[tuple[Fact, str | None]]  # a fact, and the principal that has it


def answers(
    version: FactVersion, policy: Policy, root: Reference, questions: Sequence[ResolvedQuestion]
) -> list[dict[str, Any]]:
    """The answers to checks, as check.cypher gives them."""
    return [answer(version, policy, root, question) for question in questions]


def known(version: FactVersion, question: ResolvedQuestion) -> list[str]:
    """Those of the references that the question needs that exist."""
    return [ref for ref in question.needed if version.exists(ref)]


def answer(version: FactVersion, policy: Policy, root: Reference, question: ResolvedQuestion) -> dict[str, Any]:
    """The answer to one check."""
    assert question.subject is not None, "a check has a subject"
    acted = []
    subject = version.numbers.find(question.subject.text)
    if subject is not None and version.existing.get(subject):
        clauses = question.requirement.clauses
        for role, principals in acting(version, question, subject):
            facts = found(version, policy, root, question, subject, principals)
            acted.append(
                {
                    "role": role,
                    "found": [{"fact": fact.text, "by": by} for fact, by in facts],
                    "allowed": allows(clauses, {fact for fact, _ in facts}),
                }
            )
    return {"known": known(version, question), "acting": acted}


def allows(clauses: Clauses, true: set[Fact]) -> bool:
    """Whether a clause holds: all its terms, any atom of a term."""
    return any(all(any(atom.holds(true) for atom in term) for term in clause) for clause in clauses)


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
    facts: Found = []
    plan, refs = question.requirement.plan, version.numbers.refs
    for fact, by in granted(version, question, without):
        if isinstance(by, int):
            if by in principals:
                facts.append((fact, refs[by]))
        else:
            facts += [(fact, refs[each]) for each in by & principals]
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
) -> Iterator[tuple[Fact, Principals]]:
    """The facts about grants and owners on the places of a question, and who has them."""
    plan = question.requirement.plan
    for place, stored in plan.stored.items():
        if place not in without:
            there = version.granted_on(plan.named.get(place) or question.places[place].text)
            for name, fact in stored if there else ():
                by = there.get(name)
                if by is not None:
                    yield fact, by


def _below(
    descendants: Descendants, question: ResolvedQuestion, principals: AbstractSet[int], without: Collection[str]
) -> Iterator[tuple[Fact, str | None]]:
    plan, places, refs = question.requirement.plan, question.places, descendants.version.numbers.refs
    for fact, place, principal in descendants.held(plan.some, principals):
        if fact.place not in without and places[fact.place].text == place:
            yield fact, refs[principal]
    for fact in plan.every:
        if fact.place not in without and descendants.on_every(fact, places[fact.place], principals):
            yield fact, None


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
