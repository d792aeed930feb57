"""Explains one answer: looks around it for the nearest remedy, and for the paths that tell why."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from grantpath.engine.decide import path_text
from grantpath.engine.decide.decision import Decision, Evidence, Explanation, denied_itself, winner
from grantpath.engine.decide.evaluation import Case, Surroundings, winning
from grantpath.engine.decide.remedy import Remedy, nearest
from grantpath.engine.decide.remedy_candidates import later_roles, new_names
from grantpath.engine.policy.clauses import facts_of, texts
from grantpath.engine.policy.facts import Fact, FactKind, place_prefix

MAX_ROLES = 10  # where more are held, one of the first will do


class PinnedAsk(Protocol):
    """Asks a guarded query of cypher/, always at the same revision."""

    def __call__(self, query: str, **parameters: Any) -> Mapping[str, Any]: ...


def explained(ask: PinnedAsk, case: Case, hats: Sequence[Mapping[str, Any]], check: Mapping[str, Any]) -> Explanation:
    """The answer that a check spelled in `hats`, explained; `check` is the row that it came in, and `ask` asks
    at the same revision."""
    won = winner(hats)
    remedy = None if won else _remedy(ask, case, hats)
    found = case.by_fact(won["found"]) if won else {}
    if won:
        facts, role = winning(case.clauses, found), won["role"] if case.one_role else None
    else:
        facts, role = (remedy.denials, remedy.role) if remedy else ([], None)
    row = ask("explain", **path_parameters(case, facts, role))
    decision = Decision(bool(won), check["revision"], Evidence(case, hats, remedy))
    if remedy:
        return Explanation(decision, path_text.told(row["ways"]), [*remedy.statements])
    notes = {fact.text: denied_itself(case, fact, found) for fact in facts}
    ways = [path_text.path(way) + notes.get(way["fact"], "") for way in row["ways"]]
    return Explanation(decision, sorted({*ways}) or decision.because, [])


def _remedy(ask: PinnedAsk, case: Case, hats: Sequence[Mapping[str, Any]]) -> Remedy:
    row = ask("remedy", **remedy_parameters(case, hats))
    return nearest(case, hats, surroundings(case, row))


def path_parameters(case: Case, facts: Sequence[Fact], role: str | None) -> dict[str, Any]:
    """The parameters of explain.cypher, but root."""
    return {
        "subject": case.subject.text,
        "role": role,
        "places": [{"at": at, "ref": ref.text, "of": _foot(case, at)} for at, ref in case.by_at.items()],
        "facts": texts(facts),
        "below": [_below(case, fact) for fact in facts if fact.below],
    }


def remedy_parameters(case: Case, hats: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The parameters of remedy.cypher, but root."""
    names = new_names(case)
    return {
        "subject": case.subject.text,
        "types": case.policy.file.grants.to,
        "names": [case.subject.text, *names, *(ref.text for ref in case.by_at.values())],
        "joining": [
            {"member": member, "container": container}
            for container in _containers(case)
            for member in dict.fromkeys([case.subject.text, *(hat["role"] for hat in hats if hat["role"])])
        ],
        "roles": later_roles(case),
        "places": [{"at": at, "ref": ref.text} for at, ref in case.by_at.items()],
        "below": [{"fact": fact.text, **_below(case, fact)} for fact in facts_of(case.clauses) if fact.below],
        "together": not case.one_role,
    }


def surroundings(case: Case, row: Mapping[str, Any]) -> Surroundings:
    """What remedy.cypher returned."""
    return Surroundings(
        held=row["held"][:MAX_ROLES],
        there=frozenset(row["there"]),
        circles=frozenset((each["member"], each["container"]) for each in row["circles"]),
        inside={case.fact(each["fact"]): each["refs"] for each in row["inside"]},
        found=case.by_fact(row["found"]),
        reached=frozenset(row["reached"]),
    )


def _containers(case: Case) -> list[str]:
    """The groups and roles that somebody might have to join."""
    refs = [case.entity(fact) for fact in facts_of(case.clauses) if fact.kind is FactKind.HOLDS]
    return [*refs, *([case.as_role] if case.as_role else [])]


def _foot(case: Case, at: str) -> str:
    """Where the way up begins that a place stands on: at the object, or at a second object."""
    prefix = place_prefix(at)
    return next(ref.text for place, ref in case.by_at.items() if place_prefix(place) == prefix)


def _below(case: Case, fact: Fact) -> dict[str, Any]:
    return {
        "at": fact.place,
        "ref": case.entity(fact),
        "types": list(fact.types),
        "privileges": list(fact.privileges),
    }
