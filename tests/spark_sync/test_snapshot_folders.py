"""Snapshots on disk are private, written by one process at a time, and bounded and checked when they are read."""

import errno
import fcntl
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grantpath.engine.facts.snapshot.current_folder import current_version, kept_folder
from grantpath.engine.facts.snapshot.snapshot_questions import ask
from grantpath.engine.policy.schema import FACTS_FORMAT, UPGRADE
from grantpath.graph.client.connection import Connection
from grantpath.graph.errors import GrantpathError, InvalidInput
from grantpath.graph.files import bounded_parquet
from grantpath.spark_sync.bulk import bulk_access
from grantpath.spark_sync.bulk.bulk_access import AccessReport, access
from grantpath.spark_sync.bulk.condition_answers import condition_answers
from grantpath.spark_sync.bulk.difference import diff
from grantpath.spark_sync.bulk.verification import widest
from grantpath.spark_sync.mirroring import mirror as mirroring
from grantpath.spark_sync.mirroring.mirror import mirror_tenant
from grantpath.spark_sync.mirroring.snapshot_writer import MIRRORED
from grantpath.spark_sync.session import spark_session
from grantpath.spark_sync.session.analyst_views import duckdb_views
from grantpath.spark_sync.session.snapshot import Snapshot
from grantpath.spark_sync.versions.snapshot_folders import alone, alone_with, building
from grantpath.spark_sync.versions.snapshot_versions import next_version

from ..conftest import Tenants
from ..support.command_line import Run, run
from ..support.tiers import others_slow
from .test_bulk_access import snapshot, world

__all__ = ["run"]

QUESTION = "which table can user:strong load_table"
HOLDING = """
import sys, time
from pathlib import Path
from grantpath.spark_sync.versions.snapshot_folders import building
with building(Path(sys.argv[1]), replace=True) as folder:
    (folder / "half").write_text("x")
    print("building", flush=True)
    time.sleep(600)
"""

LOCKED = """
import os, sys, time
from pathlib import Path
from grantpath.spark_sync.versions.snapshot_folders import alone

with alone(Path(sys.argv[1])):
    if not os.fork():
        print(os.getpid(), flush=True)  # the child has closed the lock file when `fork` returns in it
    time.sleep(60)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small snapshot, which needs no Spark."""
    unused: Any = None
    return snapshot(world("gravitino"), tmp_path_factory.mktemp("made") / "snapshot", unused)


def modes(folder: Path) -> set[tuple[str, str]]:
    found = [folder, *folder.rglob("*")]
    return {("folder" if each.is_dir() else "file", oct(stat.S_IMODE(each.stat().st_mode))) for each in found}


@pytest.fixture
def other(tmp_path: Path) -> subprocess.Popen[str]:
    """Another process that writes tmp_path/out."""
    run = subprocess.Popen([sys.executable, "-c", HOLDING, str(tmp_path / "out")], stdout=subprocess.PIPE, text=True)
    assert run.stdout and run.stdout.readline() == "building\n"
    return run


def test_snapshot_is_private_with_any_umask(made: Path, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with building(tmp_path / "out") as folder:
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            (folder / "inner").mkdir(mode=0o777)
            (folder / "inner" / "file").write_text("x")
    finally:
        os.umask(before)
    assert modes(tmp_path / "out") == modes(made) == {("folder", "0o700"), ("file", "0o600")}


def test_second_writer_is_refused_while_the_first_runs(tmp_path: Path, other: subprocess.Popen[str]) -> None:
    try:
        with (
            pytest.raises(InvalidInput, match=r"out is being written by another process; wait"),
            building(tmp_path / "out", replace=True),
        ):
            pass
        assert [*tmp_path.glob(".out.*.new/half")], "the other one's folder was touched"
    finally:
        other.kill()
        other.wait()


def test_remains_of_a_killed_writer_are_removed(tmp_path: Path, other: subprocess.Popen[str]) -> None:
    other.kill()
    other.wait()
    left = {re.sub(r"[0-9a-f]{8}", "HEX", each.name) for each in tmp_path.iterdir()}
    assert left == {".out.HEX.new", ".out.lock"}
    (tmp_path / ".out.new").mkdir()  # of an older version
    (tmp_path / ".out.mine.new").mkdir()
    with building(tmp_path / "out", replace=True) as folder:
        (folder / "whole").write_text("x")
    assert {each.name for each in tmp_path.iterdir()} == {"out", ".out.mine.new"}
    assert [each.name for each in (tmp_path / "out").iterdir()] == ["whole"]


def test_a_writer_that_is_killed_between_its_renames_leaves_the_former_folder(tmp_path: Path) -> None:
    former, target = tmp_path / ".out.old", tmp_path / "out"
    former.mkdir()
    (former / "whole").write_text("former")
    with pytest.raises(ZeroDivisionError), building(target, replace=True) as folder:
        (folder / "whole").write_text("half")
        _ = 1 / 0
    assert (target / "whole").read_text() == "former"
    with building(target, replace=True) as folder:
        (folder / "whole").write_text("new")
    assert (target / "whole").read_text() == "new"
    assert [each.name for each in tmp_path.iterdir()] == ["out"]
    (tmp_path / ".mine.old").mkdir()
    with building(tmp_path / "mine"):
        pass
    assert {each.name for each in tmp_path.iterdir()} == {"out", "mine", ".mine.old"}


def test_folder_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for name in ("out", "in/out"):
        told = f"file/{name} cannot be created: .*file is not a folder; name another folder"
        with pytest.raises(InvalidInput, match=told), building(tmp_path / "file" / name):
            pass


# ---- a snapshot from elsewhere
def changed(source: Path, out: Path, table: str, column: str, value: Callable[[Any], Any]) -> Path:
    shutil.copytree(source, out)
    path = out / table / "part-00000.parquet"
    rows = pq.read_table(path)
    new = pa.array(value(rows[column].to_pylist()))
    pq.write_table(rows.set_column(rows.column_names.index(column), column, new), path)
    return out


@pytest.mark.parametrize(
    ("table", "column", "value", "message"),
    [
        ("objects", "ref", lambda refs: ["x" * 9_000, *refs[1:]], r"a value of 9,000 bytes; at most 4,000"),
        ("objects", "ref", lambda refs: [refs[0], *refs[:-1]], "it has duplicate references"),
        ("objects", "ref", lambda refs: [None, *refs[1:]], "'ref' has empty values"),
        ("objects", "ref", lambda refs: [[ref] for ref in refs], "write it as strings"),
        ("objects", "type", lambda types: ["planet", *types[1:]], "the policy has no type 'planet'"),
        ("objects", "parent", lambda parents: [*parents[:-1], len(parents) - 1], "do not form a tree"),
        ("objects", "last", lambda lasts: [2**40, *lasts[1:]], "do not form a tree"),
        ("intervals", "holder", lambda holders: [*holders[:-1], 10**6], "'holder' names positions that are not"),
        ("intervals", "start", lambda starts: [*starts[:-1], -2], "'start' names positions that are not"),
        ("intervals", "effect", lambda effects: ["GRANT", *effects[1:]], "'GRANT' is not an effect; the effects are"),
        (
            "intervals",
            "privilege",
            lambda names: ["" for _ in names],
            "ALLOW and DENY have one, OWNS and TAGGED have none",
        ),
        ("intervals", "type", lambda types: [f"{each} x" for each in types], "is not a fact"),
        ("closure", "holder", lambda holders: [*holders[:-1], 10**6], "'holder' names positions that are not"),
    ],
)
def test_inconsistent_snapshot_is_refused(
    made: Path, tmp_path: Path, table: str, column: str, value: Callable[[Any], Any], message: str
) -> None:
    out = changed(made, tmp_path / "odd", table, column, value)
    with pytest.raises(InvalidInput, match=rf"odd/{table.partition('/')[0]}.*{message}"):
        ask(out, "who can load_table on " + world("gravitino").objects("table")[0])


def test_closure_that_is_not_sorted_is_refused(made: Path, tmp_path: Path) -> None:
    out = changed(made, tmp_path / "odd", "closure", "subject", lambda subjects: subjects[::-1])
    for source, fits in ((made, True), (out, False)):
        with nullcontext() if fits else pytest.raises(InvalidInput, match="odd/closure: the rows are not sorted"):
            parts = [*Snapshot(source).closure_rows(slice(None), 0, 10**6)]
            assert sum(len(subject) for subject, _ in parts) == Snapshot(source).meta.counts["closure"]


def test_snapshot_of_another_format_version_is_refused(made: Path, tmp_path: Path) -> None:
    for version in (2, 4):
        out = tmp_path / f"version{version}"
        shutil.copytree(made, out)
        meta = json.loads((out / "meta.json").read_text())
        assert meta["schema_version"] == 3
        (out / "meta.json").write_text(json.dumps({**meta, "schema_version": version}))
        with pytest.raises(
            InvalidInput, match=r"is not a snapshot of this version .*; write one with `grantpath mirror"
        ):
            ask(out, QUESTION)


def test_each_table_of_a_snapshot_is_bounded(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each table that a question reads is replaced by a small file with a million equal rows."""
    monkeypatch.setattr(bounded_parquet, "FREE_BYTES", 1_000_000)
    ask(made, QUESTION)
    for table in ("objects", "intervals", "closure"):
        out = tmp_path / table.replace("/", "-")
        shutil.copytree(made, out)
        rows = pq.read_table(out / table).slice(0, 1)
        many = rows.take(pa.array(np.zeros(1_000_000, np.int32)))
        pq.write_table(many, out / table / "part-00000.parquet", compression="zstd")
        with pytest.raises(InvalidInput, match=r"would take \d+ MB of memory, but at most \d+ MB are allowed"):
            ask(out, QUESTION)


def test_a_snapshot_without_a_table_is_refused(made: Path, tmp_path: Path) -> None:
    for table in ("objects/part-00000.parquet", "closure/part-00000.parquet", "policy.json", "meta.json"):
        out = tmp_path / table.replace("/", "-")
        shutil.copytree(made, out)
        (out / table).unlink()
        with pytest.raises(GrantpathError, match=out.name):
            ask(out, QUESTION)


def test_snapshot_of_newer_facts_is_refused_with_the_remedy(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "out")
    policy = json.loads((tmp_path / "out" / "policy.json").read_text())
    (tmp_path / "out" / "policy.json").write_text(json.dumps({**policy, UPGRADE: FACTS_FORMAT + 1}))
    with pytest.raises(InvalidInput, match=UPGRADE):
        ask(tmp_path / "out", QUESTION)


@pytest.mark.parametrize("table", MIRRORED)
def test_a_snapshot_that_lost_a_file_is_refused(made: Path, tmp_path: Path, table: str) -> None:
    """Without the check, the answer would be computed from the rows that are left."""
    out = tmp_path / "lost"
    shutil.copytree(made, out)
    rows = pq.read_table(out / table)
    pq.write_table(rows.slice(0, len(rows) - 1), out / table / "part-00000.parquet")
    wrong = f"lost/{table}: has {len(rows) - 1:,} rows, not {len(rows):,} as in meta.json; write the snapshot again"
    with pytest.raises(InvalidInput, match=wrong):
        Snapshot(out).table(table)
    with pytest.raises(InvalidInput, match=wrong):
        duckdb_views(out)
    if table in ("objects", "intervals", "closure"):
        with pytest.raises(InvalidInput, match=wrong):
            ask(out, QUESTION)
    pq.write_table(rows.slice(len(rows) - 1), out / table / "part-00001.parquet")
    assert ask(out, QUESTION) == ask(made, QUESTION)


# ---- names with a special meaning in Spark
NAMES = ["a[b]", "ab", "{x,y}", "x", "st*r", "a b%20c", "ä?é", "[c:d]#"]


@pytest.mark.parametrize("name", others_slow(["a#b?c=d%41", *NAMES[-2:]]))
def test_snapshot_is_written_and_read_at_a_uri(
    server: Connection, tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """In this process and in Spark's tasks; the command line gives a URI as a path, with a single slash."""
    auth = tenant("gravitino", ["add user:u", "add catalog:c", "owner user:u of catalog:c"])
    for way, small in (("here", 10**6), ("tasks", 0)):
        monkeypatch.setattr(mirroring, "SMALL", small)
        uri = (tmp_path / way / name).as_uri()
        mirror_tenant(server, auth.tenant, uri, print)
        assert access(uri, ["load_catalog"], [], print, in_process_limit=0).snapshot == tmp_path / way / name
        for given in (uri, Path(uri)):
            assert ask(given, "which catalog can user:u load_catalog").answer == ["catalog:c"]
    assert {each.name for each in tmp_path.iterdir()} == {"here", "tasks"}


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("ftp://host/snapshot", r"is not a URI that pyarrow supports \(Unrecognized filesystem type"),
        ("s3:/snapshot", "Missing bucket name"),
        ("s3://key:secret@bucket/snapshot", "^a URI of s3: contains a login; remove it, and pass the login by AWS_ACC"),
        ("s3://bucket/snapshot?secret_key=abc", r"^s3://bucket/snapshot...: # and \? in a name must be written as"),
        (Path("s3://bucket/snapshot"), "s3:/bucket/snapshot: pass a URI as a string"),
        ("file://host/snapshot", "Unsupported hostname"),
        ("file:///tmp/a b", "is not a URI of a file"),
        ("file:///tmp/a#b", "must be written as %23"),
    ],
)
def test_other_uris_are_refused(uri: str | Path, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Snapshot(uri)


@pytest.mark.slow
@pytest.mark.spark
def test_spark_reads_files_with_pattern_characters(tmp_path: Path) -> None:
    spark = spark_session.engine(print).spark
    for name in NAMES:
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"name": [name]}), tmp_path / name / "in.parquet")
    for name in NAMES:
        rows = spark_session.read_parquet(spark, tmp_path / name / "in.parquet").coalesce(1)
        rows.write.parquet(spark_session.place(tmp_path / name / "out"))
        assert pq.read_table(tmp_path / name / "out")["name"].to_pylist() == [name]
        assert [row.name for row in spark_session.read_parquet(spark, tmp_path / name / "out").collect()] == [name]
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(NAMES)


@pytest.mark.slow
@pytest.mark.spark
def test_snapshot_can_be_in_a_folder_of_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a pattern, the second name would match the first folder, which has fewer users."""
    source, grown = world("gravitino"), world("gravitino").clone()
    assert grown.given("add user:newcomer") == "done"
    engine = spark_session.engine(print)
    before = os.umask(0)
    try:
        snapshot(source, tmp_path / "ab%20 ä", engine)
        monkeypatch.setenv("GRANTPATH_CLOSURE", "joins")
        out = snapshot(grown, tmp_path / "a[b]%20 ä", engine)
        report = access(out, ["load_metalake"], [], print, in_process_limit=0)
    finally:
        os.umask(before)
    users = [ref for ref in grown.subjects() if ref.startswith("user:")]
    assert report.accessible["load_metalake", "metalake"] == len(users)
    assert Snapshot(out).meta.counts["closure"] == len(pq.read_table(out / "closure"))
    assert modes(out) == {("folder", "0o700"), ("file", "0o600")}


def test_folder_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="the name is not UTF-8"):
        spark_session.place(Path(os.fsdecode(b"/tmp/\xff")))


def test_disk_without_locks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locked, closed, close = list[int](), list[int](), os.close

    def no_locks(handle: int, operation: int) -> None:
        locked.append(handle)
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    def noted(handle: int) -> None:
        closed.append(handle)
        close(handle)

    monkeypatch.setattr(fcntl, "flock", no_locks)
    monkeypatch.setattr(os, "close", noted)
    with (
        pytest.raises(InvalidInput, match=r"\.out\.lock cannot be locked \(No locks available\); name a folder on ano"),
        building(tmp_path / "out"),
    ):
        pass
    assert locked and locked[0] in closed


def test_a_folder_has_one_lock_under_all_its_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to("out")
    monkeypatch.chdir(tmp_path / "out")
    for name in (Path("."), Path("../out"), tmp_path / "link"):
        with alone_with(tmp_path / "out"), pytest.raises(InvalidInput, match="being written"), alone_with(name):
            pass
        with alone_with(name), pytest.raises(InvalidInput, match="being written"), alone_with(tmp_path / "out"):
            pass


def test_answers_of_a_version_are_written_beside_the_next_version(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for _ in range(2):
        with next_version(out) as fresh:
            (fresh / "access").mkdir()
    current = current_version(out)
    assert isinstance(current, Path)
    with building(current / "access", replace=True), next_version(out):
        pass
    with next_version(out), building(current / "access", replace=True):
        pass
    assert current_version(out) != current
    with pytest.raises(InvalidInput, match=r"out was updated meanwhile; run"), building(out / "access", True):
        pass
    assert (out / "access").is_symlink()


def test_a_reader_keeps_the_version_that_a_link_pointed_to(tmp_path: Path) -> None:
    out, versions = tmp_path / "out", []
    out.mkdir()
    (tmp_path / "latest").symlink_to("out")
    for _ in range(2):
        with next_version(out):
            pass
        found = {current_version(kept_folder(each)) for each in (out, out / "current", tmp_path / "latest")}
        versions.append(found.pop())
        assert not found
    assert versions[0] != versions[1]


def test_a_reader_by_a_link_notices_the_first_update(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(made, out)
    (tmp_path / "latest").symlink_to("out")
    (tmp_path / "loop").symlink_to("loop")
    for place in (out, tmp_path / "latest"):
        Snapshot(place).require_same()
    readers = [Snapshot(place) for place in (out, tmp_path / "latest")]
    with next_version(out) as fresh:
        shutil.copytree(made, fresh, dirs_exist_ok=True)
    for reader in readers:
        with pytest.raises(InvalidInput, match="was updated while it was read"):
            reader.require_same()
    with pytest.raises(InvalidInput, match="is not a snapshot"):
        Snapshot(tmp_path / "loop")


def test_errors_name_the_snapshot_and_not_its_version(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(made, out)
    with next_version(out) as fresh:
        shutil.copytree(made, fresh, dirs_exist_ok=True)
    for read in (lambda: condition_answers(Snapshot(out)), lambda: widest(out, "load_table", "table")):
        with pytest.raises(InvalidInput, match=f"^{out} has no bulk answers yet; run `grantpath access {out}` first$"):
            read()
    assert repr(Snapshot(out)) == f"<Snapshot {out}, metalake:main at revision 5>"
    with pytest.raises(InvalidInput, match="'load_table' is not a list of names; wrap a single one in a list"):
        access(out, "load_table")
    with pytest.raises(InvalidInput, match="'load_table' is not a list of names; wrap a single one in a list"):
        diff(out, out, "load_table")  # type: ignore[arg-type]


def test_policy_that_is_not_that_of_the_snapshot_is_refused(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(made, out)
    policy = out / "policy.json"
    policy.write_text(policy.read_text().replace("owner(catalog)", "owner(metalake)", 1))
    with pytest.raises(InvalidInput, match=r"policy\.json was changed or damaged: its sha256 differs from the one in"):
        ask(out, "who can load_catalog on catalog:c")


@pytest.mark.parametrize(
    "changed", [{"created": "x"}, {"created": "2026-01-01T00:00:00"}, {"revision": -1}, {"revision": 10**30}]
)
def test_wrong_value_of_meta_json_is_refused(made: Path, tmp_path: Path, changed: dict[str, Any]) -> None:
    out = tmp_path / "out"
    shutil.copytree(made, out)
    (out / "meta.json").write_text(json.dumps(json.loads((out / "meta.json").read_text()) | changed))
    with pytest.raises(InvalidInput, match=r"is not a snapshot of this version \(ValidationError in meta\.json\)"):
        Snapshot(out)


def test_access_says_that_the_snapshot_was_updated_meanwhile(
    made: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    shutil.copytree(made, out)

    def beside_an_update(*given: Any) -> AccessReport:
        report = access(*given)
        with next_version(out) as fresh:
            shutil.copytree(made, fresh, dirs_exist_ok=True)
        return report

    assert "was updated" not in run("access", str(out), "--names", "load_table").err
    monkeypatch.setattr(bulk_access, "access", beside_an_update)
    told = run("access", str(out), "--names", "load_table", "--quiet")
    assert told.code == 0 and f"{out} was updated meanwhile, and its new version has no answers yet" in told.err


def test_answers_of_a_snapshot_without_versions_have_its_lock(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "access").mkdir(parents=True)
    with building(out / "access", replace=True), pytest.raises(InvalidInput, match="being written"), next_version(out):
        pass


def test_a_link_to_nothing_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("out")
    with pytest.raises(InvalidInput, match=r"link already exists; name a new folder"), building(tmp_path / "link"):
        pass
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link"]


def test_a_lock_ends_with_its_process_and_not_with_its_children(tmp_path: Path) -> None:
    run = subprocess.Popen([sys.executable, "-c", LOCKED, str(tmp_path / "out")], stdout=subprocess.PIPE, text=True)
    assert run.stdout
    child = int(run.stdout.readline())
    try:
        with pytest.raises(GrantpathError, match="being written"), alone(tmp_path / "out"):
            pass
        run.kill()
        run.wait()
        assert psutil.Process(child).status() != psutil.STATUS_ZOMBIE, "the child has not ended"
        with alone(tmp_path / "out"):
            pass
    finally:
        os.kill(child, signal.SIGKILL)
