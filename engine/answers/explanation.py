"""Explains one decision: reads the paths that cause it and, if it is refused, the nearest remedy."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from grantpath.engine.answers.deciding_facts import Deciding, deciding
from grantpath.engine.answers.decision import Decision, Explanation, denied_itself, winner
from grantpath.engine.answers.evaluation import Evaluation, RemedyContext, winning
from grantpath.engine.answers.every_path import MAX_ACTING, Routes, with_further
from grantpath.engine.answers.graph_path import GraphPath, PathBuilder
from grantpath.engine.answers.remedy import Remedy, nearest
from grantpath.engine.answers.remedy_candidates import later_roles, new_names
from grantpath.engine.policy.clauses import facts_of, texts
from grantpath.engine.policy.facts import Fact, FactKind, place_prefix

MAX_ROLES = 10  # if the subject holds more, one of the first suffices for a remedy


class PinnedAsk(Protocol):
    """Runs a guarded query of cypher/, always at the same revision."""

    def __call__(self, query: str, **parameters: Any) -> Mapping[str, Any]: ...


def explained(ask: PinnedAsk, decision: Decision, every: bool, near: Callable[[str], str]) -> Explanation:
    """Explains a decision, with `every` by all deciding facts; `ask` reads at the revision of the decision, and `near`
    suggests names that are similar to a missing one."""
    evaluation, acted = replace(decision.evidence.evaluation, suggest=near), decision.evidence.acted
    won = winner(acted)
    remedy = None if won else _remedy(ask, evaluation, acted)
    deciders = deciding(evaluation, acted)
    if every:
        paths, complete = _every_path(ask, evaluation, acted, deciders)
        return _explanation(decision, remedy, paths, complete)
    found = evaluation.by_fact(won["found"]) if won else {}
    if won:
        facts, role = winning(evaluation.clauses, found), won["role"] if evaluation.one_role else None
    else:
        facts, role = (remedy.denials, remedy.role) if remedy else ([], None)
    row = ask("explain", **path_parameters(evaluation, facts, role))
    complete = _is_complete(ask, evaluation, deciders, facts, row["paths"])
    notes = {fact.text: denied_itself(evaluation, fact, found) for fact in facts}
    builder = PathBuilder(evaluation)
    return _explanation(
        decision, remedy, [builder.path(path, notes.get(path["fact"], "")) for path in row["paths"]], complete
    )


def _explanation(decision: Decision, remedy: Remedy | None, paths: Iterable[GraphPath], complete: bool) -> Explanation:
    """The explanation with these paths, sorted by their text and without duplicates."""
    by_text = {str(path): path for path in paths}
    return Explanation(
        allowed=decision.allowed,
        revision=decision.revision,
        question=decision.question,
        because=decision.because,
        missing=remedy.texts if remedy else [],
        ends_due=decision.ends_due,
        paths=sorted(by_text) or decision.because,
        typed_paths=tuple(by_text[text] for text in sorted(by_text)),
        remedy=[*remedy.statements] if remedy else [],
        complete=complete,
    )


def _every_path(
    ask: PinnedAsk, evaluation: Evaluation, acted: Sequence[Mapping[str, Any]], deciders: Sequence[Deciding]
) -> tuple[list[GraphPath], bool]:
    """The paths of all deciding facts, and whether none is missing."""
    if not deciders:
        return [], True
    routes = Routes(ask("membership_edges", subject=evaluation.subject.text)["links"])
    builder, found, complete = PathBuilder(evaluation), list[GraphPath](), len(deciders) <= MAX_ACTING
    for each in deciders[:MAX_ACTING]:
        row = ask("explain", **path_parameters(evaluation, [*each.facts], each.role))
        every = with_further(row["paths"], evaluation.subject.text, each, routes)
        complete = complete and every.complete
        own = next(one for one in acted if not evaluation.one_role or one["role"] == each.role)
        facts = evaluation.by_fact(own["found"])
        notes = {fact.text: denied_itself(evaluation, fact, facts) for fact in each.facts}
        found += [builder.path(path, notes[path["fact"]]) for path in every.paths]
    return found, complete


def _is_complete(
    ask: PinnedAsk,
    evaluation: Evaluation,
    deciders: Sequence[Deciding],
    facts: Sequence[Fact],
    paths: Sequence[Mapping[str, Any]],
) -> bool:
    """Whether the paths of these facts are all paths of all deciding facts."""
    if not deciders:
        return True
    if len(deciders) > 1 or deciders[0].unshown or not {*deciders[0].facts} <= {*facts}:
        return False
    routes = Routes(ask("membership_edges", subject=evaluation.subject.text)["links"])
    return with_further(paths, evaluation.subject.text, deciders[0], routes, most=1).complete


def _remedy(ask: PinnedAsk, evaluation: Evaluation, acted: Sequence[Mapping[str, Any]]) -> Remedy:
    row = ask("remedy", **remedy_parameters(evaluation, acted))
    return nearest(evaluation, acted, remedy_context(evaluation, row))


def path_parameters(evaluation: Evaluation, facts: Sequence[Fact], role: str | None) -> dict[str, Any]:
    """The parameters of explain.cypher, without `root`."""
    return {
        "subject": evaluation.subject.text,
        "role": role,
        "places": [{"at": at, "ref": ref.text, "of": _foot(evaluation, at)} for at, ref in evaluation.by_at.items()],
        "facts": texts(facts),
        "below": [_below(evaluation, fact) for fact in facts if fact.below],
    }


def remedy_parameters(evaluation: Evaluation, acted: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The parameters of remedy.cypher, without `root`."""
    names, roles = new_names(evaluation), [one["role"] for one in acted]
    return {
        "subject": evaluation.subject.text,
        "types": evaluation.policy.file.grants.to,
        "names": [evaluation.subject.text, *names, *(ref.text for ref in evaluation.by_at.values())],
        "joining": [
            {"member": member, "container": container}
            for container in _containers(evaluation)
            for member in dict.fromkeys(filter(None, [evaluation.subject.text, evaluation.as_role, *roles]))
        ],
        "roles": later_roles(evaluation),
        "places": [{"at": at, "ref": ref.text} for at, ref in evaluation.by_at.items()],
        "below": [
            {"fact": fact.text, **_below(evaluation, fact)} for fact in facts_of(evaluation.clauses) if fact.below
        ],
        "together": not evaluation.one_role,
    }


def remedy_context(evaluation: Evaluation, row: Mapping[str, Any]) -> RemedyContext:
    """The row of remedy.cypher as a context."""
    return RemedyContext(
        held=row["held"][:MAX_ROLES],
        existing=frozenset(row["existing"]),
        cycles=frozenset((each["member"], each["container"]) for each in row["cycles"]),
        inside={evaluation.fact(each["fact"]): each["refs"] for each in row["inside"]},
        denied={(Fact.parse(each["fact"]), each["by"]): sorted(each["tags"]) for each in row["denied"]},
        found=evaluation.by_fact(row["found"]),
        reached={each["role"]: frozenset(each["refs"]) for each in row["reached"]},
    )


def _containers(evaluation: Evaluation) -> list[str]:
    """The groups and roles in which a remedy can require membership."""
    refs = [evaluation.entity(fact) for fact in facts_of(evaluation.clauses) if fact.kind is FactKind.HOLDS]
    return [*refs, *([evaluation.as_role] if evaluation.as_role else [])]


def _foot(evaluation: Evaluation, at: str) -> str:
    """The object or second object to whose ancestors a place belongs."""
    prefix = place_prefix(at)
    return next(ref.text for place, ref in evaluation.by_at.items() if place_prefix(place) == prefix)


def _below(evaluation: Evaluation, fact: Fact) -> dict[str, Any]:
    return {
        "at": fact.place,
        "ref": evaluation.entity(fact),
        "types": list(fact.types),
        "privileges": list(fact.privileges),
    }
