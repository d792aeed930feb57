"""A follower that must read the whole graph reports only revisions that no file of changes described before."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from grantpath.engine import Authorizer
from grantpath.engine.change.delta_records import recorded
from grantpath.engine.facts.snapshot.snapshot_reader import SnapshotReader
from grantpath.engine.tenants import registry
from grantpath.graph.client.connection import Connection
from grantpath.spark_sync.following import change_files as files_of_changes
from grantpath.spark_sync.following import follower
from grantpath.spark_sync.following.change_files import change_files, made_of
from grantpath.spark_sync.following.follower import Followed, Follower
from grantpath.spark_sync.following.snapshot_update import update
from grantpath.spark_sync.mirroring.mirror import mirror_tenant, opened
from grantpath.spark_sync.versions import snapshot_versions
from grantpath.spark_sync.versions.snapshot_folders import alone_with

from ..conftest import Tenants

REASON = "the log does not describe what revision {} changed"


@pytest.fixture
def killed(server: Connection, tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authorizer:
    """A root whose last change is described in `changes`. The follower was killed before it wrote the tables, and the
    log no longer describes the change."""
    auth = tenant("gravitino", ["add user:a", "add role:r"])
    mirror_tenant(server, auth.tenant, tmp_path / "out", lambda _: None)
    auth.change("member user:a of role:r")
    with closing(opened(server)) as store, alone_with(tmp_path / "out"):
        assert Follower(server, store, auth.tenant, tmp_path / "out", print, lambda _: None).step()
    undescribed = lambda *of: (replace(delta, bulk=True) for delta in recorded(*of))  # noqa: E731
    monkeypatch.setattr(follower, "recorded", undescribed)
    return auth


def test_described_revisions_are_not_reported_again(server: Connection, killed: Authorizer, tmp_path: Path) -> None:
    reported: list[Followed] = []
    with closing(opened(server)) as store, alone_with(tmp_path / "out"):
        again = Follower(server, store, killed.tenant, tmp_path / "out", print, reported.append)
        assert again.step()
        assert again.rebuilt == REASON.format(killed.revision_now())
        assert not again.step()
    assert reported == []
    assert [(each.first, each.last) for each in change_files(tmp_path / "out")] == [(killed.revision_now(),) * 2]
    assert SnapshotReader(tmp_path / "out").meta.revision == killed.revision_now()


def test_update_tells_why_it_read_the_whole_graph(server: Connection, killed: Authorizer, tmp_path: Path) -> None:
    done = update(server, killed.tenant, tmp_path / "out", print)
    assert (done.meta.revision, done.rebuilt) == (killed.revision_now(), REASON.format(killed.revision_now()))


class Killed(BaseException):
    """The end of the process at some step."""


STEPS = {
    "the mark's number": (files_of_changes, "_reserve"),
    "the mark": (follower, "append"),
    "the tables": (snapshot_versions, "_switch"),
    "the links": (snapshot_versions, "_link_all"),
    "the old tables": (snapshot_versions, "_remove_old"),
}


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_root_that_was_created_again_is_described_once(
    server: Connection, tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, before: bool
) -> None:
    auth, out = tenant("gravitino", ["add user:a", "add role:r"]), tmp_path / "out"
    mirror_tenant(server, auth.tenant, out, lambda _: None)
    auth.change("member user:a of role:r")
    with closing(opened(server)) as store, alone_with(out):
        assert Follower(server, store, auth.tenant, out, print, lambda _: None).step()
    registry.remove(auth.store, auth.tenant)
    registry.create(auth.store, auth.tenant, auth.policy, auth.root)
    auth.change("add user:b")
    module, name = STEPS[step]
    done = getattr(module, name)

    def ending(*given: object, **named: object) -> None:
        if not before:
            done(*given, **named)
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed), closing(opened(server)) as store, alone_with(out):
        patch.setattr(module, name, ending)
        Follower(server, store, auth.tenant, out, print, lambda _: None).step()
    auth.change("add user:c")
    with closing(opened(server)) as store, alone_with(out):
        again = Follower(server, store, auth.tenant, out, print, lambda _: None)
        while again.step():
            pass
        again.write_tables()
    made, described = SnapshotReader(out).meta.made, list[int]()
    for file in change_files(out):
        if made_of(file) == made:
            described += range(file.first, file.last + 1)
    assert described == [0, 1, 2]
    assert SnapshotReader(out).meta.revision == 2
