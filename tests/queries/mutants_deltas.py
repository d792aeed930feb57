"""The query that says what a change adds and removes, broken."""

from collections.abc import Iterator

from grantpath.engine import Authorizer

from ..conftest import Tenants
from ..support.random_world import ROOT_NAME
from .mutants import Mutant, Probe, always

_EDGES = "[edge:MEMBER_OF|HAS_ROLE|OWNS|ALLOW|DENY]"
DELTAS = [
    Mutant("nothing inside", "affected_facts", "-[:CHILD_OF*0..]->", "-[:CHILD_OF*0..0]->"),
    Mutant(
        "another tenant's tree",
        "affected_facts",
        "->(:Entity {root: $root, ref: scope.object})",
        "->(:Entity {ref: scope.object})",
    ),
    Mutant(
        "another tenant's entity",
        "affected_facts",
        "(inner:Entity {root: $root, ref: scope.object})",
        "(inner:Entity {ref: scope.object})",
    ),
    Mutant(
        "every tenant",
        "affected_facts",
        "(inner:Entity {root: $root}) WHERE inner.ref >= ''",
        "(inner:Entity) WHERE inner.ref >= ''",
    ),
    Mutant("names are entities", "affected_facts", "WITH inner WHERE coalesce(inner.exists, true)", "WITH inner"),
    Mutant(
        "no edges out",
        "affected_facts",
        f"MATCH (inner)-{_EDGES}->(end)",
        "MATCH (inner)-[edge:CHILD_OF]->(end) WHERE false",
    ),
    Mutant(
        "no edges in",
        "affected_facts",
        f"MATCH (start)-{_EDGES}->(inner)",
        "MATCH (start)-[edge:CHILD_OF]->(inner) WHERE false",
    ),
    Mutant("no whole tenant", "affected_facts", "scope.kind = 'all'", "scope.kind = 'none'"),
    Mutant("no single edge", "affected_facts", "scope.kind = 'edge'", "scope.kind = 'none'"),
    Mutant("no owner", "affected_facts", "scope.kind = 'owner'", "scope.kind = 'none'"),
    Mutant("no entity", "affected_facts", "scope.kind = 'entity'", "scope.kind = 'none'"),
    Mutant(
        "another tenant's owner",
        "affected_facts",
        "(owned:Entity {root: $root, ref: scope.object})",
        "(owned:Entity {ref: scope.object})",
    ),
    Mutant("one scope", "affected_facts", "scope.at AS at", "0 AS at"),
]
FACTS = [
    "add catalog:xa",
    "add schema:xa.s",
    "add user:xu",
    "add user:xv",
    "add group:xg",
    "add role:xr",
    "member user:xu of group:xg",
    "member group:xg of role:xr",
    "owner user:xu of catalog:xa",
    "owner user:xv of schema:xa.s",
    "allow USE_CATALOG on catalog:xa to role:xr",
    "deny USE_SCHEMA on schema:xa.s to user:xv",
]
NAMES = ["add user:xu", "add namespace:xn", "allow READ on dataset:xn.d to user:xu"]


def probes(scratch: Tenants) -> Iterator[Probe]:
    """Dry runs of each kind, beside a tenant with the same names and other edges."""
    yield Probe("dry runs", "affected_facts", lambda: _rehearsed(scratch), always(_WANTED))


def _rehearsed(scratch: Tenants) -> object:
    scratch("lakehouse", [*FACTS[:6], "add user:xw", "owner user:xv of catalog:xa"], ROOT_NAME)
    auth = scratch("lakehouse", FACTS, ROOT_NAME)
    names = scratch("cdap", NAMES, ROOT_NAME)
    return [
        *(_lists(auth, each) for each in _WORDS),
        _lists(names, "drop namespace:xn"),
        len(auth.change(f"drop metalake:{ROOT_NAME}", dry_run=True).removed) - len(auth.policy.builtins),
    ]


def _lists(auth: Authorizer, *statements: str) -> object:
    made = auth.change_all([*statements, "add user:xz"], dry_run=True)
    return [(sorted(each.added), sorted(each.removed)) for each in made[:-1]]


_WORDS = [
    "drop catalog:xa",
    "drop group:xg",
    "owner user:xv of catalog:xa",
    "add user:xw",
    "remove user:xu from group:xg",
    "deny USE_CATALOG on catalog:xa to role:xr",
]
_INSIDE = ["add schema:xa.s", "deny USE_SCHEMA on schema:xa.s to user:xv", "owner user:xv of schema:xa.s"]
_TREE = ["add catalog:xa", "allow USE_CATALOG on catalog:xa to role:xr", "owner user:xu of catalog:xa", *_INSIDE]
_WANTED = [
    [([], sorted(_TREE))],
    [([], ["add group:xg", "member group:xg of role:xr", "member user:xu of group:xg"])],
    [(["owner user:xv of catalog:xa"], ["owner user:xu of catalog:xa"])],
    [(["add user:xw"], [])],
    [([], ["member user:xu of group:xg"])],
    [(["deny USE_CATALOG on catalog:xa to role:xr"], [])],
    [([], ["add namespace:xn", "allow READ on dataset:xn.d to user:xu"])],
    len(FACTS) + 1,
]
