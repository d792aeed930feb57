"""Decisions and explanations, with their reasons as text. remedy.py computes what is missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from grantpath.engine.decide.evaluation import Evaluation, FoundFacts, own_denial, winning
from grantpath.engine.decide.remedy import Remedy, nearest
from grantpath.engine.policy.facts import Fact, FactKind
from grantpath.graph.messages import indefinite, short
from grantpath.graph.statement import Check


@dataclass(frozen=True)
class Evidence:
    """The basis of a decision: the question, each acting principal (its role, the facts found for it, and its
    verdict), and the nearest remedy if it is known."""

    evaluation: Evaluation
    acted: Sequence[Mapping[str, Any]]
    remedy: Remedy | None = None


@dataclass(frozen=True)
class Decision:
    """The answer to one check; its truth value is `allowed`.

    `because` lists the reasons if it is allowed, `missing` what the nearest remedy would change if it is not.
    `revision` is the revision of the graph that was read, `asked` the check. All of these are for operators: they can
    name roles, groups, DENYs and similar names. `public` is for end users.
    """

    allowed: bool
    revision: int
    evidence: Evidence = field(repr=False, compare=False)
    asked: Check | None = field(default=None, repr=False, compare=False)

    def __bool__(self) -> bool:
        return self.allowed

    @cached_property
    def because(self) -> list[str]:
        """The reasons. Computed on demand: the text costs more than the decision."""
        return _because(self.evidence) if self.allowed else []

    @cached_property
    def missing(self) -> list[str]:
        """What the nearest remedy would change. Computed on demand, as `because`."""
        evidence = self.evidence
        return [] if self.allowed else (evidence.remedy or nearest(evidence.evaluation, evidence.acted, None)).texts

    @property
    def public(self) -> str:
        """The decision and the question in the caller's own words. It reveals no other names."""
        verdict = "allowed" if self.allowed else "not allowed"
        return f"{verdict}: {_words(self.asked)}" if self.asked else verdict

    def as_dict(self) -> dict[str, Any]:
        """The decision in the form of the JSON output."""
        return {
            "allowed": self.allowed,
            "because": self.because,
            "missing": self.missing,
            "revision": self.revision,
        }


@dataclass(frozen=True)
class Explanation:
    """A decision with its paths from subject to object, edge by edge.

    If it is allowed, these are paths that allow it; if not, those of each DENY that the nearest remedy revokes.
    If very many roles or groups have the same grant, 50 of them are listed. A decision that does not depend on an edge
    has a sentence with the reason instead of a path.

    `remedy` lists the statements that together would make a refused check allowed; it is empty if none would.
    `complete` is false if other grants or memberships decide the same: then to revoke what the paths show does not
    change the decision. `explain(..., all=True)` has the paths of every deciding fact: for each fact those of 50 roles
    or groups at most, to each of these 10 at most, and of 10 acting roles at most; `complete` says whether that is all.
    """

    decision: Decision
    paths: list[str]
    remedy: list[str]
    complete: bool = True

    @property
    def public(self) -> str:
        """The text for end users: that of the decision."""
        return self.decision.public

    def __bool__(self) -> bool:
        return self.decision.allowed


def _words(check: Check) -> str:
    """A check in the caller's words, each cut to 80 characters."""
    role = f" as {short(check.as_role)}" if check.as_role else ""
    second_objects = ", ".join(f"{short(key)}={short(ref)}" for key, ref in check.with_.items())
    return f"{short(check.subject)}{role} {short(check.name)} on {short(check.object)}" + (
        f" with {second_objects}" if second_objects else ""
    )


def winner(acted: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The acting principal that is allowed, with its role, facts and verdict; the first by role if several are."""
    return min((one for one in acted if one["allowed"]), key=lambda one: one["role"] or "", default=None)


def _because(evidence: Evidence) -> list[str]:
    evaluation, won = evidence.evaluation, winner(evidence.acted)
    assert won is not None, "reasons are asked for an allowed decision only"
    subject, found = evaluation.subject.text, evaluation.by_fact(won["found"])
    facts = winning(evaluation.clauses, found)
    acting = [f"{subject} acts as {won['role']}"] if evaluation.one_role and won["role"] else []
    if not facts:
        return [*acting, f"{subject} exists, and every user is allowed"]
    return acting + [
        _reason(evaluation, fact, next(iter(sorted(filter(None, found[fact]))), subject))
        + denied_itself(evaluation, fact, found)
        for fact in facts
    ]


def denied_itself(evaluation: Evaluation, fact: Fact, found: FoundFacts) -> str:
    """A note on an ALLOW whose own privilege is denied: it applies only to the privileges that it implies."""
    denial = own_denial(fact, evaluation.clauses, found)
    if denial is None:
        return ""
    [privilege], by = denial.privileges, min(filter(None, found[denial]))
    return f" ({privilege} itself is denied to {by} on {evaluation.entity(denial)}; only what it implies is granted)"


def _reason(evaluation: Evaluation, fact: Fact, by: str) -> str:
    subject, entity = evaluation.subject.text, evaluation.entity(fact)
    match fact.kind:
        case FactKind.ALLOW | FactKind.DENY:
            return f"{by} has {fact.kind.value} {fact.privileges[0]} on {entity}"
        case FactKind.OWNS:
            return f"{by} owns {entity}"
        case FactKind.IS:
            return f"{subject} is {entity} itself"
        case FactKind.HOLDS:
            return f"{subject} is in or holds {entity}"
        case FactKind.ALLOW_BELOW:
            return f"{by} has ALLOW {fact.privileges[0]} on {indefinite(fact.types[0])} below {entity}"
        case FactKind.EVERY_BELOW:
            names, types = " or ".join(fact.privileges), ", ".join(fact.types)
            return f"{subject} has {names} on every existing {types} below {entity}"
        case _:
            return f"{entity} exists"
