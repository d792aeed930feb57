"""Roots that are dropped and created again: no answer mixes the old and the new one, and no write is lost."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine import Authorizer, Inconsistent, Unknown
from grantpath.engine.answers import listing
from grantpath.engine.change import audit_writer, service
from grantpath.engine.tenants import registry
from grantpath.engine.transfer import exporter
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.store import Store
from grantpath.spark_sync.mirroring import mirror as mirroring
from grantpath.spark_sync.mirroring.graph_rows import Graph, read_graph

from ...conftest import Tenants
from ...support.command_line import Run, run

__all__ = ["run"]

ASKED = "USE_CATALOG", "catalog:c"


def facts(*users: str) -> list[str]:
    """Facts for these users; equal numbers of users give equal revisions."""
    granted = ["add catalog:c", "add role:r", "allow USE_CATALOG on catalog:c to role:r"]
    return [*granted, *(f"add user:{user}" for user in users), *(f"member user:{user} of role:r" for user in users)]


def make_again(auth: Authorizer, users: list[str]) -> None:
    registry.remove(auth.store, auth.tenant)
    registry.create(auth.store, auth.tenant, auth.policy, auth.root)
    assert auth.given(facts(*users)) == [None] * len(facts(*users))


def nodes(store: Store, tenant: str) -> int:
    return int(store.execute("MATCH (n {root: $root}) RETURN count(n) AS n", {"root": tenant})[0]["n"])


# ---- reads across a recreation -----------------------------------------------------------------------------------
def test_list_does_not_continue_in_a_recreated_root(tenant: Tenants, monkeypatch: pytest.MonkeyPatch) -> None:
    auth = tenant("gravitino", facts("a", "b"))
    monkeypatch.setattr(listing, "PAGE", 1)
    listed = iter(auth.who(*ASKED))
    assert next(listed) == "user:a"
    make_again(auth, ["c", "d"])
    with pytest.raises(Inconsistent, match="changed while the list was read"):
        list(listed)
    assert list(auth.who(*ASKED)) == ["user:c", "user:d"]


def test_dump_does_not_mix_two_roots(tenant: Tenants, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    auth = tenant("gravitino", facts("a", "b"))
    write, again = exporter._write, [["c", "d"]]

    def between(*words: Any) -> None:
        write(*words)
        if again:
            make_again(auth, again.pop())

    monkeypatch.setattr(exporter, "_write", between)
    exporter.dump(auth, tmp_path)
    assert not again
    assert (tmp_path / "subjects.csv").read_text().split() == ["ref", "role:r", "user:c", "user:d"]
    assert (tmp_path / "members.csv").read_text().split()[1:] == ["user:c,role:r", "user:d,role:r"]


def test_mirror_does_not_mix_two_roots(server: Connection, tenant: Tenants, monkeypatch: pytest.MonkeyPatch) -> None:
    auth = tenant("gravitino", facts("a", "b"))
    graph, again = read_graph, [["c", "d"]]

    def between(*words: object) -> Graph:
        found = graph(*words)  # type: ignore[arg-type]
        if again:
            make_again(auth, again.pop())
        return found

    monkeypatch.setattr(mirroring, "read_graph", between)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    found = mirroring.read(server, auth.tenant, print)[2]
    assert sorted(found.member) == ["user:c", "user:d"]


# ---- removals ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("keep", [True, False])
def test_failed_command_keeps_a_root_that_another_caller_changed(tenant: Tenants, keep: bool) -> None:
    """A failing command removes the root that it created, while another caller's change runs under the lock."""
    auth = tenant("gravitino")
    locked = threading.Event()

    record = audit_writer.record

    def waits(*words: Any) -> Any:
        locked.set()
        time.sleep(0.5)  # the other caller now waits for the lock
        return record(*words)

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as pool:
        patch.setattr(service, "record", waits)
        written = pool.submit(auth.change, "add user:a", dry_run=not keep)
        assert locked.wait(60)
        registry.take_back(auth.store, auth.tenant)
        written.result()
    if keep:
        assert [each.statement for each in auth.log()] == ["add user:a"]
    else:
        with pytest.raises(Unknown):
            auth.revision_now()
        assert nodes(auth.store, auth.tenant) == 0


def test_remains_of_a_killed_drop_can_be_dropped(run: Run, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "metalake:killed-drop"
    assert run("change", "add user:a", "--root", name, "--policy", "gravitino", "--create").code == 0

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken, pytest.raises(KeyboardInterrupt):
        broken.setattr(registry, "sweep_root", dies)
        registry.remove(store, name)
    assert nodes(store, name) > 0
    dropped = run("roots", "drop", name, "--yes")
    assert (dropped.code, "interrupted drop had left" in dropped.out) == (0, True)
    assert nodes(store, name) == 0
    assert run("roots", "drop", name, "--yes").code == 2


def test_repeated_drop_of_the_root_was_already_made(run: Run, store: Store) -> None:
    name = "metalake:dropped-twice"
    drop = ["change", f"drop {name}", "--root", name, "--id", "d1", "--yes"]
    try:
        assert run("change", "add user:a", "--root", name, "--policy", "gravitino", "--create").code == 0
        assert run(*drop).out == "done revision 2\n"
        assert run(*drop).out == "done revision 2\n"
        assert run(*drop, "--dry-run").out.startswith("done already at revision 2")
        other = run("change", "add user:b", "--root", name, "--id", "d2")
        assert (other.code, "was dropped, and only its history is left" in other.err) == (2, True)
    finally:
        registry.remove(store, name)
