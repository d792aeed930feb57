"""A resolved question, from which reasons, remedies and paths are derived when its facts are known."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Any

from grantpath.engine.policy.clauses import Atom, Clauses, facts_of
from grantpath.engine.policy.facts import Fact, FactKind
from grantpath.engine.policy.policy import Policy
from grantpath.graph.language.reference import Reference

FoundFacts = Mapping[Fact, Sequence[str]]  # by fact: the principals that have it; empty for a fact without a grant


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A subject, the clauses to decide and their entities. With `one_role`, each role is evaluated separately."""

    policy: Policy
    root: Reference
    subject: Reference
    clauses: Clauses
    by_at: Mapping[str, Reference]
    one_role: bool
    as_role: str | None
    suggest: Callable[[str], str] = field(default=lambda _: "")  # ` (did you mean X?)` for a missing name, or empty

    @cached_property
    def similar(self) -> str:
        """` (did you mean X?)`, for a subject that does not exist; or empty."""
        return self.suggest(self.subject.text)

    def entity(self, fact: Fact) -> str:
        """The reference of the entity that a fact is about."""
        return fact.entity or self.by_at[fact.place].text

    def fact(self, text: str) -> Fact:
        """The fact with this text."""
        return self._by_text[text]

    @cached_property
    def _by_text(self) -> dict[str, Fact]:
        """The facts that queries can return: those of the clauses, and the denials of their grants."""
        facts = facts_of(self.clauses)
        return {fact.text: fact for fact in (*facts, *filter(None, (fact.denial for fact in facts)))}

    def by_fact(self, found: Iterable[Mapping[str, Any]]) -> dict[Fact, list[str]]:
        """By fact: the principals that have it; none for a fact without a grant. Facts that no clause contains are
        omitted.

        Facts are in the order of their texts, and principals in the order of their references: each source finds them
        in another order, and the order decides which of several reasons is named.
        """
        facts: dict[Fact, list[str]] = {}
        for each in sorted(found, key=itemgetter("fact")):
            fact = self._by_text.get(each["fact"])
            if fact is not None:
                facts[fact] = sorted({*facts.get(fact, ()), *each["by"]})
        return facts


@dataclass(frozen=True, eq=False)
class RemedyContext:
    """The state of the graph around a refused check, from which its remedy is derived.

    `held`: the subject's groups and roles that can hold grants, the direct ones first. `existing`: the named entities
    that exist. `cycles`: the pairs (member, container) that would form a cycle. `inside`: for each fact about
    descendants, those for which it does not hold. `denied`: by DENY of a tag and principal, the tags that have it.
    `found`: the facts of the roles through which the subject could act. `reached`: each of these roles, with itself and
    those above it.
    """

    held: Sequence[str]
    existing: frozenset[str]
    cycles: frozenset[tuple[str, str]]
    inside: Mapping[Fact, Sequence[str]]
    denied: Mapping[tuple[Fact, str], Sequence[str]] = field(default_factory=dict)
    found: FoundFacts = field(default_factory=dict)
    reached: Mapping[str, frozenset[str]] = field(default_factory=dict)


def winning(clauses: Clauses, found: FoundFacts) -> list[Fact]:
    """The facts of the first clause that holds, one per term, if possible without a grant whose privilege is denied."""
    for clause in clauses:
        atoms = [next((one for one in term if one.holds(found)), None) for term in clause]
        if all(atoms):
            return list(dict.fromkeys(_reason(one, found) for one in atoms if one))
    return []


def _reason(atom: Atom, found: FoundFacts) -> Fact:
    facts = [fact for fact in atom.any if fact in found]
    return next((fact for fact in facts if _own_denial(fact, atom, found) is None), facts[0])


def own_denial(fact: Fact, clauses: Clauses, found: FoundFacts) -> Fact | None:
    """The DENY of the privilege that a found ALLOW grants, on any place from which this privilege is inherited.

    Such an ALLOW still grants what its privilege implies. A reason that names it must add a note (see `denied_itself`).
    """
    atoms = {one for clause in clauses for term in clause for one in term if fact in one.any and one.holds(found)}
    return next(filter(None, (_own_denial(fact, one, found) for one in sorted(atoms))), None)


def _own_denial(fact: Fact, atom: Atom, found: FoundFacts) -> Fact | None:
    if fact.kind is not FactKind.ALLOW:
        return None
    same = (one for one in atom.any if one.kind is FactKind.ALLOW and one.granted == fact.granted)
    return next((denial for one in same if (denial := one.denial) in found), None)
