"""SQL over a snapshot: one statement that reads, in every form of a list."""

import csv
import json
from pathlib import Path

import pytest

from grantpath.graph.errors import InvalidInput
from grantpath.spark_sync.bulk.bulk_access import access
from grantpath.spark_sync.tables.sql import sql

from ..oracle import oracle
from ..support.command_line import Run, run
from ..support.plain_access import write_snapshot
from .test_without_spark import FACTS

__all__ = ["run"]
WHO = "select subject, objects from reach where name = 'SELECT_TABLE' and type = 'table'"


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = oracle("gravitino", "ml")
    for fact in FACTS:
        assert made.given(fact) == "done"
    out = write_snapshot(made, tmp_path_factory.mktemp("plain") / "it's 100% [a]")
    access(out, ["SELECT_TABLE"])
    return out


def test_views_have_their_names_with_and_without_the_schema(snapshot: Path) -> None:
    found = sql(snapshot, WHO)
    assert (found.columns, found.rows, found.revision) == (["subject", "objects"], [("user:bob", 1)], 5)
    assert sql(snapshot, WHO.replace("reach", "grantpath.reach")).rows == found.rows
    assert sql(snapshot, f"with found as ({WHO}) select count(*) from found;").rows == [(1,)]


@pytest.mark.parametrize("inside", ["meta.json", "subjects/part-00000.parquet", "new.csv", "access/../x.csv", "", ".."])
@pytest.mark.parametrize(
    "write",
    [
        "copy ({who}) to '{target}' (format csv)",
        "COPY ({who} /* to 'elsewhere' */)\n TO 'file://{target}' (format csv)",
        "explain analyze copy ({who}) to '{target}'",
        "/* é */ copy ({who}) to '{target}' (format csv)",
        "copy (select 'ö' as \"größe\") to 'file://localhost{target}' -- a comment",
    ],
)
def test_copy_into_the_snapshot_is_refused(snapshot: Path, inside: str, write: str) -> None:
    before = sorted((path, path.stat().st_mtime_ns) for path in snapshot.parent.rglob("*"))
    target = str(snapshot / inside).replace("'", "''")
    with pytest.raises(
        InvalidInput, match=r"COPY would write into the snapshot .*, which is only read; name a file else"
    ):
        sql(snapshot, write.format(who=WHO, target=target))
    assert sorted((path, path.stat().st_mtime_ns) for path in snapshot.parent.rglob("*")) == before


@pytest.mark.parametrize(
    ("write", "message"),
    [
        ("with a as (copy (select 1) to '{0}/x.csv') select * from a", "a COPY inside of a statement is not run"),
        ("with a as (copy users to '{0}/x.csv') select * from a", "a COPY inside of a statement is not run"),
        ("copy (with a as (copy (select 1) to '{0}/x.csv') from a) to 'a.csv'", "a COPY inside of a statement"),
        ("copy (select 1) to '{1}'\n'/meta.json' (format csv)", "the name of the file in single quotes"),
        ("copy (select 1) to E'{0}/meta.json'", "the name of the file in single quotes"),
        (
            "copy (select 1 a) to '{1}/other' (format csv, per_thread_output true, filename_pattern '../it/x')",
            "filename_pattern names a folder; name it after `to`",
        ),
        ("copy (select 1) to 'a\0b.csv'", "cannot be the name of a file"),
    ],
)
def test_copy_that_could_hide_where_it_writes_is_refused(snapshot: Path, write: str, message: str) -> None:
    before = sorted((path, path.stat().st_mtime_ns) for path in snapshot.parent.rglob("*"))
    names = (str(each).replace("'", "''") for each in (snapshot, snapshot.parent))
    with pytest.raises(InvalidInput, match=message):
        sql(snapshot, write.format(*names))
    assert sorted((path, path.stat().st_mtime_ns) for path in snapshot.parent.rglob("*")) == before


def test_copy_elsewhere_is_made(snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    for number, write in enumerate(
        (
            "copy (select 'jörg' as \"größe\") to 'öut.csv' (format csv, delimiter '/')",
            "copy users to '~/users.csv'",
            "copy (select to_days(1) as copy) to '~/../home/days.csv' (format csv)",
            "copy (select 1 as a, 2 as b) to 'parts' (format csv, partition_by (a), filename_pattern 'x_{i}')",
            "explain analyze copy (select 1) to 'explained.csv'",
        )
    ):
        assert sql(snapshot, write).rows
        assert len([*tmp_path.iterdir(), *(tmp_path / "home").iterdir()]) == number + 2


def test_copy_to_a_name_relative_to_the_snapshot_is_refused(snapshot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(snapshot)
    with pytest.raises(InvalidInput, match="COPY would write into the snapshot"):
        sql(".", f"copy ({WHO}) to 'meta.json' (format csv)")


def test_describe_lists_the_columns_of_a_view(snapshot: Path) -> None:
    assert [row[0] for row in sql(snapshot, "describe reach").rows] == ["subject", "name", "type", "objects"]


def test_words_of_copy_can_be_names(snapshot: Path) -> None:
    assert sql(snapshot, 'select 1 as copy, 2 as "to"').columns == ["copy", "to"]
    assert sql(snapshot, "explain select count(*) as copy from users").rows
    assert sql(snapshot, "select (copy) from (select 1 as copy)").rows == [(1,)]


def test_copy_writes_a_file(snapshot: Path, tmp_path: Path) -> None:
    target = tmp_path / "who.csv"
    assert sql(snapshot, f"copy ({WHO}) to '{target}'").rows == [(1,)]
    assert [*csv.reader(target.read_text().splitlines())] == [["subject", "objects"], ["user:bob", "1"]]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("drop view grantpath.reach", "write one `select` or one `copy"),
        ("create table t (a int)", "not create"),
        ("insert into grantpath.reach values (1)", "not insert"),
        ("update grantpath.reach set objects = 0", "not update"),
        ("attach 'other.db'", "not attach"),
        ("set search_path = 'main'", "not set"),
        ("pragma database_list", "not pragma"),
        ("select 1; select 2", "write one `select` or one `copy .* to 'file'`, not 2 statements$"),
        ("  ", "not no statement$"),
        ("copy (select 1) to file", "COPY: write the name of the file in single quotes"),
        ("copy (select 1) to ('a' || 'b')", "COPY: write the name of the file in single quotes"),
        ("copy (select 1) to $$a$$", "COPY: write the name of the file in single quotes"),
        ("selec 1", "DuckDB: Parser Error: syntax error at or near"),
        (
            "select * from reech",
            "the views are below, effective, exposure, grants, members, names, objects, owners",
        ),
        (
            "select people from reach",
            '"people" not found .*; the statement `describe VIEW` lists the columns of a view$',
        ),
        ("select r.name from reach", 'table "r" not found! .*; the statement `describe VIEW` lists the columns'),
        (
            "select reach.people from reach",
            "does not have a column .*; the statement `describe VIEW` lists the columns",
        ),
        ("select * from reach join names using (ref)", "does not exist .*; the statement `describe VIEW` lists the"),
        ("select name, count(*) from reach", "must appear in the GROUP BY clause [^;]*$"),
    ],
)
def test_other_statements_are_refused(snapshot: Path, statement: str, message: str) -> None:
    before = sql(snapshot, WHO).rows
    with pytest.raises(InvalidInput, match=message):
        sql(snapshot, statement)
    assert sql(snapshot, WHO).rows == before


def test_command_prints_each_form(run: Run, snapshot: Path) -> None:
    assert run("sql", str(snapshot), WHO).out.split() == ["subject", "objects", "user:bob", "1"]
    assert run("sql", str(snapshot), WHO, "--format", "csv").out == "subject,objects\nuser:bob,1\n"
    assert run("sql", str(snapshot), WHO, "--format", "md").out.splitlines()[2] == "| user:bob | 1 |"
    assert json.loads(run("sql", str(snapshot), WHO, "--format", "jsonl").out) == {"subject": "user:bob", "objects": 1}
    ran = run("sql", str(snapshot), WHO, "--json")
    assert ran.json == {"answer": [{"subject": "user:bob", "objects": 1}], "complete": True, "revision": 5}
    wrong = run("sql", str(snapshot), "delete from reach")
    assert (wrong.code, wrong.out) == (2, "")
    values = "select date '2026-01-31' as d, 1.50::decimal(5, 2) as n, [1, 2] as l, null as x"
    typed = run("sql", str(snapshot), values, "--json")
    assert typed.json["answer"] == [{"d": "2026-01-31", "n": "1.50", "l": [1, 2], "x": None}]
