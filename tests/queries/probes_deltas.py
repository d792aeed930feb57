"""Probes of the query that lists the facts that a change adds and removes."""

from collections.abc import Iterator

from grantpath.engine import Authorizer

from ..conftest import Tenants
from ..support.random_world import ROOT_NAME
from .probe import Probe, always

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
    """Dry runs of each kind, next to a tenant with the same names and other edges."""
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
