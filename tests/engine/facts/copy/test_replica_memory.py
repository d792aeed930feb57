"""A copy that would exceed its memory limit is not kept: one line of the log reports it, and Cypher answers."""

import tracemalloc
from pathlib import Path

import pytest

from grantpath.engine import Authorizer, InvalidInput
from grantpath.engine.facts.copy.replica import Replica
from grantpath.engine.facts.set import copy_size
from grantpath.engine.facts.set.fact_builder import FactVersionBuilder
from grantpath.engine.facts.set.fact_draft import advanced
from grantpath.engine.facts.set.fact_version import OWNS, FactOrigin, FactVersion
from grantpath.engine.policy import policy as policies
from grantpath.engine.policy.policy import Policy
from grantpath.graph.client.connection import Connection
from grantpath.spark_sync.mirroring.mirror import mirror_tenant

from ....conftest import Tenants
from ....support.with_replica import replica_of

FACTS = ["add catalog:hr", "add user:bob", "add role:analyst", "allow USE_CATALOG on catalog:hr to role:analyst"]
JOIN = "member user:bob of role:analyst"
ASKED = "user:bob", "USE_CATALOG", "catalog:hr"
SOME = 2_000  # bytes: more than the facts above take, and less than those that a test adds


def limited(auth: Authorizer, limit: int, monkeypatch: pytest.MonkeyPatch, snapshot: Path | None = None) -> Authorizer:
    """The same root with a copy that may take so many bytes."""
    monkeypatch.setattr("grantpath.engine.facts.copy.replica.MIB", 1)
    other = Authorizer(auth.store, auth.tenant, auth.policy, auth.root)
    other.replica = Replica.of(auth.store, auth.tenant, auth.root, auth.policy, snapshot, limit)
    return other


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.name == "grantpath.replica"]


def test_root_that_is_too_large_is_left_to_cypher(
    tenant: Tenants, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    auth = limited(tenant("gravitino", [*FACTS, JOIN]), 500, monkeypatch)
    for _ in range(3):
        assert auth.check(*ASKED)
    copy = replica_of(auth)
    assert (copy.revision, copy.answered, copy.left) == (None, 0, 3)
    [line] = warnings(caplog)
    assert "the database answers: the facts take more than replica_memory=" in line
    assert "\n" not in line


def test_copy_that_grows_too_large_is_given_up(
    tenant: Tenants, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    auth = limited(tenant("gravitino", FACTS), SOME, monkeypatch)
    assert not auth.check(*ASKED)
    assert replica_of(auth).answered == 1
    assert not any(auth.given([JOIN, *(f"add user:u{number}" for number in range(10))]))
    for _ in range(3):
        assert auth.check(*ASKED)
    assert (replica_of(auth).revision, replica_of(auth).left) == (None, 3)
    assert len(warnings(caplog)) == 1


def test_snapshot_that_is_too_large_is_not_kept(
    tenant: Tenants,
    server: Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = tenant("gravitino", [*FACTS, JOIN])
    mirror_tenant(server, made.tenant, tmp_path / "out", print)
    auth = limited(made, 500, monkeypatch, tmp_path / "out")
    assert auth.check(*ASKED)
    assert replica_of(auth).answered == 0
    assert len(warnings(caplog)) == 1


def test_size_follows_the_facts(tenant: Tenants, monkeypatch: pytest.MonkeyPatch) -> None:
    version = replica_of(limited(tenant("gravitino", FACTS), SOME, monkeypatch))._version
    assert version is not None
    more = advanced(version, [{"removed": [], "added": [JOIN]}], version.revision + 1)
    less = advanced(more, [{"removed": [JOIN, FACTS[3]], "added": []}], version.revision + 2)
    assert more.size == version.size + copy_size.MEMBERSHIP
    assert less.size == version.size - copy_size.GRANT


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "1"])
def test_bad_limit_is_refused(limit: object) -> None:
    with pytest.raises(InvalidInput, match="replica_memory="):
        Authorizer.open("metalake:ml", replica=True, replica_memory=limit)  # type: ignore[arg-type]


def built(policy: Policy, users: int, tables: int, several: int) -> FactVersion:
    """A root of users, each in three roles, and tables, each with `several` grants and an owner."""
    builder = FactVersionBuilder(policy)
    number, roles = builder.number, users // 10
    for name, count in (("role", roles), ("user", users), ("table", tables)):
        for at in range(count):
            builder.entity(number(f"{name}:{'a.b.' if name == 'table' else ''}with-a-name-{at}"))
    for at in range(users):
        held = [number(f"role:with-a-name-{(at + more) % roles}") for more in (0, 7, 19)]
        builder.member(number(f"user:with-a-name-{at}"), held)
    for at in range(tables):
        for more in range(several):
            privilege = ("SELECT_TABLE", "MODIFY_TABLE")[more % 2]
            role = number(f"role:with-a-name-{(at + more) % roles}")
            builder.grant(role, f"ALLOW {privilege}", number(f"table:a.b.with-a-name-{at}"))
        builder.grant(number(f"user:with-a-name-{at % users}"), OWNS, number(f"table:a.b.with-a-name-{at}"))
    return builder.version(FactOrigin("made", "chain", policy.digest), 1)


@pytest.mark.parametrize(("users", "tables", "several"), [(2_000, 200, 2), (200, 2_000, 1), (500, 1_000, 6)])
def test_estimate_is_near_what_was_allocated(users: int, tables: int, several: int) -> None:
    policy = policies.load("gravitino")
    tracemalloc.start()
    try:
        version = built(policy, users, tables, several)
        allocated, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0.7 < version.size / allocated < 1.4
