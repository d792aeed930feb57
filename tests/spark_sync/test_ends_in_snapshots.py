"""meta.json of a snapshot has the time before which none of its facts ends."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from grantpath.engine import Authorizer
from grantpath.engine.facts.snapshot.snapshot_reader import CHANGES, SnapshotMeta
from grantpath.graph.client.connection import Connection
from grantpath.spark_sync.following import follower
from grantpath.spark_sync.following.follower import Follower
from grantpath.spark_sync.following.snapshot_update import update
from grantpath.spark_sync.mirroring import mirror as mirroring
from grantpath.spark_sync.mirroring.mirror import mirror_tenant, opened
from grantpath.spark_sync.mirroring.parallel_reader import TenantMarks

from ..conftest import Tenants
from ..support.command_line import Run, run

__all__ = ["run"]

FACTS = ["add catalog:hr", "add schema:hr.s", "add table:hr.s.t", "add user:ann", "add user:bob", "add role:r"]
GRANT = "allow SELECT_TABLE on table:hr.s.t to role:r"
FIRST, SECOND, THIRD = (f"{year}-12-31T00:00:00Z" for year in (2997, 2998, 2999))


@pytest.fixture
def root(tenant: Tenants) -> Authorizer:
    return tenant("gravitino", FACTS)


def ends(out: Path) -> str | None:
    found: str | None = json.loads((out / "meta.json").read_text())["ends"]
    return found


@pytest.mark.parametrize("small", [0, 1_000])
def test_mirror_has_the_first_end(
    server: Connection, root: Authorizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: int
) -> None:
    monkeypatch.setattr(mirroring, "SMALL", small)
    root.change_all([f"{GRANT} until {SECOND}", f"member user:ann of role:r until {THIRD}"])
    assert mirror_tenant(server, root.tenant, tmp_path / "out", print).ends == SECOND
    assert ends(tmp_path / "out") == SECOND


def test_update_has_the_first_end(server: Connection, root: Authorizer, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert mirror_tenant(server, root.tenant, out, print).ends is None
    root.change(f"{GRANT} until {THIRD}")
    assert update(server, root.tenant, out, print).meta.ends == ends(out) == THIRD
    root.change(f"member user:ann of role:r until {SECOND}")
    assert update(server, root.tenant, out, print).meta.ends == SECOND
    root.change("drop user:ann")
    later = update(server, root.tenant, out, print).meta.ends
    assert later is not None and SECOND <= later <= THIRD  # it may be too early, never too late


def test_tables_of_an_earlier_revision_have_their_own_first_end(
    server: Connection, root: Authorizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    root.change(f"{GRANT} until {THIRD}")
    mirror_tenant(server, root.tenant, out, print)
    root.change(f"member user:ann of role:r until {SECOND}")
    root.change(f"member user:bob of role:r until {FIRST}")
    monkeypatch.setattr(follower, "PAGE", 1)  # one revision in each step
    found = []
    with closing(opened(server)) as store:
        following = Follower(server, store, root.tenant, out, print, lambda _: None)
        while following.step():
            following.write_tables()
            found.append(ends(out))
    assert found == [SECOND, FIRST]
    assert (out / CHANGES).is_dir()


def test_tables_never_get_the_marks_of_a_later_root(server: Connection, root: Authorizer, tmp_path: Path) -> None:
    out = tmp_path / "out"
    root.change(f"{GRANT} until {SECOND}")
    meta = mirror_tenant(server, root.tenant, out, print)
    with closing(opened(server)) as store:
        following = Follower(server, store, root.tenant, out, print, lambda _: None)
        following._marks = TenantMarks(meta.revision, "of a later root", meta.policy_digest)
        marks = following._marks_at(meta.revision)
    assert (marks.made, marks.ends) == (meta.made, SECOND)


def test_ask_says_that_facts_may_have_ended(server: Connection, root: Authorizer, tmp_path: Path, run: Run) -> None:
    out, question = tmp_path / "out", "which table can user:ann load_table"
    root.change(f"{GRANT} until {SECOND}")
    mirror_tenant(server, root.tenant, out, print)
    assert "may have ended" not in run("ask", str(out), question).err
    meta = SnapshotMeta.model_validate_json((out / "meta.json").read_text())
    (out / "meta.json").write_text(meta.model_copy(update={"ends": "2001-12-31T00:00:00Z"}).model_dump_json())
    assert "; some of its facts may have ended since 2001-12-31T00:00:00Z\n" in run("ask", str(out), question).err


def test_ask_names_a_subject_that_does_not_exist(
    server: Connection, root: Authorizer, tmp_path: Path, run: Run
) -> None:
    out = tmp_path / "out"
    mirror_tenant(server, root.tenant, out, print)
    for asked in ("which table can user:anm load_table", "user:anm can load_table on table:hr.s.t"):
        told = run("ask", str(out), asked)
        assert "user:anm does not exist in the snapshot (did you mean user:ann?)\n" in told.err
    assert "user:anm does not exist" in run("ask", str(out), "user:anm cannot load_table on table:hr.s.t").err
    for asked in ("which table can user:ann load_table", "who can load_table on table:hr.s.t"):
        assert "does not exist" not in run("ask", str(out), asked).err


def test_an_end_that_is_no_time_is_an_error(server: Connection, root: Authorizer, tmp_path: Path, run: Run) -> None:
    out = tmp_path / "out"
    mirror_tenant(server, root.tenant, out, print)
    meta = json.loads((out / "meta.json").read_text())
    for ends in ("x", "2999-12-31", "2999-12-31T00:00:00", 7):
        (out / "meta.json").write_text(json.dumps({**meta, "ends": ends}))
        told = run("ask", str(out), "which table can user:ann load_table")
        assert (told.code, "is not a snapshot of this version" in told.err) == (2, True), told.err


def test_meta_of_an_earlier_version_is_read(server: Connection, root: Authorizer, tmp_path: Path, run: Run) -> None:
    out = tmp_path / "out"
    mirror_tenant(server, root.tenant, out, print)
    meta = json.loads((out / "meta.json").read_text())
    del meta["ends"]
    (out / "meta.json").write_text(json.dumps(meta))
    assert run("ask", str(out), "which table can user:ann load_table").code == 0
