"""Probes of the queries that find, record and read the facts that changes add and remove."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from grantpath import cypher
from grantpath.engine import Authorizer
from grantpath.engine.change import delta_records
from grantpath.engine.change.delta_records import RecordedDelta, recorded

from ..conftest import Tenants
from ..support.random_world import ROOT_NAME
from .probe import Probe

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


CREATING = [
    "allow ADMIN on instance:main to user:ka",
    "allow ADMIN on namespace:kn to user:ka",
    "allow READ on namespace:kn to user:kb",
]
LISTS = ["add user:xa", "member user:xa of role:service_admin", "drop user:xa", "add user:xa"]


def probes(scratch: Tenants) -> Iterator[Probe]:
    """Deltas of changes of each kind, next to a tenant with the same names and other edges. What the unchanged queries
    find is right: tests/engine/change/test_recorded_deltas.py compares it with the graph."""
    for files, look in (
        ("log_deltas delta_part", _recorded),
        ("log", _found),
        ("replica_proof", _proved),
    ):
        yield Probe(f"deltas: {look.__name__}", files, partial(look, scratch), partial(look, scratch))


@contextmanager
def _small_parts() -> Iterator[None]:
    """Few facts already are many."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("SHORT", 3), ("PART", 2), ("PAGE", 3)):
            patch.setattr(delta_records, name, value)
        yield


def _pair(scratch: Tenants) -> tuple[Authorizer, Authorizer]:
    """A tenant in which things were dropped, and another one with the same names and other deltas."""
    neighbour = scratch("lakehouse", [*FACTS[:6], "add user:xw", "owner user:xv of catalog:xa", *FACTS[6:8]], ROOT_NAME)
    auth = scratch("lakehouse", FACTS, ROOT_NAME)
    neighbour.given(["owner user:xu of schema:xa.s", "allow USE_SCHEMA on schema:xa.s to role:xr", "add user:xz"])
    neighbour.given(["add user:xy", "drop catalog:xa"])
    return auth, neighbour


def _recorded(scratch: Tenants) -> list[list[RecordedDelta]]:
    with _small_parts():
        auth, neighbour = _pair(scratch)
        auth.given([*_WORDS, f"drop metalake:{ROOT_NAME}"])
        names = scratch("cdap", CREATING, ROOT_NAME)
        names.change("add namespace:kn", by="user:ka")
        names.given([*NAMES, "drop namespace:xn"])
        lists = scratch("lakehouse", LISTS, ROOT_NAME)
        return [list(recorded(each.ask, 0, each.root)) for each in (auth, neighbour, names, lists)]


def _found(scratch: Tenants) -> list[list[str]]:
    """What the log finds by a reference that only goes along, beside the entry and on it."""
    found = []
    for small in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(delta_records, "SHORT", 3 if small else 1_000)
            auth, _ = _pair(scratch)
            auth.given(["drop catalog:xa", "add user:xy"])
        for ref in ("schema:xa.s", "user:xv", "role:xr", "user:xz"):
            found += [
                [each.statement for each in auth.log(object=ref)],
                [each.statement for each in auth.log(subject=ref)],
            ]
    return found


def _proved(scratch: Tenants) -> list[object]:
    """Proofs of copies at several revisions; entries of an upgrade, of a pruning and without facts; unequal marks."""
    with _small_parts():
        auth, neighbour = _pair(scratch)
        auth.given(_WORDS)
    mark, change = "MATCH (mark:Revision {root: $root})", "MATCH (change:Change {root: $root, revision: 14})"
    states = [
        "RETURN 1",
        f"{change} SET change.policy_after = 'p', change.pruned_revision = 3, change.facts = null",
        f"{mark} SET mark.begun = mark.revision + 1, mark.chain = 'kept', mark.digest = 'd'",
        f"{mark} SET mark.made = null",
    ]
    found: list[object] = []
    for text in states:
        auth.store.execute(text, {"root": auth.tenant})
        made = auth.store.execute(f"{mark} RETURN mark.made AS made", {"root": auth.tenant})[0]["made"]
        for each, after, limit in ((auth, 0, 100), (auth, 11, 2), (neighbour, 12, 100)):
            proof = cypher.load("replica_proof")
            [row] = proof.run(each.store.read, root=each.tenant, after=after, limit=limit)
            found.append({**row, "made": row["made"] == (made or "")})
    return found


_WORDS = [
    "drop catalog:xa",
    "drop group:xg",
    "owner user:xv of catalog:xa",
    "add user:xw",
    "remove user:xu from group:xg",
    "deny USE_CATALOG on catalog:xa to role:xr",
]
