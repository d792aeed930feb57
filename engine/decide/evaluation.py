"""A question as it was put, and what a check found for it: what words, remedies and paths are read off."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from grantpath.engine.policy.clauses import Atom, Clauses, Fact
from grantpath.engine.policy.policy import Policy
from grantpath.graph.reference import Reference

Found = Mapping[Fact, Sequence[str | None]]


@dataclass(frozen=True, eq=False)
class Case:
    """Who asks what of which places, under which policy. `one_role`: each held role is judged alone."""

    policy: Policy
    root: Reference
    subject: Reference
    clauses: Clauses
    by_at: Mapping[str, Reference]
    one_role: bool
    as_role: str | None
    near: Callable[[], str] = field(default=str)  # ` (did you mean X?)` for a subject that is not there, or nothing


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What the graph holds around a question that was answered no, read for its remedy.

    `held` are the types' own that may hold grants among what the subject is in or holds, the nearest first; `there`
    which of the named entities exist; `circles` the pairs (member, container) that would close a circle; `inside` by
    fact about descendants those that lack it; `found` what the roles have that the subject would act through.
    """

    held: Sequence[str]
    there: frozenset[str]
    circles: frozenset[tuple[str, str]]
    inside: Mapping[Fact, Sequence[str]]
    found: Found = field(default_factory=dict)
    reached: frozenset[str] = frozenset()


def by_fact(found: Iterable[Mapping[str, str | None]]) -> dict[Fact, list[str | None]]:
    """By fact, who has it."""
    facts: dict[Fact, list[str | None]] = {}
    for each in found:
        fact = each["fact"]
        assert fact is not None
        facts.setdefault(fact, []).append(each["by"])
    return facts


def holds(atom: Atom, found: Found) -> bool:
    """Is the atom true? The same rule as in the queries, for telling why, never for deciding."""
    return any(fact in found for fact in atom.any) and not any(fact in found for fact in atom.none)


def winning(clauses: Clauses, found: Found) -> list[Fact]:
    """The facts of the first clause that holds, one a term; a grant that is denied itself only for want of another."""
    for clause in clauses:
        atoms = [next((one for one in term if holds(one, found)), None) for term in clause]
        if all(atoms):
            return list(dict.fromkeys(_reason(one, found) for one in atoms if one))
    return []


def _reason(atom: Atom, found: Found) -> Fact:
    facts = [fact for fact in atom.any if fact in found]
    return next((fact for fact in facts if _own_denial(fact, atom, found) is None), facts[0])


def own_denial(fact: Fact, clauses: Clauses, found: Found) -> Fact | None:
    """The DENY of the very privilege of an ALLOW that was found, on a place from which both reach.

    Such an ALLOW still counts for what its privilege implies, and that must be said where it is named as a reason.
    """
    atoms = {one for clause in clauses for term in clause for one in term if fact in one.any and holds(one, found)}
    return next(filter(None, (_own_denial(fact, one, found) for one in sorted(atoms))), None)


def _own_denial(fact: Fact, atom: Atom, found: Found) -> Fact | None:
    if not fact.startswith("ALLOW ") or " below " in fact:
        return None
    same = fact.rpartition(" ")[0] + " "
    denials = (one.replace("ALLOW", "DENY", 1) for one in atom.any if one.startswith(same) and " below " not in one)
    return next((one for one in denials if one in found), None)
