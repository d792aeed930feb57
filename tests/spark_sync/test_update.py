"""A snapshot that is updated by the log's deltas has the tables of a new mirror, and readers keep what they opened."""

import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from grantpath.engine import Authorizer, GrantpathError
from grantpath.engine.change import delta_records
from grantpath.engine.facts.snapshot.snapshot_questions import ask
from grantpath.engine.facts.snapshot.snapshot_reader import SnapshotReader
from grantpath.engine.transfer.policy_upgrade import upgrade
from grantpath.graph.client.connection import Connection
from grantpath.graph.errors import InvalidInput
from grantpath.spark_sync.following.snapshot_update import update
from grantpath.spark_sync.mirroring.mirror import mirror_tenant
from grantpath.spark_sync.versions import snapshot_versions
from grantpath.spark_sync.versions.snapshot_folders import alone_with

from ..conftest import Tenants
from ..engine.change.test_recorded_deltas import variant
from ..engine.tenants.test_policy_upgrades import reopened
from ..engine.tenants.test_recreated_tenants import make_again
from ..oracle import oracle
from ..support.random_world import ROOT_NAME, random_statements, random_world
from ..support.sizes import size
from ..support.table_sums import table_sums
from ..support.tiers import others_slow
from ..support.twin import POLICIES

pytestmark = pytest.mark.trust
ROUNDS = size(full=60, short=6)
CHANGES = 30  # in each round
Sums = Callable[[Authorizer], dict[str, str]]


@pytest.fixture
def sums(server: Connection, tmp_path: Path) -> Sums:
    """The tables of a new mirror."""

    def of(auth: Authorizer) -> dict[str, str]:
        mirror_tenant(server, auth.tenant, tmp_path / "plain", lambda _: None)
        found = table_sums(tmp_path / "plain")
        shutil.rmtree(tmp_path / "plain")
        return found

    return of


@pytest.mark.usefixtures("large_renames")
@pytest.mark.parametrize("policy", others_slow(POLICIES))
def test_update_writes_the_tables_of_a_new_mirror(
    server: Connection, tenant: Tenants, sums: Sums, policy: str, tmp_path: Path
) -> None:
    rng, world = random.Random(f"update {policy}"), oracle(policy, ROOT_NAME)
    facts = random_world(policy, rng, 100)
    auth = tenant(policy, facts, root=ROOT_NAME)
    for fact in facts:
        world.given(fact)
    out = tmp_path / "out"
    mirror_tenant(server, auth.tenant, out, lambda _: None)
    moved = 0
    for _ in range(ROUNDS):
        before = auth.revision_now()
        for statement, by, as_role in random_statements(policy, world, rng, CHANGES):
            with suppress(GrantpathError):
                auth.change(statement, by=by, as_role=as_role)
        auth.given(random_world(policy, rng, 10))
        done = update(server, auth.tenant, out, print)
        assert done.rebuilt is None
        assert (done.before, done.meta.revision) == (before, auth.revision_now())
        assert table_sums(out) == sums(auth), done
        moved += done.meta.revision - before
    assert moved > ROUNDS * 5


@pytest.fixture
def small(server: Connection, tenant: Tenants, tmp_path: Path) -> Authorizer:
    """A root that is mirrored to `out`."""
    grants = ("member user:a of role:r", "allow USE_CATALOG on metalake:ml to role:r")
    auth = tenant("gravitino", ["add user:a", "add role:r", "add catalog:c", *grants])
    mirror_tenant(server, auth.tenant, tmp_path / "out", print)
    return auth


def test_update_without_changes_writes_nothing(server: Connection, small: Authorizer, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    assert update(server, small.tenant, tmp_path / "out", print).rebuilt is None
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")} == before


@pytest.mark.usefixtures("large_renames")
def test_tags_and_renames_are_followed_from_the_facts_of_the_snapshot(
    server: Connection, tenant: Tenants, sums: Sums, tmp_path: Path
) -> None:
    tagged = ("add catalog:c", "add schema:c.s", "add table:c.s.t", "add tag:pii", "tag table:c.s.t with tag:pii")
    auth = tenant("lakehouse", [*tagged, "add user:a", "allow SELECT_TABLE on tag:pii to user:a"])
    out = tmp_path / "out"
    mirror_tenant(server, auth.tenant, out, lambda _: None)
    auth.change("allow SELECT_TABLE on schema:c.s to user:a")
    assert update(server, auth.tenant, out, print).rebuilt is None
    assert table_sums(out) == sums(auth)
    auth.change("untag table:c.s.t from tag:pii")
    auth.change("rename schema:c.s to open")
    auth.change("add schema:c.s")
    assert update(server, auth.tenant, out, print).rebuilt is None
    assert table_sums(out) == sums(auth)
    for line in ("add policy:pii", "tag table:c.open.t with policy:pii", "allow APPLY_TAG on tag:pii to user:a"):
        auth.change(line)  # nothing follows from these
    assert update(server, auth.tenant, out, print).rebuilt is None
    assert table_sums(out) == sums(auth)


def inode(out: Path, table: str) -> int:
    return Path(str(SnapshotReader(out).files(table)[0])).stat().st_ino


def test_unchanged_tables_are_the_same_files(server: Connection, small: Authorizer, tmp_path: Path) -> None:
    out = tmp_path / "out"
    files = {name: inode(out, name) for name in ("objects", "intervals", "closure")}
    small.change("allow USE_CATALOG on catalog:c to role:r")
    update(server, small.tenant, out, print)
    after = {name: inode(out, name) for name in files}
    assert {name for name in files if files[name] == after[name]} == {"objects", "closure"}


def test_reader_keeps_the_version_that_it_opened(
    server: Connection, small: Authorizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    small.change("add user:b")
    update(server, small.tenant, out, print)
    held = SnapshotReader(out)
    small.change("drop user:b")
    update(server, small.tenant, out, print)
    assert "user:b" in held.numbering.refs and "user:b" not in SnapshotReader(out).numbering.refs
    assert ask(out, "which catalog can user:a USE_CATALOG").revision == small.revision_now()
    monkeypatch.setattr(snapshot_versions, "KEEP_SECONDS", -1)
    small.change("add user:b")
    update(server, small.tenant, out, print)
    assert len([*(out / "versions").iterdir()]) == 2, "the current one and the one before"


def test_reader_of_the_first_version_does_not_mix_it_with_the_next(
    server: Connection, small: Authorizer, tmp_path: Path
) -> None:
    held = SnapshotReader(tmp_path / "out")
    assert "user:a" in held.numbering.refs
    small.change("add user:b")
    update(server, small.tenant, tmp_path / "out", print)
    with pytest.raises(InvalidInput, match="was updated while it was read; run the command again"):
        held.table("members")


def test_changes_that_the_log_does_not_describe_are_read_from_the_graph(
    server: Connection, small: Authorizer, sums: Sums, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, lines = tmp_path / "out", list[str]()
    with monkeypatch.context() as patch:
        patch.setattr(delta_records, "BULK", 0)
        small.change("add user:in_bulk")
    small.change("add user:later")
    done = update(server, small.tenant, out, lines.append)
    assert done.rebuilt == f"the log does not describe what changed up to revision {done.meta.revision - 1}"
    assert any(line.endswith("; reading the whole graph") for line in lines)
    assert table_sums(out) == sums(small)
    upgrade(small, variant("gravitino", tmp_path))
    again = reopened(small)
    assert update(server, small.tenant, out, print).rebuilt == "the policy was upgraded"
    assert SnapshotReader(out).meta.policy_digest == again.policy.digest and table_sums(out) == sums(again)


HOLDS = """
MATCH (user:Entity {root: $root, ref: 'user:a'}), (role:Entity {root: $root, ref: 'role:s'})
CREATE (user)-[:HAS_ROLE]->(role)
"""


def test_removal_of_a_fact_that_the_snapshot_does_not_have_is_noticed(
    server: Connection, small: Authorizer, sums: Sums, tmp_path: Path
) -> None:
    """A membership was added past the log, so the log only has its removal."""
    out, lines = tmp_path / "out", list[str]()
    small.change("add role:s")
    assert update(server, small.tenant, out, print).rebuilt is None
    small.store.execute(HOLDS, {"root": small.tenant})
    small.change("remove user:a from role:s")
    done = update(server, small.tenant, out, lines.append)
    assert done.rebuilt == "the log contradicts the snapshot (user:a to role:s: removed, but it was not there)"
    assert f"{done.rebuilt}; reading the whole graph" in lines
    assert table_sums(out) == sums(small)


def test_snapshot_of_a_root_that_was_created_again_is_rebuilt(
    server: Connection, small: Authorizer, sums: Sums, tmp_path: Path
) -> None:
    make_again(small, ["u", "v", "w"])
    assert update(server, small.tenant, tmp_path / "out", print).rebuilt == "the root was created again"
    assert table_sums(tmp_path / "out") == sums(small)


def test_snapshot_of_another_root_is_not_updated(
    server: Connection, small: Authorizer, tenant: Tenants, tmp_path: Path
) -> None:
    other = tenant("gravitino", ["add user:x"], root="other")
    with pytest.raises(InvalidInput, match=r"is a snapshot of .*, not of metalake:other.*; name the snapshot of this"):
        update(server, other.tenant, tmp_path / "out", print)
    with alone_with(tmp_path / "out"), pytest.raises(InvalidInput, match="is being written by another process"):
        update(server, small.tenant, tmp_path / "out", print)
