"""A follower that must read the whole graph reports only revisions that no file of changes described before."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from grantpath.engine import Authorizer
from grantpath.engine.change.delta_records import recorded
from grantpath.engine.facts.snapshot_reader import SnapshotReader
from grantpath.graph.connection import Connection
from grantpath.spark_sync import follower
from grantpath.spark_sync.change_files import change_files
from grantpath.spark_sync.follower import Followed, Follower
from grantpath.spark_sync.graph_reader import mirror, opened
from grantpath.spark_sync.snapshot_folders import alone
from grantpath.spark_sync.snapshot_update import update

from ..conftest import Tenants

REASON = "the log does not describe what revision {} changed"


@pytest.fixture
def killed(server: Connection, tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authorizer:
    """A root whose last change is described in `changes`. The follower was killed before it wrote the tables, and the
    log no longer describes the change."""
    auth = tenant("gravitino", ["add user:a", "add role:r"])
    mirror(server, auth.tenant, tmp_path / "out", lambda _: None)
    auth.change("member user:a of role:r")
    with closing(opened(server)) as store, alone(tmp_path / "out"):
        assert Follower(server, store, auth.tenant, tmp_path / "out", print, lambda _: None).step()
    undescribed = lambda *of: (replace(delta, bulk=True) for delta in recorded(*of))  # noqa: E731
    monkeypatch.setattr(follower, "recorded", undescribed)
    return auth


def test_described_revisions_are_not_reported_again(server: Connection, killed: Authorizer, tmp_path: Path) -> None:
    reported: list[Followed] = []
    with closing(opened(server)) as store, alone(tmp_path / "out"):
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
