"""What an answer is: allowed or not, and in words why; what is missing is worked out in remedy.py."""

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
    """What a check was answered from: the question, each principal that acted (its role, the facts found for it, and
    the verdict), and the nearest remedy where it is known."""

    evaluation: Evaluation
    acted: Sequence[Mapping[str, Any]]
    remedy: Remedy | None = None


@dataclass(frozen=True)
class Decision:
    """The answer to one check; its truth value is `allowed`.

    `because` says what allowed it, `missing` what the nearest remedy would change, in words; `revision` is the state of
    the graph that it was read from, `asked` the check. These are for operators: they may name roles, groups, DENYs and
    near names. `public` is for end users.
    """

    allowed: bool
    revision: int
    evidence: Evidence = field(repr=False, compare=False)
    asked: Check | None = field(default=None, repr=False, compare=False)

    def __bool__(self) -> bool:
        return self.allowed

    @cached_property
    def because(self) -> list[str]:
        """Computed when it is read: the text costs more than the decision."""
        return _because(self.evidence) if self.allowed else []

    @cached_property
    def missing(self) -> list[str]:
        """Computed when it is read, as `because`."""
        evidence = self.evidence
        return [] if self.allowed else (evidence.remedy or nearest(evidence.evaluation, evidence.acted, None)).texts

    @property
    def public(self) -> str:
        """The answer and the question, in the asker's own words: it names nothing else."""
        verdict = "allowed" if self.allowed else "not allowed"
        return f"{verdict}: {_words(self.asked)}" if self.asked else verdict

    def as_dict(self) -> dict[str, Any]:
        """The answer as JSON has it."""
        return {
            "allowed": self.allowed,
            "because": self.because,
            "missing": self.missing,
            "revision": self.revision,
        }


@dataclass(frozen=True)
class Explanation:
    """A decision with its paths, each from subject to object, edge by edge: for a yes those that allowed it, for a no
    those of each DENY in the way of the nearest remedy.

    Where very many roles or groups have the same grant, 50 of them are shown. A yes that rests on no edge has the
    sentence that says why in their place. `remedy` are the statements that, made together, turn a no into yes; empty
    where no change does.
    """

    decision: Decision
    paths: list[str]
    remedy: list[str]

    @property
    def public(self) -> str:
        """What an end user may be shown: that of the decision."""
        return self.decision.public

    def __bool__(self) -> bool:
        return self.decision.allowed


def _words(check: Check) -> str:
    """A check in the words that it was asked in, each cut to 80 characters."""
    role = f" as {short(check.as_role)}" if check.as_role else ""
    second_objects = ", ".join(f"{short(key)}={short(ref)}" for key, ref in check.with_.items())
    return f"{short(check.subject)}{role} {short(check.name)} on {short(check.object)}" + (
        f" with {second_objects}" if second_objects else ""
    )


def winner(acted: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Of those who acted (each with its role, what was found and the verdict), the one for whom the answer is yes."""
    return min((one for one in acted if one["allowed"]), key=lambda one: one["role"] or "", default=None)


def _because(evidence: Evidence) -> list[str]:
    evaluation, won = evidence.evaluation, winner(evidence.acted)
    assert won is not None, "it is allowed"
    subject, found = evaluation.subject.text, evaluation.by_fact(won["found"])
    facts = winning(evaluation.clauses, found)
    acting = [f"{subject} acts as {won['role']}"] if evaluation.one_role and won["role"] else []
    if not facts:
        return [*acting, f"{subject} exists, and every user may"]
    return acting + [
        _reason(evaluation, fact, next(iter(sorted(filter(None, found[fact]))), subject))
        + denied_itself(evaluation, fact, found)
        for fact in facts
    ]


def denied_itself(evaluation: Evaluation, fact: Fact, found: FoundFacts) -> str:
    """Behind an ALLOW whose own privilege is denied: that it counts only for what the privilege implies."""
    denial = own_denial(fact, evaluation.clauses, found)
    if denial is None:
        return ""
    [privilege], by = denial.privileges, min(filter(None, found[denial]))
    return f" ({privilege} itself is denied to {by} on {evaluation.entity(denial)}; it counts for what it implies)"


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
