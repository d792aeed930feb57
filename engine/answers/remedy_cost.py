"""The cost of a change. It grows with the access that the change gives, so that the nearest remedy gives the least."""

from functools import lru_cache

from grantpath.engine.answers.evaluation import Evaluation
from grantpath.engine.policy.clauses import facts_of
from grantpath.engine.policy.facts import FactKind, place_prefix, place_type
from grantpath.engine.policy.policy import Policy

# One statement costs as much as one plain grant. Administrative grants cost more than all plain grants that one
# condition can require.
REVOKE = 50
STATEMENT = 100
ABOVE = 30  # for each level that a place is above the object
FURTHER = 150  # for each lower place on which the same grant would suffice
OTHER = 60  # for each alternative that the condition names earlier, up to four
MEMBERSHIP = 300  # membership gives everything that the role or group has
ADMINISTRATION = 3_000
BUILT_IN = 6_000
OWNERSHIP = 10_000
OWNERSHIP_ABOVE = 1_000  # for each level that the owned place is above the object

ADMINISTRATIVE_CHANGES = ("grant", "revoke", "member", "remove", "owner")


@lru_cache(maxsize=32)
def administrative(policy: Policy) -> frozenset[tuple[str, str]]:
    """The privileges (with the type that they are granted on) that alone allow administrative changes."""
    found = set()
    for kind in ADMINISTRATIVE_CHANGES:
        for type_ in policy.file.types:
            for grantee in policy.names.grantees(kind, type_):
                for lengths in policy.names.examples(type_):
                    clauses = policy.change(kind, type_, grantee, frozenset(), lengths=lengths)
                    for fact in facts_of(tuple(clause for clause in clauses if len(clause) == 1)):
                        if fact.kind is FactKind.ALLOW:
                            found.add((fact.privileges[0], place_type(fact.place)))
    return frozenset(found)


def of_grant(evaluation: Evaluation, privilege: str, at: str) -> int:
    """The cost of a grant on a place."""
    brought = sum(privilege in sources for sources in evaluation.policy.names.sources.values())
    cost = STATEMENT + ABOVE * _height(evaluation, at) + brought
    return cost + ADMINISTRATION * ((privilege, place_type(at)) in administrative(evaluation.policy))


def of_ownership(evaluation: Evaluation, at: str) -> int:
    """The cost of ownership of a place."""
    return OWNERSHIP + OWNERSHIP_ABOVE * _height(evaluation, at)


def of_membership(evaluation: Evaluation, container: str) -> int:
    """The cost of membership in a group or role."""
    builtin = evaluation.policy.builtins.get(container)
    if builtin is None:
        return MEMBERSHIP
    return STATEMENT if builtin.held_by_every else BUILT_IN


def _height(evaluation: Evaluation, at: str) -> int:
    """The number of levels that a place is above its object or second object."""
    prefix = place_prefix(at)
    return [place for place in evaluation.by_at if place_prefix(place) == prefix].index(at)
