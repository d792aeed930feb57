"""Finds in memory the facts that checks need, in the form in which check.cypher returns them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from grantpath.engine.answers.request import ResolvedQuestion
from grantpath.engine.facts.set.descendants import Descendants
from grantpath.engine.facts.set.fact_set import FactSet
from grantpath.engine.facts.set.fact_version import FactVersion, Grants
from grantpath.engine.facts.set.place_grants import ConditionGrants, PlacesGranted, facts_of
from grantpath.engine.policy.facts import Fact, FactKind
from grantpath.engine.policy.policy import Policy, Requirement
from grantpath.graph.language.reference import Reference

# facts, each with the principals that have it; None for a fact that is not about a single grant, e.g. EXISTS
Found = list[tuple[Fact, Collection[int] | None]]
NO_OTHERS: Found = []


class FoundFacts:
    """The facts of principals that act together, in the form of check.cypher. The texts are built only when they
    are read."""

    __slots__ = ("_granted", "_others", "_principals", "_refs")

    def __init__(
        self, granted: PlacesGranted, others: Found, principals: AbstractSet[int], refs: Sequence[str]
    ) -> None:
        """`granted` may also contain facts of other principals; they are omitted."""
        self._granted, self._others, self._principals, self._refs = granted, others, principals, refs

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for fact, by in (*self._granted.facts(), *self._others):
            own = [self._refs[each] for each in by or () if each in self._principals]
            if own or by is None:
                yield {"fact": fact.text, "by": own}


class Acted(Sequence[Mapping[str, Any]]):
    """The one entry of `acting` of an answer of check.cypher, for all effective principals together. It is built when
    it is read: Python's garbage collector would visit all that a large batch keeps."""

    __slots__ = ("_allowed", "_granted", "_grants", "_principals", "_refs")

    def __init__(
        self,
        allowed: bool,
        granted: PlacesGranted,
        grants: Grants | None,
        principals: AbstractSet[int],
        refs: Sequence[str],
    ) -> None:
        """`granted` is what is granted above the object, `grants` what is granted on it."""
        self._allowed, self._granted, self._grants = allowed, granted, grants
        self._principals, self._refs = principals, refs

    def __len__(self) -> int:
        return 1

    def __getitem__(self, at: Any) -> Any:
        found = FoundFacts(self._granted.on(self._grants), NO_OTHERS, self._principals, self._refs)
        return [{"role": None, "found": found, "allowed": self._allowed}][at]


class MemoryChecks:
    """Answers checks from a set of facts."""

    def __init__(self, facts: FactSet) -> None:
        self._facts, self._version = facts, facts.version

    def answer(self, question: ResolvedQuestion) -> dict[str, Any]:
        """The answer to one check, as check.cypher gives it."""
        assert question.subject is not None, "a check has a subject"
        version, plan = self._version, question.requirement.plan
        acted = []
        subject = version.numbers.find(question.subject.text)
        if subject is not None and version.existing.get(subject):
            granted = self.granted_on(question)
            for role, principals in acting(version, question, subject):
                bits, others = granted.bits(principals), NO_OTHERS
                if plan.others:
                    others = ungranted(self._facts, question, subject, principals)
                    bits |= plan.bits_of(fact for fact, _ in others)
                found = FoundFacts(granted, others, principals, version.numbers.refs)
                acted.append({"role": role, "found": found, "allowed": plan.allows(bits)})
        return {"known": known(version, question), "acting": acted}

    def granted_on(self, question: ResolvedQuestion) -> PlacesGranted:
        """What is granted on the places of a question."""
        return self.grants_of(question.requirement).on(self._version, question.places)

    def grants_of(self, requirement: Requirement) -> ConditionGrants:
        """The grants that a condition needs."""
        kept = self._version.granted
        of_condition = kept.get(requirement.plan)
        if of_condition is None:
            of_condition = kept[requirement.plan] = ConditionGrants(requirement)
        return of_condition


def answers(facts: FactSet, questions: Sequence[ResolvedQuestion]) -> Iterator[dict[str, Any]]:
    """The answers to checks, as check.cypher gives them. Each is computed when it is read, because a large batch of
    answers makes work for Python's garbage collector."""
    return map(MemoryChecks(facts).answer, questions)


class EarlyAnswers:
    """The answers to checks, computed before it is known which version of the facts is current."""

    def __init__(self, policy: Policy, root: Reference, questions: Sequence[ResolvedQuestion]) -> None:
        self._policy, self._root, self._questions = policy, root, questions
        self._version: FactVersion | None = None
        self._answers: list[dict[str, Any]] = []

    def compute(self, version: FactVersion) -> None:
        """Computes the answers from a version that may be current."""
        self._version, self._answers = version, [*self._at(version)]

    def at(self, version: FactVersion) -> Iterable[dict[str, Any]]:
        """The answers from the current version. They are computed again if `compute` had another version."""
        return self._answers if self._version is version else self._at(version)

    def _at(self, version: FactVersion) -> Iterator[dict[str, Any]]:
        return answers(FactSet(version, self._policy, self._root), self._questions)


def known(version: FactVersion, question: ResolvedQuestion) -> list[str]:
    """Those of the references in the question that exist."""
    return [ref for ref in question.needed if version.exists(ref)]


def acting(
    version: FactVersion, question: ResolvedQuestion, subject: int
) -> Sequence[tuple[str | None, AbstractSet[int]]]:
    """The principals that act together: all effective ones, or those of one role at a time."""
    effective, as_role = version.effective(subject), question.as_role
    role = None if as_role is None else version.numbers.find(as_role)
    if as_role is not None and role not in effective:
        return ()
    if not question.one_role:
        return ((as_role, effective),)
    roles = version.held_roles(subject) if role is None else [role]
    return [(version.numbers.refs[each], version.with_roles(each)) for each in roles]


def ungranted(
    facts: FactSet,
    question: ResolvedQuestion,
    subject: int,
    principals: AbstractSet[int],
    without: Collection[str] = (),
) -> Found:
    """The facts of these principals other than grants on a place and its owner. Facts about the places `without` are
    omitted."""
    plan = question.requirement.plan
    found: Found = []
    for fact in plan.properties_of_places:
        if fact.place not in without:
            ref = fact.entity or question.places[fact.place].text
            if has(facts, fact.kind, ref, subject, principals):
                found.append((fact, None))
    if plan.inside:
        found += _below(Descendants(facts), question, principals, without)
    return found


def granted(
    version: FactVersion, question: ResolvedQuestion, without: Collection[str] = ()
) -> list[tuple[Fact, Collection[int]]]:
    """The facts about grants and owners on the places of a question, each with its principals."""
    plan, places = question.requirement.plan, question.places
    return [
        pair
        for place, wanted in plan.stored.items()
        if place not in without
        for pair in facts_of(wanted, version.granted_on(plan.named.get(place) or places[place].text))
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


def has(facts: FactSet, kind: FactKind, ref: str, subject: int, principals: AbstractSet[int]) -> bool:
    """Whether the fact of a kind is true of a place, for a subject and the principals that act for it."""
    number = facts.version.numbers.find(ref)
    if number is None:
        return False
    if kind is FactKind.IS:
        return number == subject
    if kind is FactKind.HOLDS:
        return number in principals
    return facts.version.existing.get(number) is not None and (kind is FactKind.EXISTS or ref in facts.policy.builtins)
