"""A restore after a failed try, which increased the root's revision: the root is created again first."""

from pathlib import Path

import pytest

from grantpath.engine import Authorizer
from grantpath.engine.transfer import importer
from grantpath.engine.transfer.exporter import dump
from grantpath.engine.transfer.restore import Restore

from ...conftest import Tenants


@pytest.fixture
def kept(tenant: Tenants, tmp_path: Path) -> Path:
    """A dump of one change."""
    one = tenant()
    one.change("add user:ann", id="one")
    dump(one, tmp_path / "kept")
    return tmp_path / "kept"


@pytest.fixture
def auth(tenant: Tenants, kept: Path) -> Authorizer:
    """An unused root at the dump's revision: a load of it was undone."""
    auth = tenant()

    def stop(what: str, done: int, of: int) -> None:
        if what == "writing":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        importer.load(auth, kept, stop)
    assert auth.state_now()[0] == 1
    return auth


def test_short_history_is_restored_after_a_failed_try(auth: Authorizer, kept: Path) -> None:
    """The undone try has increased the revision; no reader may see one revision with two contents."""
    made = auth.state_now()
    assert importer.load(auth, kept).restored
    assert auth.state_now()[0] == 1 and auth.state_now() != made
    assert [each.statement for each in auth.log()] == ["add user:ann"]


def test_dry_run_does_not_create_the_root_again(auth: Authorizer, kept: Path) -> None:
    made = auth.state_now()
    assert importer.load(auth, kept, dry_run=True).restored
    assert auth.state_now() == made and not auth.log()


def test_fact_written_before_the_recreation_is_kept(
    auth: Authorizer, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recreate = Restore.recreate

    def late(restore: Restore) -> None:
        auth.change("add user:other")
        recreate(restore)

    monkeypatch.setattr(Restore, "recreate", late)
    done = importer.load(auth, kept)
    assert not done.restored and done.note == f"{auth.tenant} has facts or a history of its own"
    assert sum(size for name, size in done.rows.items()) == done.added == 1
    assert [each.statement for each in auth.log()] == ["add user:other", "load kept: 1 row, 1 added"]
