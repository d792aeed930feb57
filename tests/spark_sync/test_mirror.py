"""Mirroring a real graph: it is read at one revision or not at all, and Spark and Cypher agree on it."""

import random
import time
from pathlib import Path

import pytest

from grantpath.engine.facts.snapshot.snapshot_questions import ask
from grantpath.graph.client.connection import Connection
from grantpath.graph.errors import Inconsistent, InvalidInput, Unavailable, Unknown
from grantpath.graph.guard.store import Store
from grantpath.spark_sync.bulk.bulk_access import access
from grantpath.spark_sync.bulk.verification import verify
from grantpath.spark_sync.mirroring import mirror as mirroring
from grantpath.spark_sync.mirroring.graph_rows import Graph, read_graph
from grantpath.spark_sync.mirroring.mirror import mirror, mirror_tenant, read
from grantpath.spark_sync.session.snapshot import Snapshot

from ..conftest import Tenants
from ..support.random_world import random_world

SEED = 11


@pytest.mark.spark
@pytest.mark.parametrize("policy", ["gravitino", "cdap", "onehouse"])
def test_snapshot_gives_the_answers_of_the_graph(
    server: Connection, tenant: Tenants, policy: str, tmp_path: Path
) -> None:
    auth = tenant(policy, random_world(policy, random.Random(SEED), 80), root="main")
    out = tmp_path / "snapshot"
    meta = mirror_tenant(server, auth.tenant, out, print)
    assert (meta.root, meta.policy_digest) == (auth.tenant, auth.policy.digest)
    found = verify(out, auth.check_many, 300, SEED)
    assert found.different == [] and found.compared == 300 and found.allowed > 30
    name, type_ = {"gravitino": ("load_table", "table"), "cdap": ("view_dataset", "dataset")}.get(
        policy, ("SELECT", "table")
    )
    snapshot = Snapshot(out)
    asked = [ref for ref in snapshot.numbering.refs if ref.startswith(f"{type_}:")]
    for ref in asked[:5]:
        if snapshot.numbering.exists[snapshot.numbering.refs.index(ref)]:
            assert ask(out, f"who can {name} on {ref}").answer == list(auth.who(name, ref))
    for user in [ref for ref in snapshot.numbering.refs if ref.startswith("user:")][:5]:
        assert ask(out, f"which {type_} can {user} {name}").answer == list(auth.which(type_, user, name))
    with pytest.raises(InvalidInput, match="already exists"):
        mirror_tenant(server, auth.tenant, out, print)


def test_change_during_the_read_repeats_it(
    server: Connection, store: Store, tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth = tenant("gravitino", ["add user:a", "add catalog:c"])
    monkeypatch.setattr(time, "sleep", lambda _: None)
    before, _, _ = read(server, auth.tenant, print)
    graph, turns = read_graph, iter(range(3))

    def changing(*words: object) -> Graph:
        found = graph(*words)  # type: ignore[arg-type]
        if (turn := next(turns, None)) is not None:
            auth.change(f"add user:b{turn}")
        return found

    monkeypatch.setattr(mirroring, "read_graph", changing)
    marks, _, found = read(server, auth.tenant, print)
    assert marks.revision == before.revision + 3
    assert {"user:b0", "user:b1", "user:b2"} <= {entity.ref for entity in found.entities}
    turns = iter(range(3, 100))
    with pytest.raises(Inconsistent, match="changed during each of 5 tries"):
        mirror_tenant(server, auth.tenant, tmp_path / "out", print)
    assert list(tmp_path.iterdir()) == []


def test_mirror_repairs_a_dead_writers_mark_and_refuses_during_a_load(
    server: Connection, store: Store, tenant: Tenants
) -> None:
    auth = tenant("gravitino", ["add user:a"])
    mark = "MATCH (mark:Revision {root: $root}) SET mark.begun = mark.revision + 1, mark.loading = $load"
    store.execute(mark, {"root": auth.tenant, "load": None})
    assert read(server, auth.tenant, print)[0].revision == 2
    store.execute(mark, {"root": auth.tenant, "load": "x"})
    store.execute("CREATE (:Heartbeat {root: $root, holder: 'x', at: datetime()})", {"root": auth.tenant})
    with pytest.raises(Inconsistent, match="is under way; reads and changes are refused"):
        read(server, auth.tenant, print)
    store.execute(mark, {"root": auth.tenant, "load": None})


def test_mirror_of_unreadable_root_is_an_error(server: Connection, tenant: Tenants) -> None:
    auth = tenant("gravitino")
    auth.change(f"drop {auth.root}")
    with pytest.raises(Unknown, match="was dropped, and only its history is left"):
        read(server, auth.tenant, print)
    with pytest.raises(Unknown, match="metalake:nobody does not exist"):
        read(server, "metalake:nobody", print)
    with pytest.raises(Unavailable, match="cannot be reached"):
        read(Connection("bolt://127.0.0.1:1", "neo4j", "x"), "metalake:m", print)
    with pytest.raises(Unavailable, match="refuses the login"):
        read(Connection(server.uri, server.user, "wrong"), "metalake:m", print)


def test_an_open_root_is_mirrored_and_answered_without_more_arguments(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant("gravitino", ["add catalog:a", "owner user:ann of catalog:a"])
    assert mirror(auth, str(tmp_path / "out")).revision == auth.revision_now()
    assert access(str(tmp_path / "out")).accessible["alter_catalog", "catalog"] == 1
    assert ask(tmp_path / "out", "who can alter_catalog on catalog:a").answer == ["user:ann"]
