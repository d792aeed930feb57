"""Remedies as text: what is missing, and the statements that would provide it."""

from collections.abc import Sequence
from dataclasses import dataclass

from grantpath.engine.answers.evaluation import Evaluation
from grantpath.engine.answers.remedy_candidates import Candidate
from grantpath.engine.policy.facts import Fact, FactKind
from grantpath.graph.language.reference import type_of

SHOWN = 3  # the number of descendants that a text names
REASONS = 3


@dataclass(frozen=True)
class RemedyStep:
    """One fact to make true (or a DENY to revoke), and the statements that do so.

    It has no statements if they depend on ancestors or descendants that have not been read.
    """

    fact: Fact
    statements: tuple[str, ...]
    cost: int
    inherited: bool = False  # a grant on an ancestor would suffice, too
    lacking: tuple[str, ...] = ()  # the descendants that lack the grant


def lack(evaluation: Evaluation, candidate: Candidate, step: RemedyStep) -> str:
    """A text that says what is missing and what to do."""
    fact, entity, todo = step.fact, evaluation.entity(step.fact), "; ".join(step.statements)
    match fact.kind:
        case FactKind.DENY:
            denied = ", ".join(candidate.found[fact])
            return f"DENY {fact.granted} on {fact.of_tag}{entity} to {denied} wins: {todo or 'revoke it on the tag'}"
        case FactKind.ALLOW:
            [privilege], where = fact.privileges, f"{entity}{' or above' if step.inherited else ''}"
            first = "".join(f"{each}; " for each in step.statements[:-1])
            todo = f"{first}allow {privilege} on {entity} to {candidate.grantee_text}"
            return f"{privilege} is not granted on {where}: {todo}"
        case FactKind.OWNS:
            owner = step.statements[-1].removeprefix("owner ").removesuffix(f" of {entity}")
            text = f"{entity} is not owned by {owner}: {todo}"
            return text.replace(candidate.grantee, candidate.grantee_text)
        case FactKind.HOLDS:
            return f"{candidate.joiner} is not in {entity}: {todo}"
        case FactKind.EXISTS:
            return f"{entity} does not exist: {todo or 'add it and its parents'}"
        case FactKind.EVERY_BELOW if step.statements and not step.lacking:
            return f"{entity} does not exist: {todo}"
        case FactKind.ALLOW_BELOW:
            todo = todo or f"allow it on one to {candidate.grantee_text}"
            return f"{fact.privileges[0]} is not granted on any {fact.types[0]} below {entity}: {todo}"
        case FactKind.EVERY_BELOW:
            if not step.lacking:
                todo = f"allow it to {candidate.grantee_text} on those that lack it"
                return f"{fact.privileges[0]} is not granted on every existing {_types(fact)} below {entity}: {todo}"
            what = f"{fact.privileges[0]} is not granted on {_some(step.lacking)} below {entity}"
            return f"{what}: {_first(step.statements)}"
    raise AssertionError(f"no change makes {fact} true")


def impossible(evaluation: Evaluation, facts: Sequence[Fact]) -> str:
    """A text that says why no change would allow the check."""
    if not evaluation.clauses:
        return "the policy never allows this"
    reasons = list(dict.fromkeys(_why_impossible(evaluation, fact) for fact in facts))
    return f"no change allows it: {'; '.join(reasons[:REASONS])}"


def _why_impossible(evaluation: Evaluation, fact: Fact) -> str:
    entity = evaluation.entity(fact)
    match fact.kind:
        case FactKind.IS:
            return f"only {entity} itself is allowed"
        case FactKind.BUILTIN:
            return f"{entity} is built into the policy {evaluation.policy.name}"
        case FactKind.OWNS:
            return f"{evaluation.subject} cannot become the owner of {entity}"
        case FactKind.HOLDS if entity in evaluation.policy.hidden:
            return "the operator sets the members"
        case FactKind.HOLDS if evaluation.one_role and evaluation.policy.file.types[type_of(entity)].kind == "group":
            return f"a role acts alone, and none is in {entity}"
        case FactKind.HOLDS:
            return f"{evaluation.as_role or evaluation.subject} cannot be in {entity}"
        case FactKind.EXISTS:
            return f"{entity} does not exist and cannot be added"
        case FactKind.ALLOW_BELOW | FactKind.EVERY_BELOW:
            return (
                f"{fact.privileges[0]} cannot be granted to {evaluation.subject} on any {_types(fact)} below {entity}"
            )
        case FactKind.DENY:
            return f"the DENY {fact.granted} on {fact.of_tag}{entity} cannot be revoked"
        case FactKind.ALLOW:
            return f"{fact.granted} on {fact.of_tag}{entity} cannot be granted to {evaluation.subject}"
    raise AssertionError(fact)


def _types(fact: Fact) -> str:
    return ", ".join(fact.types)


def _some(refs: Sequence[str]) -> str:
    more = len(refs) - SHOWN
    return f"{', '.join(refs[:SHOWN])} and {more} more" if more > 0 else ", ".join(refs)


def _first(statements: Sequence[str]) -> str:
    more = len(statements) - SHOWN
    return "; ".join([*statements[:SHOWN], *([f"and {more} more like these"] if more > 0 else [])])
