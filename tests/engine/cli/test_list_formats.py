"""`--format`: each list as CSV, Markdown, JSON and a table has the rows and columns of Python's answer."""

import csv
import io
import json
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine import Authorizer
from grantpath.engine.cli.list_formats import ListFormat, show_as, show_rows
from grantpath.engine.inspection.models import Abilities, Ability, Grant, GrantPage, ListAbilities, ListGrants
from grantpath.graph.errors import InvalidInput
from grantpath.graph.files.csv_text import FORMULA

from ...support.command_line import ODD, STAFF, Run, facts, run

__all__ = ["facts", "run"]

LISTS: dict[str, list[str]] = {
    "who": ["who", "load_table", STAFF],
    "which": ["which", "table", "user:bob", "load_table"],
    "list": ["list", "user"],
    "grants": ["grants"],
    "members": ["members", "role:analyst"],
    "memberships": ["memberships", "user:bob"],
    "can": ["can", "user:bob", STAFF],
    "log": ["log"],
    "question": ["question", "who_is_in_a_group", "group=role:analyst"],
}


def columns(auth: Authorizer, name: str) -> dict[str, list[Any]]:
    """The columns of the list in Python."""
    asked: dict[str, Callable[[], Any]] = {
        "who": lambda: auth.who("load_table", STAFF).read(),
        "which": lambda: auth.which("table", "user:bob", "load_table").read(),
        "list": lambda: auth.list("user"),
        "grants": auth.grants,
        "members": lambda: auth.members("role:analyst"),
        "memberships": lambda: auth.memberships("user:bob"),
        "can": lambda: auth.can("user:bob", STAFF),
        "log": lambda: auth.log(limit=20).read(),
        "question": lambda: auth.question("who_is_in_a_group", group="role:analyst"),
    }
    found = asked[name]()
    return {key: list(column.values) for key, column in found.columns().items()}


@pytest.mark.parametrize("name", LISTS)
def test_each_form_has_the_rows_and_columns_of_python(run: Run, facts: str, name: str) -> None:
    with Authorizer.open(facts) as auth:
        wanted = columns(auth, name)
    heads, number = list(wanted), len(next(iter(wanted.values())))
    assert number > 0
    forms = {form: run(*LISTS[name], "--root", facts, "--format", form) for form in ListFormat}
    assert {ran.code for ran in forms.values()} == {0}
    rows = list(csv.reader(io.StringIO(forms[ListFormat.csv].out)))
    assert rows[0] == heads
    lines = [json.loads(line) for line in forms[ListFormat.jsonl].out.split("\n")[:-1]]
    assert all(list(line) == heads for line in lines)
    marked = forms[ListFormat.md].out.splitlines()
    assert len(marked) == 2 + number
    assert len(forms[ListFormat.json].json["answer"]) == number
    assert forms[ListFormat.table].out.splitlines()[0].split() == heads
    for key in heads:
        values = wanted[key]
        if all(isinstance(value, str) for value in values):
            assert [row[heads.index(key)] for row in rows[1:]] == values
            assert [line[key] for line in lines] == values


def test_csv_of_grants_is_a_table_that_load_reads(run: Run, facts: str, tmp_path: Path) -> None:
    tables = {
        "subjects": ["user:ann", "user:bob", ODD, "role:analyst"],
        "objects": ["catalog:hr", "schema:hr.public", STAFF, "table:hr.public.pay"],
    }
    for name, refs in tables.items():
        with (tmp_path / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([["ref"], *([ref] for ref in refs)])
    text = run("grants", "--root", facts, "--format", "csv").out.replace(facts, "metalake:elsewhere")
    (tmp_path / "grants.csv").write_text(text, encoding="utf-8")
    loaded = run(
        "load", str(tmp_path), "--root", "metalake:elsewhere", "--policy", "gravitino", "--create", "--dry-run"
    )
    assert loaded.code == 0, loaded.err
    assert "4 grants" in loaded.out + loaded.err


def test_odd_names_are_exact_in_csv_and_on_one_line_elsewhere(run: Run, facts: str) -> None:
    command = ["members", "role:analyst", "--root", facts, "--format"]
    rows = list(csv.DictReader(io.StringIO(run(*command, "csv").out, newline="")))
    assert ODD in [row["member"] for row in rows]
    assert ODD in [json.loads(line)["member"] for line in run(*command, "jsonl").out.split("\n")[:-1]]
    assert len(run(*command, "md").out.splitlines()) == 4


def test_cells_that_a_spreadsheet_would_run_are_texts(capsys: pytest.CaptureFixture[str]) -> None:
    cells = [f"{sign}1+1" for sign in FORMULA if sign != "\r"]
    grants = tuple(Grant(effect="ALLOW", privilege=cell, object="table:a|b", subject="user:=1") for cell in cells)
    page = GrantPage(question=ListGrants(), answer=grants, after=None, revision=1, complete=True)
    own = partial(pytest.fail, "the command's own form")
    assert show_as(ListFormat.csv, page, own)
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["privilege"] for row in rows] == [f"'{cell}" for cell in cells]
    assert {row["subject"] for row in rows} == {"user:=1"}
    show_as(ListFormat.md, page, own)
    assert "| table:a\\|b |" in capsys.readouterr().out


def test_second_objects_are_words_in_a_cell(capsys: pytest.CaptureFixture[str]) -> None:
    needs = (Ability(name="set_tag", allowed=None, needs={"tag": "tag", "new": "table"}),)
    found = Abilities(question=ListAbilities(subject="user:bob", object=STAFF, with_={}), answer=needs, revision=1)
    show_as(ListFormat.csv, found, partial(pytest.fail, "the command's own form"))
    assert capsys.readouterr().out.splitlines() == ["name,allowed,needs", 'set_tag,,"tag=tag, new=table"']
    show_as(ListFormat.jsonl, found, partial(pytest.fail, "the command's own form"))
    assert json.loads(capsys.readouterr().out) == {"name": "set_tag", "allowed": None, "needs": needs[0].needs}


def test_cells_with_line_breaks_are_one_cell(capsys: pytest.CaptureFixture[str]) -> None:
    subjects = ["user:x\rgroup:admins", "user:x\ny", 'user:"x",y', "user:x"]
    grants = tuple(Grant(effect="ALLOW", privilege="P", object="table:a&lt;b", subject=each) for each in subjects)
    page = GrantPage(question=ListGrants(), answer=grants, after=None, revision=1, complete=True)
    own = partial(pytest.fail, "the command's own form")
    show_as(ListFormat.csv, page, own)
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out, newline="")))
    assert [row["subject"] for row in rows] == subjects
    show_as(ListFormat.md, page, own)
    assert "| table:a\\&lt;b |" in capsys.readouterr().out


def test_rows_of_json_lose_no_column_and_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    own = partial(pytest.fail, "the command's own form")
    values = ({"at": date(2026, 1, 31), "of": [Decimal("1.5"), None]}, float("nan"), [float("inf"), 1.5])
    show_rows(ListFormat.jsonl, ["a", "b", "c"], [values], own, own)
    assert json.loads(capsys.readouterr().out) == {
        "a": {"at": "2026-01-31", "of": ["1.5", None]},
        "b": None,
        "c": [None, 1.5],
    }
    with pytest.raises(InvalidInput, match="two columns are named 'ref'"):
        show_rows(ListFormat.jsonl, ["ref", "ref"], [("a", "b")], own, own)
    assert capsys.readouterr().out == ""
    show_rows(ListFormat.md, ["a|b"], [], own, own)
    assert capsys.readouterr().out.startswith("| a\\|b |")


def test_two_forms_are_an_error(run: Run, facts: str) -> None:
    ran = run("grants", "--root", facts, "--json", "--format", "csv")
    assert (ran.code, ran.out) == (2, "")
    assert "--json and --format csv cannot be combined; give one of them" in ran.err
