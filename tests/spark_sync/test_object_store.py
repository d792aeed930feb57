"""Snapshots in an object store: complete or absent, read as on a disk, and never mixed from two writers."""

import json
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem, copy_files

from grantpath.engine import Authorizer
from grantpath.engine.facts.snapshot.snapshot_questions import ask
from grantpath.graph.errors import GrantpathError, InvalidInput
from grantpath.graph.files.remote_path import RemotePath, local_path, remove_tree
from grantpath.spark_sync.bulk.bulk_access import access
from grantpath.spark_sync.bulk.difference import diff
from grantpath.spark_sync.bulk.verification import exposed, verify, widest
from grantpath.spark_sync.following.follower import follow
from grantpath.spark_sync.following.snapshot_update import update
from grantpath.spark_sync.reporting.report_page import report
from grantpath.spark_sync.session.analyst_views import duckdb_views
from grantpath.spark_sync.session.snapshot import Snapshot
from grantpath.spark_sync.tables.snapshot_export import export
from grantpath.spark_sync.versions import remote_versions
from grantpath.spark_sync.versions.remote_versions import writing

from ..oracle import Oracle, oracle
from ..support.command_line import FACTS, Run
from ..support.command_line import facts as facts  # a fixture
from ..support.command_line import run as run  # a fixture
from ..support.object_store import SECRET, object_store, remote
from ..support.plain_access import write_access, write_snapshot
from ..support.table_sums import table_sums
from ..support.with_replica import content, with_replica

QUESTION = "which table can user:bob SELECT_TABLE"
ANSWER = ["table:hr.public.staff"]
NAMES = ("load_table", "SELECT_TABLE")
ODD = "a b%20c/ä#d?e=f%41[g]{h}*'+;&"


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with object_store() as uri:
        yield uri


@pytest.fixture
def place(bucket: str, request: pytest.FixtureRequest) -> RemotePath:
    """A new folder in the bucket."""
    return remote(f"{bucket}/{request.node.name}")


@cache
def world(*more: str) -> Oracle:
    made = oracle("gravitino", "ml")
    for fact in (*FACTS, *more):
        assert made.given(fact.replace("ROOT", "metalake:ml")) == "done"
    return made


class Decided(NamedTuple):
    """A decision of the graph, for `verify`."""

    revision: int
    allowed: bool

    def __bool__(self) -> bool:
        return self.allowed


def said(check: tuple[str, str, str]) -> str:
    return "{} can {} on {}".format(*check)


def below(place: RemotePath) -> set[str]:
    """The names of the versions, and of the other files, in a folder."""
    names = {each.path.removeprefix(f"{place.path}/") for each in place.files()}
    return {"/".join(name.split("/")[:2]) for name in names}


def version_of(place: RemotePath) -> str:
    return Snapshot(place).folder.name


# ---- reading
def test_everything_that_reads_a_snapshot_reads_it_from_an_object_store(place: RemotePath, tmp_path: Path) -> None:
    there, here = write_access(write_snapshot(world(), place / ODD), NAMES), tmp_path / "here"
    write_access(write_snapshot(world(), here), NAMES)
    assert table_sums(there) == table_sums(here)
    uris = str(there), str(there).replace("s3:", "s3a:")
    for given in (there, *uris):
        assert ask(given, QUESTION).answer == ANSWER
    found = diff(uris[0], here, ["load_table"])
    assert not any((found.added, found.dropped, found.facts_added, found.facts_removed))
    assert widest(there, "SELECT_TABLE", "table") == widest(here, "SELECT_TABLE", "table") != []
    assert exposed(uris[1], "SELECT_TABLE", "table") == exposed(here, "SELECT_TABLE", "table")
    assert report(uris[0], tmp_path / "there.html").users == report(here, tmp_path / "here.html").users == 3
    made, same = export(uris[0], tmp_path / "out", "delta", print), export(here, tmp_path / "same", "delta", print)
    assert [(each.name, each.rows) for each in made.tables] == [(each.name, each.rows) for each in same.tables]
    checked = verify(
        uris[0], lambda asked: [Decided(5, bool(ask(here, said(each)).answer)) for each in asked], 20, seed=1
    )
    assert (checked.compared, checked.different) == (20, [])
    views = duckdb_views(uris[1])
    assert f"{there.plain_uri.split('/ä')[0]}/" in views and "/access/versions/" in views


def test_bulk_answers_are_written_into_an_object_store(place: RemotePath, tmp_path: Path) -> None:
    there, here = write_snapshot(world(), place / ODD), write_snapshot(world(), tmp_path / "here")
    for names in (NAMES, ["SELECT_TABLE"]):
        reports = [access(each, names, names[:1]) for each in (there, str(here))]
        assert reports[0].accessible == reports[1].accessible
        assert table_sums(there) == table_sums(here)


def test_copy_of_the_facts_starts_from_an_object_store_and_commands_take_its_uri(
    place: RemotePath, facts: str, run: Run
) -> None:
    uri = str(place / ODD)
    made = run("mirror", uri, "--root", facts, "--json")
    assert made.code == 0 and made.json["snapshot"] == uri, made.err
    ran = run("ask", uri, QUESTION, "--json")
    assert (ran.code, ran.json["answer"]) == (0, ANSWER)
    with Authorizer.open(facts, replica=uri, timeout=60) as auth:
        assert content(auth) == content(with_replica(auth))
        assert auth.past(made.json["revision"], snapshots=[uri]).answer(QUESTION).answer == ANSWER
    assert run("ask", uri, QUESTION, "--as-of", "1", "--json").json["answer"] == []
    again = run("mirror", uri, "--root", facts)
    assert again.code == 2 and "already exists; name a new folder, or remove it" in again.err
    assert "name the file to create with --out" in run("report", uri).err
    assert SECRET not in made.out + made.err + again.err


def test_snapshot_that_is_copied_to_a_disk_can_be_read_and_written(place: RemotePath, tmp_path: Path) -> None:
    write_access(write_snapshot(world(), place), NAMES)
    before, out = table_sums(place), tmp_path / "out"
    out.mkdir()
    copy_files(place.path, str(out), source_filesystem=place.filesystem, destination_filesystem=LocalFileSystem())
    assert table_sums(out) == before and ask(out, QUESTION).answer == ANSWER
    write_access(out, NAMES[:1])
    assert set(table_sums(out)) == set(before) and table_sums(out) != before


# ---- writing
def test_snapshot_that_is_not_finished_is_refused_and_a_second_run_succeeds(
    place: RemotePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ZeroDivisionError), writing(place) as folder:
        (folder / "meta.json").write_text("{}")
        raise ZeroDivisionError
    assert below(place) == set(), "the writer removed what it had written"
    monkeypatch.setattr(remote_versions, "remove_tree", lambda _: None)  # as if it was killed
    with pytest.raises(ZeroDivisionError), writing(place) as folder:
        (folder / "meta.json").write_text("{}")
        raise ZeroDivisionError
    monkeypatch.undo()
    remains = below(place)
    assert len(remains) == 1
    with pytest.raises(
        InvalidInput, match=r"is not a snapshot of this version .* write one with `grantpath mirror OUT`"
    ):
        Snapshot(place)
    write_snapshot(world(), place)
    assert ask(place, QUESTION).answer == ANSWER
    assert below(place) == {"current", f"versions/{version_of(place)}", *remains}, "another writer may be alive"


def test_remains_are_removed_when_they_are_old(place: RemotePath, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "versions" / "00000000001700000000-0123abcd" / "objects" / "part").write_text("x")
    (place / "versions" / "of somebody else").write_text("x")
    monkeypatch.setattr(remote_versions, "KEEP", timedelta(0))
    write_snapshot(world(), place)
    assert below(place) == {"current", f"versions/{version_of(place)}", "versions/of somebody else"}


def test_second_of_two_writers_is_refused_and_their_tables_are_not_mixed(place: RemotePath) -> None:
    more = world("add user:newcomer")
    with pytest.raises(InvalidInput, match="already exists"), writing(place) as folder:
        for name in ("objects", "members", "closure"):
            (folder / name / "part-99999.parquet").write_text("of the slower writer")
        write_snapshot(more, place)
    assert "user:newcomer" in Snapshot(place).numbering.refs
    assert below(place) == {"current", f"versions/{version_of(place)}"}


def test_writer_that_was_taken_for_dead_does_not_make_its_version_current(
    place: RemotePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_snapshot(world(), place)
    access = Snapshot(place).folder / "access"
    monkeypatch.setattr(remote_versions, "KEEP", timedelta(0))
    removed = pytest.raises(GrantpathError, match="another process removed what this one had written; run the command")
    with removed, writing(access, replace=True) as folder:
        (folder / "names" / "part-00000.parquet").write_text("of the slower writer")
        write_access(place, NAMES)
        (folder / "reach" / "part-00000.parquet").write_text("of the slower writer")
    assert set(Snapshot(place).table("access/names")["name"].to_pylist()) == {*NAMES}


def test_folder_with_other_files_is_not_written(place: RemotePath) -> None:
    (place / "objects" / "of somebody else").write_text("x")
    with pytest.raises(InvalidInput, match="already exists; name a new folder, or remove it"), writing(place):
        pass
    assert below(place) == {"objects/of somebody else"}


def test_readers_keep_the_bulk_answers_that_they_opened(place: RemotePath, monkeypatch: pytest.MonkeyPatch) -> None:
    write_access(write_snapshot(world(), place), NAMES)
    monkeypatch.setattr(remote_versions, "KEEP", timedelta(0))
    opened = Snapshot(place)
    assert set(opened.table("access/names")["name"].to_pylist()) == {*NAMES}
    write_access(place, NAMES[:1])
    assert set(opened.table("access/reach")["name"].to_pylist()) == {*NAMES}
    assert set(Snapshot(place).table("access/reach")["name"].to_pylist()) == {*NAMES[:1]}
    write_access(place, NAMES)
    folder = Snapshot(place).folder / "access" / "versions"
    assert len({*folder.glob("*")}) == 2, "the oldest was removed"


def test_commands_that_lock_and_rename_refuse_an_object_store(place: RemotePath, tmp_path: Path) -> None:
    write_snapshot(world(), place)
    unused: Any = None
    for command in (
        lambda: follow(unused, "metalake:ml", str(place), print),
        lambda: update(unused, "metalake:ml", str(place), print),
        lambda: export(place, str(place / "out"), "delta", print),
    ):
        with pytest.raises(InvalidInput, match="only to a folder of this machine, because they rename folders"):
            command()
    assert local_path(tmp_path.as_uri()) == tmp_path


# ---- errors, and other file systems
def test_store_that_cannot_be_reached_is_named_without_a_login(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = remote(f"{bucket}-missing/out")
    with pytest.raises(InvalidInput, match=r"-missing/out is not a snapshot of this version"):
        Snapshot(missing)
    with pytest.raises(InvalidInput, match=r"-missing/out cannot be written .*check its name, the login") as error:
        write_snapshot(world(), missing)
    assert SECRET not in str(error.value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(InvalidInput, match=r"cannot be read .*; check its name, the login and the endpoint"):
        Snapshot("s3://elsewhere/out")


def test_connection_that_is_lost_leaves_nothing_under_the_name(
    place: RemotePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = pytest.raises(GrantpathError, match=r"could not be written \(no route\); nothing was changed there; run")
    with lost, writing(place):
        raise OSError("no route")
    write = RemotePath.write_text

    def failing(self: RemotePath, text: str, encoding: str = "utf-8") -> None:
        if self.name == "current":
            raise OSError("no answer")
        write(self, text, encoding)

    monkeypatch.setattr(RemotePath, "write_text", failing)
    with pytest.raises(GrantpathError, match=r"it is not known whether its last file was written \(no answer\)"):
        write_snapshot(world(), place)


def test_any_file_system_of_pyarrow_has_snapshots(tmp_path: Path) -> None:
    """One that has folders, as HDFS does; its folder on this disk has the files."""
    base = SubTreeFileSystem(str(tmp_path), LocalFileSystem())
    place = RemotePath("hdfs://host/a%20b", "a b", base)
    write_access(write_snapshot(world(), place), NAMES)
    assert ask(place, QUESTION).answer == ANSWER
    assert place.hadoop_uri == "hdfs://host/a b" and set(table_sums(place)) >= {"objects", "access/reach"}
    written = json.loads((tmp_path / "a b" / "versions" / version_of(place) / "meta.json").read_text())
    assert written["revision"] == 5
    remove_tree(place)
    assert not (tmp_path / "a b").exists()
