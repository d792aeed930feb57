"""Loads, upgrades and drops that lose their lock are never half done, and report their outcome correctly."""

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine import Authorizer, GrantpathError, Inconsistent, Unavailable
from grantpath.engine.tenants import lifecycle, registry
from grantpath.engine.transfer import importer
from grantpath.engine.transfer.policy_upgrade import upgrade
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.bulk_write import Bulk
from grantpath.graph.guard.heartbeat import HOST
from grantpath.graph.guard.store import Store
from grantpath.graph.guard.writer_lock import Held

from ..conftest import Tenants
from ..engine.tenants.test_follow_policy import titled
from ..support.paused_writers import WAIT, Client, Stop, after, before
from ..support.tiers import others_slow

FACTS = ["add catalog:hr", "add user:ann", "add user:bob"]
OWNERS = """MATCH (owner:Entity)-[:OWNS]->(:Entity {root: $root, ref: 'catalog:hr'})
RETURN owner.ref AS owner ORDER BY owner"""
HELD = """MATCH (each:Entity|Change|Revision {root: $root})
RETURN count(each) AS held, count(CASE WHEN each.ref STARTS WITH 'user:new' THEN 1 END) AS new"""
Opens = Callable[[Authorizer], Client]


@pytest.fixture
def client(server: Connection) -> Iterator[Opens]:
    """Opens clients of their own."""
    opened: list[Client] = []

    def open_(of: Authorizer) -> Client:
        opened.append(Client(server, of))
        return opened[-1]

    yield open_
    for each in opened:
        each.close()


def stopped(patch: pytest.MonkeyPatch, place: Any, name: str, at: Callable[..., None] = before) -> Stop:
    """Makes the first caller stop there until the test ends."""
    stop = Stop()
    patch.setattr(place, name, getattr(place, name))
    at(place, name, stop)
    return stop


def tables(folder: Path, **rows: str) -> Path:
    heads = {"subjects": "ref", "owners": "object,owner"}
    for name, text in rows.items():
        (folder / f"{name}.csv").write_text(f"{heads[name]}\n{text}\n")
    return folder


def outcome_of(working: "Future[object]") -> str:
    """The reported outcome: done, not done, or unknown."""
    try:
        working.result(WAIT)
    except GrantpathError as error:
        return "unknown" if getattr(error, "unknown", False) else "not done"
    return "done"


def counts(auth: Authorizer) -> Mapping[str, int]:
    return auth.store.read(HELD, {"root": auth.tenant})[0]


# ---- one owner ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("meanwhile", ["done", "before its begin mark", "before its commit"])
def test_load_that_lost_its_lock_sets_no_second_owner(
    client: Opens, tenant: Tenants, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, meanwhile: str
) -> None:
    auth = tenant("gravitino", FACTS)
    loader, other = client(auth), client(auth)
    folder = tables(tmp_path, owners="catalog:hr,user:ann")
    stop, between = stopped(monkeypatch, Bulk, "begin"), Stop()
    loading = loader.start(lambda: importer.load(loader.auth, folder))
    assert stop.reached.wait(WAIT)
    loader.lose("terminated")
    if meanwhile == "before its begin mark":
        before(other.guard._marks, "begin", between)
    elif meanwhile == "before its commit":
        before(other.guard, "_commit", between)
    changing = other.start(lambda: other.auth.change("owner user:bob of catalog:hr"))
    if meanwhile == "done":
        assert outcome_of(changing) == "done"
    else:
        assert between.reached.wait(WAIT)
    stop.go.set()
    loaded = outcome_of(loading)
    between.go.set()
    changed = outcome_of(changing)
    owner = "user:bob" if changed == "done" else "user:ann"
    assert "done" in (loaded, changed) and "unknown" not in (loaded, changed)
    assert [each["owner"] for each in auth.store.read(OWNERS, {"root": auth.tenant})] == [owner]
    if meanwhile != "before its begin mark":
        assert (loaded, changed) == ("not done", "done")


def test_dry_run_that_lost_its_lock_shows_no_old_plan(
    client: Opens, tenant: Tenants, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    auth = tenant("gravitino", FACTS)
    loader = client(auth)
    stop = stopped(monkeypatch, importer._Load, "_builder", after)
    folder = tables(tmp_path, subjects="user:new1")
    loading = loader.start(lambda: importer.load(loader.auth, folder, dry_run=True))
    assert stop.reached.wait(WAIT)
    loader.lose("terminated")
    auth.change("add user:new1")
    stop.go.set()
    with pytest.raises(Inconsistent, match="another writer changed the root; nothing was written, run it again"):
        loading.result(WAIT)


# ---- the outcome of a load ------------------------------------------------------------------------------
@pytest.mark.parametrize("how", ["terminated", "cut"])
@pytest.mark.parametrize("step", ["batches", "end"])
def test_load_that_loses_its_lock_reports_its_outcome(
    client: Opens, tenant: Tenants, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, step: str, how: str
) -> None:
    auth = tenant("gravitino", FACTS)
    loader = client(auth)
    folder = tables(tmp_path, subjects="user:new1\nuser:new2", owners="catalog:hr,user:new1")
    place = (Bulk, "write", after) if step == "batches" else (importer, "append", before)
    stop = stopped(monkeypatch, *place)
    loading = loader.start(lambda: importer.load(loader.auth, folder))
    assert stop.reached.wait(WAIT)
    loader.lose(how)
    stop.go.set()
    outcome = outcome_of(loading)
    assert counts(auth)["new"] == (2 if outcome == "done" else 0) and outcome != "unknown"
    assert auth.check("user:ann", "USE_CATALOG", "catalog:hr").revision == auth.revision_now()
    if step == "batches":
        assert outcome == "done", "the mark, not the lock, proves that a load owns the root"


@pytest.mark.parametrize("lost", ["one answer", "all from then on"])
def test_load_with_an_unanswered_commit_is_looked_up(
    client: Opens, tenant: Tenants, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lost: str
) -> None:
    auth = tenant("gravitino", FACTS)
    loader, real, gone = client(auth), Held.transaction, list[bool]()

    def unanswered(held: Held, work: Callable[..., object]) -> object:
        if gone and lost != "one answer":
            raise Unavailable("the server is gone")
        result = real(held, work)
        if work.__name__ == "work":  # the commit in Bulk.finish
            gone.append(True)
            raise Unavailable("the connection was cut")
        return result

    monkeypatch.setattr(Held, "transaction", unanswered)
    folder = tables(tmp_path, subjects="user:new1")
    outcome = outcome_of(loader.start(lambda: importer.load(loader.auth, folder)))
    monkeypatch.setattr(Held, "transaction", real)
    assert (outcome, counts(auth)["new"]) == ("done" if lost == "one answer" else "unknown", 1)
    assert auth.change("add user:last").revision == auth.revision_now()


# ---- a policy, a root ----------------------------------------------------------------------------------------------
def test_upgrade_that_lost_its_lock_before_a_change_is_not_done(
    client: Opens, tenant: Tenants, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth = tenant("gravitino", FACTS)
    operator = client(auth)
    stop = stopped(monkeypatch, Bulk, "begin")
    upgrading = operator.start(lambda: upgrade(operator.auth, titled(auth.policy, "Another title")))
    assert stop.reached.wait(WAIT)
    operator.lose("terminated")
    auth.change("add user:new1")  # its facts were not checked against the new policy
    stop.go.set()
    with pytest.raises(Inconsistent, match="another writer changed the root; nothing was written, run it again"):
        upgrading.result(WAIT)
    assert auth.check("user:new1", "USE_CATALOG", "catalog:hr").revision == len(FACTS) + 1


@pytest.mark.parametrize("step", ["end_root", "sweep_root", "_sweep_some"])
def test_paused_drop_removes_nothing_of_a_recreated_root(
    client: Opens, tenant: Tenants, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    auth = tenant("gravitino", FACTS)
    dropper = client(auth)
    stop = stopped(monkeypatch, lifecycle if step == "_sweep_some" else registry, step)
    dropping = dropper.start(lambda: registry.remove(dropper.store, auth.tenant))
    assert stop.reached.wait(WAIT)
    dropper.lose("terminated")
    registry.remove(auth.store, auth.tenant)
    registry.create(auth.store, auth.tenant, auth.policy, auth.root)
    assert auth.given(["add catalog:hr", "add user:new1", "add user:new2"]) == [None] * 3
    there = counts(auth)
    stop.go.set()
    assert outcome_of(dropping) == ("not done" if step == "end_root" else "done")
    assert counts(auth) == there and auth.revision_now() == 3


def test_drop_that_lost_its_lock_leaves_the_marks_of_the_next_writer(client: Opens, tenant: Tenants) -> None:
    auth = tenant("gravitino", FACTS)
    dropper, other = client(auth), client(auth)
    stop, between = Stop(), Stop()
    before(dropper.guard, "_dead_load", stop)  # it has the lock, but has not read the marks yet
    dropping = dropper.start(lambda: registry.remove(dropper.store, auth.tenant))
    assert stop.reached.wait(WAIT)
    dropper.lose("terminated")
    before(other.guard, "_commit", between)
    changing = other.start(lambda: other.auth.change("add user:new1"))
    assert between.reached.wait(WAIT)
    stop.go.set()
    assert outcome_of(dropping) == "not done"
    between.go.set()
    assert outcome_of(changing) == "done"
    assert counts(auth)["new"] == 1 and auth.revision_now() == len(FACTS) + 1


# ---- the holder -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("what", others_slow(["a change", "`load "]))
def test_error_names_the_holder_of_the_lock(
    server: Connection, client: Opens, tenant: Tenants, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, what: str
) -> None:
    auth = tenant("gravitino", FACTS)
    holder = client(auth)
    if what == "a change":
        stop = Stop()
        before(holder.guard, "_begin", stop)
        holding = holder.start(lambda: holder.auth.change("add user:new1"))
    else:
        stop = stopped(monkeypatch, Bulk, "begin")
        holding = holder.start(lambda: importer.load(holder.auth, tables(tmp_path, subjects="user:new1")))
    assert stop.reached.wait(WAIT)
    short = Store(server, timeout=4.0)
    try:
        with pytest.raises(Unavailable) as error:
            Authorizer(short, auth.tenant, auth.policy, auth.root).change("add user:other")
    finally:
        stop.go.set()
        short.close()
    text = str(error.value)
    assert f"for a change: {what}" in text
    assert f"is under way in process {os.getpid()} on {HOST} (it began" in text and text.endswith("try again")
    assert outcome_of(holding) == "done"
