"""All facts that decide a question: those that allow it, or the DENYs that stop it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grantpath.engine.answers.evaluation import Evaluation, FoundFacts
from grantpath.engine.policy.clauses import Clauses, clause_holds
from grantpath.engine.policy.facts import Fact, FactKind

WITHOUT_EDGE = (FactKind.EXISTS, FactKind.BUILTIN, FactKind.IS, FactKind.ALL)


@dataclass(frozen=True)
class Deciding:
    """The deciding facts of one acting principal.

    `role` is the acting role; None if all groups and roles of the subject count together. `unshown`: whether a fact
    about all entities below a place also decides, which no single edge can show.
    """

    role: str | None
    facts: Sequence[Fact]
    unshown: bool


def deciding(evaluation: Evaluation, acted: Sequence[Mapping[str, Any]]) -> list[Deciding]:
    """For each acting principal: the facts that allow it, if one is allowed; otherwise the DENYs that stop it.

    Facts without an edge, such as the existence of an object, are omitted.
    """
    allowed = any(one["allowed"] for one in acted)
    result = []
    for one in sorted(acted, key=lambda each: each["role"] or ""):
        if bool(one["allowed"]) is allowed:
            found = evaluation.by_fact(one["found"])
            facts = _allowing(evaluation.clauses, found) if allowed else _denying(evaluation.clauses, found)
            edges = [fact for fact in sorted(facts) if fact.kind not in (*WITHOUT_EDGE, FactKind.EVERY_BELOW)]
            unshown = any(fact.kind is FactKind.EVERY_BELOW for fact in facts)
            result.append(Deciding(one["role"] if evaluation.one_role else None, edges, unshown))
    return [each for each in result if each.facts or each.unshown]


def _allowing(clauses: Clauses, found: FoundFacts) -> set[Fact]:
    """The facts of all atoms that hold, in all clauses that hold."""
    holding = [
        [atom for term in clause for atom in term if atom.holds(found)]
        for clause in clauses
        if clause_holds(clause, found)
    ]
    return {fact for atoms in holding for atom in atoms for fact in atom.any if fact in found}


def _denying(clauses: Clauses, found: FoundFacts) -> set[Fact]:
    """The DENYs that stop an atom for which there is a grant."""
    stopped = (
        atom for clause in clauses for term in clause for atom in term if any(fact in found for fact in atom.any)
    )
    return {fact for atom in stopped for fact in atom.none if fact in found}
