"""A copy that starts from a snapshot is the present state; a folder that is not a snapshot of the root is not used."""

import copy
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from grantpath.engine import Authorizer
from grantpath.engine.facts.copy import replica
from grantpath.engine.facts.copy.replica import Replica
from grantpath.engine.tenants import registry
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.store import Store
from grantpath.spark_sync.mirroring.mirror import mirror_tenant

from ....conftest import Tenants
from ....support.with_replica import content, with_replica

FACTS = [
    "add catalog:hr",
    "add schema:hr.public",
    "add user:bob",
    "add role:analyst",
    "allow USE_CATALOG on catalog:hr to role:analyst",
    "allow USE_SCHEMA on schema:hr.public to role:analyst",
    "member user:bob of role:analyst",
    "owner user:bob of schema:hr.public",
]
SINCE = [
    "drop schema:hr.public",
    "add user:cas",
    "member user:cas of role:analyst",
    "remove user:bob from role:analyst",
]
ASKED = "user:bob", "USE_CATALOG", "catalog:hr"


def started(auth: Authorizer, snapshot: Path) -> Authorizer:
    """The same root with a copy that starts from the snapshot."""
    other = copy.copy(auth)
    other.replica = Replica.of(auth.store, auth.tenant, auth.root, auth.policy, snapshot)
    return other


def test_copy_from_a_snapshot_is_one_of_the_graph(
    tenant: Tenants, server: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth = tenant("lakehouse", FACTS)
    mirror_tenant(server, auth.tenant, tmp_path / "out", print)
    assert not any(auth.given(SINCE))
    fresh = with_replica(auth)
    monkeypatch.setattr(replica, "read_facts", lambda *_: pytest.fail("the graph was read"))
    copied = started(auth, tmp_path / "out")
    assert content(copied) == content(fresh)
    assert not copied.check(*ASKED)


def test_root_is_opened_with_a_copy_from_a_snapshot(server: Connection, store: Store, tmp_path: Path) -> None:
    name = "metalake:opened-with-a-snapshot"
    try:
        with Authorizer.open(name, "gravitino", server.uri, create=True) as auth:
            assert not any(auth.given(FACTS[:5]))
            mirror_tenant(server, name, tmp_path / "out", print)
        with Authorizer.open(name, uri=server.uri, replica=str(tmp_path / "out")) as opened:
            assert not opened.check(*ASKED)
            assert opened.replica is not None and opened.replica.answered == 1
    finally:
        registry.remove(store, name)


def edited(**values: object) -> Callable[[Path, Authorizer], None]:
    """Changes the metadata of a snapshot."""

    def edit(folder: Path, _: Authorizer) -> None:
        meta = json.loads((folder / "meta.json").read_text())
        (folder / "meta.json").write_text(json.dumps({**meta, **values}))

    return edit


def created_again(_: Path, auth: Authorizer) -> None:
    registry.remove(auth.store, auth.tenant)
    registry.create(auth.store, auth.tenant, auth.policy, auth.root)
    assert not any(auth.given(FACTS))


BAD: dict[str, tuple[Callable[[Path, Authorizer], None], str]] = {
    "another-root": (edited(root="metalake:other"), "is a snapshot of metalake:other, not of"),
    "another-policy": (edited(policy_digest="x"), "is a snapshot with another policy (lakehouse)"),
    "an-earlier-format": (edited(schema_version=1), "is not a snapshot of this version"),
    "an-earlier-version": (edited(made=None), "does not contain the creation id of its root"),
    "a-revision-to-come": (edited(revision=99), "is a snapshot of an earlier root"),
    "an-earlier-root": (created_again, "is a snapshot of an earlier root"),
}


@pytest.mark.parametrize("bad", BAD)
def test_other_snapshot_is_named_in_one_line_and_the_graph_is_read(
    tenant: Tenants, server: Connection, tmp_path: Path, caplog: pytest.LogCaptureFixture, bad: str
) -> None:
    auth = tenant("lakehouse", FACTS)
    mirror_tenant(server, auth.tenant, tmp_path / "out", print)
    spoil, text = BAD[bad]
    spoil(tmp_path / "out", auth)
    copied = started(auth, tmp_path / "out")
    [line] = [each.getMessage() for each in caplog.records if each.name == "grantpath.replica"]
    assert text in line and "\n" not in line
    assert copied.check(*ASKED)
    assert content(copied) == content(with_replica(auth))


def test_log_that_contradicts_the_snapshot_is_noticed(
    server: Connection, tenant: Tenants, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    auth = tenant("gravitino", ["add user:ann"])
    mirror_tenant(server, auth.tenant, tmp_path / "out", lambda _: None)
    auth.change("add user:bob")
    text = "MATCH (change:Change {root: $root, revision: 2}) SET change.added = ['add user:ann']"
    auth.store.execute(text, {"root": auth.tenant})
    copied = started(auth, tmp_path / "out")
    assert "the log contradicts the snapshot" in caplog.text
    assert "user:ann" not in caplog.text, "names are logged at DEBUG"
    assert content(copied) == content(with_replica(auth))
