"""How much a change hands out: the measure by which the nearest remedy is the one that gives the least."""

from functools import lru_cache

from grantpath.engine.decide.evaluation import Evaluation
from grantpath.engine.policy.clauses import facts_of
from grantpath.engine.policy.facts import FactKind, place_prefix, place_type
from grantpath.engine.policy.policy import Policy

# One statement more or less counts as much as one plain grant. Administrative grants cost more than
# any number of plain grants that one condition asks for.
REVOKE = 50
STATEMENT = 100
ABOVE = 30  # for each step that a place stands above the object
FURTHER = 150  # for each place further down where the same grant would do
OTHER = 60  # for each fact that the condition names before
MEMBERSHIP = 300  # a role or group brings along whatever it has
ADMINISTRATION = 3_000
BUILT_IN = 6_000
OWNERSHIP = 10_000
OWNERSHIP_ABOVE = 1_000  # for each step up

ADMINISTRATIVE_CHANGES = ("grant", "revoke", "member", "remove", "owner")


@lru_cache(maxsize=32)
def administrative(policy: Policy) -> frozenset[tuple[str, str]]:
    """The privileges, each with the type it is granted on, that alone let one change who may what."""
    found = set()
    for kind in ADMINISTRATIVE_CHANGES:
        for type_ in policy.file.types:
            for grantee in policy.names.grantees(kind, type_):
                clauses = policy.change(kind, type_, grantee, frozenset())
                for fact in facts_of(tuple(clause for clause in clauses if len(clause) == 1)):
                    if fact.kind is FactKind.ALLOW:
                        found.add((fact.privileges[0], place_type(fact.place)))
    return frozenset(found)


def of_grant(evaluation: Evaluation, privilege: str, at: str) -> int:
    """What a grant on a place costs."""
    brought = sum(privilege in sources for sources in evaluation.policy.names.sources.values())
    cost = STATEMENT + ABOVE * _height(evaluation, at) + brought
    return cost + ADMINISTRATION * ((privilege, place_type(at)) in administrative(evaluation.policy))


def of_ownership(evaluation: Evaluation, at: str) -> int:
    """What owning a place costs."""
    return OWNERSHIP + OWNERSHIP_ABOVE * _height(evaluation, at)


def of_membership(evaluation: Evaluation, container: str) -> int:
    """What joining a group, or holding a role, costs."""
    builtin = evaluation.policy.builtins.get(container)
    if builtin is None:
        return MEMBERSHIP
    return STATEMENT if builtin.held_by_every else BUILT_IN


def _height(evaluation: Evaluation, at: str) -> int:
    """How many steps a place stands above the object, or the second object, on whose way up it is."""
    prefix = place_prefix(at)
    return [place for place in evaluation.by_at if place_prefix(place) == prefix].index(at)
