"""Turns a question into the parameters of the fixed queries; engine and Spark read the same clauses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from grantpath.engine.clauses import Clauses, as_parameters, facts_of
from grantpath.engine.policy import Policy, Question
from grantpath.graph.errors import Invalid
from grantpath.graph.reference import Reference


@dataclass(frozen=True)
class Places:
    """The entities a question is about: the object with what is above it, and second objects by key."""

    object: Reference
    by_at: Mapping[str, Reference]
    seconds: Mapping[str, Reference] = field(default_factory=dict)

    def parameters(self) -> list[dict[str, str]]:
        return [{"at": at, "ref": ref.text} for at, ref in self.by_at.items()]


@dataclass(frozen=True)
class Below:
    """A fact about what is below a place, taken apart."""

    fact: str
    at: str
    types: list[str]
    privileges: list[str]


def places(policy: Policy, root: Reference, object_: Reference, seconds: Mapping[str, Reference]) -> Places:
    """The places of a question, each under the name that facts call it by."""
    by_at = dict(policy.chain(object_, root))
    for key, second in seconds.items():
        prefix = "grantee." if key == "grantee" else f"with.{key}."
        by_at.update((at if ref == root else prefix + at, ref) for at, ref in policy.chain(second, root))
    return Places(object_, by_at, seconds)


def named_roles(clauses: Clauses) -> list[str]:
    """The roles that clauses name by their reference."""
    return [fact.removeprefix("HOLDS =") for fact in facts_of(clauses) if fact.startswith("HOLDS =")]


def below(clauses: Clauses) -> list[str]:
    """The places whose descendants' grants the clauses look at."""
    return sorted({fact.split(" below ")[1] for fact in facts_of(clauses) if _is_below(fact, "ALLOW")})


def every(clauses: Clauses) -> list[Below]:
    """The facts that ask for every descendant, taken apart."""
    found = []
    for fact in facts_of(clauses):
        if _is_below(fact, "EVERY"):
            _, privileges, types, _, at = fact.split(" ")
            found.append(Below(fact, at, types.split(","), privileges.split(",")))
    return found


def _is_below(fact: str, word: str) -> bool:
    return fact.startswith(word) and " below " in fact


def anybody(clauses: Clauses) -> bool:
    """Might somebody be allowed who has no fact of his own?"""
    own = ("EXISTS ", "BUILTIN ", "IS ", "EVERY ")
    return any(
        all(any(fact.startswith(own) for one in term for fact in one.any) for term in clause) for clause in clauses
    )


def check_parameters(
    subject: str,
    where: Places,
    clauses: Clauses,
    condition: int,
    one_role: bool,
    as_role: str | None,
    needed: list[str],
) -> dict[str, Any]:
    """One entry of `$checks`."""
    return {
        "subject": subject,
        "needed": needed,
        "places": where.parameters(),
        "condition": condition,
        "one_role": one_role,
        "as_role": as_role,
        "named": named_roles(clauses),
        "below": [{"at": at, "ref": where.by_at[at].text} for at in below(clauses)],
        "every": [
            {"fact": one.fact, "ref": where.by_at[one.at].text, "types": one.types, "privileges": one.privileges}
            for one in every(clauses)
        ],
    }


def who_parameters(policy: Policy, where: Places, question: Question) -> dict[str, Any]:
    """The parameters of who.cypher, but root, after and limit."""
    clauses = question.clauses
    one = check_parameters("", where, clauses, 0, question.one_role, None, [])
    return {
        "places": one["places"],
        "clauses": as_parameters(clauses),
        "facts": facts_of(clauses),
        "users": policy.user_types,
        "acting": policy.role_types if question.one_role else policy.user_types,
        "one_role": question.one_role,
        "named": one["named"],
        "below": one["below"],
        "every": one["every"],
        "everyone": anybody(clauses),
    }


def which_parameters(
    policy: Policy, root: Reference, subject: str, question: Question, seconds: Places, as_role: str | None
) -> dict[str, Any]:
    """The parameters of which.cypher, but root, after and limit. `seconds` are the places of the second objects."""
    clauses = question.clauses
    above = policy.names.chain(question.type)
    return {
        "top": root.text,
        "subject": subject,
        "type": question.type,
        "clauses": as_parameters(clauses),
        "facts": facts_of(clauses),
        "above": list(above),
        "seconds": [{"at": at, "ref": ref.text} for at, ref in seconds.by_at.items() if at.startswith("with.")],
        "one_role": question.one_role,
        "as_role": as_role,
        "named": named_roles(clauses),
        "below": bool(below(clauses)),
        "every": [
            {"fact": one.fact, "at": one.at, "types": one.types, "privileges": one.privileges} for one in every(clauses)
        ],
    }


def check_seconds(question: Question, seconds: Mapping[str, Reference]) -> None:
    """Raises Invalid where a second object has another type than the operation's."""
    for key, ref in seconds.items():
        wanted = question.with_[key].type
        if ref.type != wanted:
            raise Invalid(f"{question.name}: {key}={ref} is a {ref.type}, not a {wanted}: write {key}={wanted}:NAME")
