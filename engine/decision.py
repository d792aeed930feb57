"""What an answer is: allowed or not, why, what is missing; read off the facts that the check found."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice, product
from typing import Any

from grantpath.engine.clauses import Atom, Clause, Clauses, Fact
from grantpath.graph.reference import Reference

MAX_COMBINATIONS = 5_000
IMPOSSIBLE = 1_000

Found = Mapping[Fact, Sequence[str | None]]


@dataclass(frozen=True)
class Decision:
    """The answer to one check; its truth value is `allowed`.

    `because` says what allowed it, `missing` what the nearest clause lacks, in words; `revision` is the state of the
    graph that it was read from.
    """

    allowed: bool
    revision: int
    _tell: Callable[[], list[str]] = field(repr=False, compare=False)  # words cost more than the answer: when asked for

    def __bool__(self) -> bool:
        return self.allowed

    @cached_property
    def because(self) -> list[str]:
        return self._tell() if self.allowed else []

    @cached_property
    def missing(self) -> list[str]:
        return [] if self.allowed else self._tell()

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
    """A decision with its paths: those that allowed it, or of the DENY that won; each from subject to object."""

    decision: Decision
    paths: list[str]

    def __bool__(self) -> bool:
        return self.decision.allowed


@dataclass(frozen=True)
class Subject:
    """Who is asked about, and what can be granted to: itself, or only to roles it holds."""

    ref: str
    can_hold_grants: bool
    is_role: bool = False

    @property
    def grantee(self) -> str:
        return self.ref if self.can_hold_grants else f"a role that {self.ref} holds"


def decide(
    hats: Sequence[Mapping[str, Any]],
    clauses: Clauses,
    by_at: Mapping[str, Reference],
    subject: Subject,
    revision: int,
    one_role: bool,
    as_role: str | None,
) -> Decision:
    """The decision that a check's answer spells. `hats` are who acted, each with what was found and the verdict."""
    won = min((hat for hat in hats if hat["allowed"]), key=lambda hat: hat["role"] or "", default=None)
    if won:
        role = won["role"] if one_role else None
        return Decision(True, revision, partial(_because, clauses, won["found"], by_at, subject.ref, role))
    if hats:
        return Decision(False, revision, partial(_missing, clauses, hats, by_at, subject))
    if as_role:
        why = f"does not hold {as_role}: member {subject.ref} of {as_role}"
    else:
        why = "holds no role to act with: make it a member of one" if one_role else f"is not there: add {subject.ref}"
    return Decision(False, revision, partial(list, [f"{subject.ref} {why}"]))


def by_fact(found: Iterable[Mapping[str, Any]]) -> dict[Fact, list[str | None]]:
    """By fact, who has it."""
    facts: dict[Fact, list[str | None]] = {}
    for each in found:
        facts.setdefault(each["fact"], []).append(each["by"])
    return facts


def holds(atom: Atom, found: Found) -> bool:
    """Is the atom true? The same rule as in the queries, for telling why, never for deciding."""
    return any(fact in found for fact in atom.any) and not any(fact in found for fact in atom.none)


def winning(clauses: Clauses, found: Found) -> list[Fact]:
    """The facts of the first clause that holds, one a term."""
    for clause in clauses:
        atoms = [next((one for one in term if holds(one, found)), None) for term in clause]
        if all(atoms):
            return list(dict.fromkeys(next(fact for fact in one.any if fact in found) for one in atoms if one))
    return []


def _because(
    clauses: Clauses, edges: Iterable[Mapping[str, Any]], by_at: Mapping[str, Reference], subject: str, role: str | None
) -> list[str]:
    found = by_fact(edges)
    facts = winning(clauses, found)
    acting = [f"{subject} acts as {role}"] if role else []
    if not facts:
        return [*acting, f"{subject} is there, and everyone may"]
    return acting + [
        _say(fact, next(iter(sorted(filter(None, found[fact]))), subject), by_at, subject) for fact in facts
    ]


def _missing(
    clauses: Clauses, hats: Sequence[Mapping[str, Any]], by_at: Mapping[str, Reference], subject: Subject
) -> list[str]:
    """What the role that is nearest to yes lacks."""
    remedies = (remedy(clauses, by_fact(hat["found"]), by_at, subject) for hat in hats)
    return min(remedies, key=lambda each: each[0])[1]


def _say(fact: Fact, by: str, by_at: Mapping[str, Reference], subject: str) -> str:
    match fact.split(" "):
        case ["ALLOW" | "DENY" as effect, privilege, at]:
            return f"{by} has {effect} {privilege} on {by_at[at]}"
        case ["OWNS", at]:
            return f"{by} owns {by_at[at]}"
        case ["IS", at]:
            return f"{subject} is {by_at[at]} itself"
        case ["HOLDS", at]:
            return f"{subject} is in or holds {at.removeprefix('=') if at.startswith('=') else by_at[at]}"
        case ["ALLOW", privilege, type_, "below", at]:
            return f"{by} has ALLOW {privilege} on a {type_} below {by_at[at]}"
        case ["EVERY", privileges, types, "below", at]:
            names = " or ".join(privileges.split(","))
            return f"{subject} has {names} on every existing {types.replace(',', ', ')} below {by_at[at]}"
        case [_, at]:
            return f"{by_at[at]} is there"
    return fact


def remedy(clauses: Clauses, found: Found, by_at: Mapping[str, Reference], subject: Subject) -> tuple[float, list[str]]:
    """The cheapest set of changes that would turn no into yes, and its cost: revoke a DENY, grant a privilege, then
    the rest; nothing where no change of grants can."""
    options = [_mend(clause, found) for clause in clauses]
    if not options:
        return IMPOSSIBLE, ["nobody may: the policy gives this to no one"]
    cost, facts = min(options, key=lambda each: each[0])
    return cost, [_lack(fact, found, by_at, subject) for fact in facts]


def _mend(clause: Clause, found: Found) -> tuple[float, list[Fact]]:
    lacking = [term for term in clause if not any(holds(one, found) for one in term)]
    best: tuple[float, list[Fact]] = (IMPOSSIBLE * 2, [])
    for choice in islice(product(*lacking), MAX_COMBINATIONS):
        facts = list(dict.fromkeys(fact for one in choice for fact in _facts_to_change(one, found)))
        cost = sum(_cost(fact, found) for fact in facts)
        if cost < best[0]:
            best = (cost, facts)
    return best


def _facts_to_change(atom: Atom, found: Found) -> list[Fact]:
    denied = [fact for fact in atom.none if fact in found]
    return denied if any(fact in found for fact in atom.any) else [*denied, atom.any[0]]


def _cost(fact: Fact, found: Found) -> float:
    word = fact.split(" ", 1)[0]
    if word == "ALLOW":
        return 3
    return {"DENY": 2 * len(found.get(fact, [])), "HOLDS": 5, "EVERY": 6, "OWNS": 8}.get(word, IMPOSSIBLE)


def _lack(fact: Fact, found: Found, by_at: Mapping[str, Reference], subject: Subject) -> str:
    match fact.split(" "):
        case ["DENY", privilege, at]:
            where = by_at[at]
            denied = sorted(filter(None, found[fact]))
            todo = "; ".join(f"revoke deny {privilege} on {where} from {by}" for by in denied)
            return f"DENY {privilege} on {where} to {', '.join(denied)} wins: {todo}"
        case ["ALLOW", privilege, at]:
            return (
                f"{privilege} is not granted on {by_at[at]}{_or_above(at, by_at)}: "
                f"allow {privilege} on {by_at[at]} to {subject.grantee}"
            )
        case ["OWNS", at]:
            return f"{by_at[at]} is not owned by {subject.ref}: make {subject.ref} its owner"
        case ["HOLDS", at]:
            container = at.removeprefix("=") if at.startswith("=") else by_at[at].text
            return f"{subject.ref} is not in {container}: member {subject.ref} of {container}"
        case ["ALLOW", privilege, type_, "below", at]:
            return f"no {type_} below {by_at[at]} has {privilege} for {subject.ref}: allow it on one"
        case ["EVERY", privileges, types, "below", at]:
            return (
                f"{privileges.split(',')[0]} is not granted on every existing {types} below {by_at[at]}: allow it there"
            )
        case ["EXISTS", at]:
            return f"{by_at[at]} is not there, or came with the policy"
        case ["IS", at]:
            return f"only {by_at[at]} itself may"
    return fact


def _or_above(at: str, by_at: Mapping[str, Reference]) -> str:
    return " or above" if list(by_at).index(at) < len(by_at) - 1 else ""
