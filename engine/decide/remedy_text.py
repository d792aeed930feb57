"""A remedy in words: what is missing, and the statements that would mend it."""

from collections.abc import Sequence
from dataclasses import dataclass

from grantpath.engine.decide.evaluation import Case
from grantpath.engine.decide.remedy_candidates import Acting
from grantpath.engine.policy.clauses import Fact

SHOWN = 3  # of many things below a place, these are named
REASONS = 3


@dataclass(frozen=True)
class Step:
    """One fact to be made true (a DENY: to be taken away), and the statements that do it.

    Where nobody has looked around, what stands below or above a place is not known: then it has no statements.
    """

    fact: Fact
    statements: tuple[str, ...]
    power: int
    inherited: bool = False  # a grant further up would do as well
    lacking: tuple[str, ...] = ()  # what stands below and has to get it


def lack(case: Case, acting: Acting, step: Step) -> str:
    """What is missing, and what to do."""
    by_at, todo = case.by_at, "; ".join(step.statements)
    match step.fact.split(" "):
        case ["DENY", privilege, at]:
            denied = ", ".join(sorted(filter(None, acting.found[step.fact])))
            return f"DENY {privilege} on {by_at[at]} to {denied} wins: {todo}"
        case ["ALLOW", privilege, at]:
            where = f"{by_at[at]}{' or above' if step.inherited else ''}"
            return f"{privilege} is not granted on {where}: allow {privilege} on {by_at[at]} to {acting.said}"
        case ["OWNS", at]:
            owner = step.statements[0].removeprefix("owner ").removesuffix(f" of {by_at[at]}")
            text = f"{by_at[at]} is not owned by {owner}: {todo}"
            return text.replace(acting.grantee, acting.said)
        case ["HOLDS", at]:
            return f"{acting.joiner} is not in {at[1:] if at[0] == '=' else by_at[at]}: {todo}"
        case ["EXISTS", at]:
            return f"{by_at[at]} is not there: {todo or 'add it, with what it stands in'}"
        case ["ALLOW", privilege, type_, "below", at]:
            todo = todo or f"allow it on one to {acting.said}"
            return f"{privilege} is granted on no {type_} below {by_at[at]}: {todo}"
        case ["EVERY", privileges, types, "below", at]:
            name = privileges.split(",")[0]
            if not step.lacking:
                every = types.replace(",", ", ")
                todo = f"allow it to {acting.said} on those that lack it"
                return f"{name} is not granted on every existing {every} below {by_at[at]}: {todo}"
            return f"{name} is not granted on {_some(step.lacking)} below {by_at[at]}: {_first(step.statements)}"
    raise AssertionError(f"no change makes {step.fact} true")


def impossible(case: Case, hopeless: Sequence[Fact]) -> str:
    """Why no change helps."""
    if not case.clauses:
        return "nobody may: the policy gives this to no one"
    reasons = list(dict.fromkeys(_hopeless(case, fact) for fact in hopeless))
    return f"no change allows it: {'; '.join(reasons[:REASONS])}"


def _hopeless(case: Case, fact: Fact) -> str:
    match fact.split(" "):
        case ["IS", at]:
            return f"only {case.by_at[at]} itself may"
        case ["BUILTIN", at]:
            return f"{case.by_at[at]} came with the policy {case.policy.name}"
        case ["OWNS", at]:
            return f"{case.by_at[at]} cannot be given to {case.subject}"
        case ["HOLDS", at] if (at[1:] if at[0] == "=" else case.by_at[at].text) in case.policy.hidden:
            return "whoever runs the system sets who may"
        case ["HOLDS", at]:
            return f"{case.as_role or case.subject} cannot be in {at[1:] if at[0] == '=' else case.by_at[at]}"
        case ["EXISTS", at]:
            return f"{case.by_at[at]} is not there and cannot be added"
        case ["ALLOW" | "EVERY", names, types, "below", at]:
            what = types.replace(",", ", ")
            return f"{names.split(',')[0]} can be granted to {case.subject} on no {what} below {case.by_at[at]}"
        case ["DENY", privilege, at]:
            return f"the DENY {privilege} on {case.by_at[at]} cannot be revoked"
        case [_, privilege, at]:
            return f"{privilege} on {case.by_at[at]} cannot be granted to {case.subject}"
    raise AssertionError(fact)


def _some(refs: Sequence[str]) -> str:
    more = len(refs) - SHOWN
    return f"{', '.join(refs[:SHOWN])} and {more} more" if more > 0 else ", ".join(refs)


def _first(statements: Sequence[str]) -> str:
    more = len(statements) - SHOWN
    return "; ".join([*statements[:SHOWN], *([f"and {more} more like these"] if more > 0 else [])])
