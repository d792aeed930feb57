"""`--format` of the commands about snapshots: access, ask and diff print their lists in each form."""

import csv
import io
import json
from pathlib import Path

import pytest
from rich.text import Text

from grantpath.engine.cli.list_formats import ListFormat

from ..oracle import oracle
from ..support.command_line import ODD, Run, run
from ..support.plain_access import write_snapshot
from .test_without_spark import FACTS

__all__ = ["run"]
WHO = "who can SELECT_TABLE on table:hr.s.a"
DIFFERENCE = ["change", "statement", "user", "name", "type", "objects"]
ORDERS = "table:warehouse.public.customer_orders_2026"
IN_70_COLUMNS = """
change  statement           user            name        type   objects
added   add
        catalog:warehouse
added   add
        schema:warehouse.
        public
added   add
        table:warehouse.
        public.customer_
        orders_2026
added   add user:ann.of.
        sales@example.com
added   allow SELECT_TABLE
        on
        table:warehouse.
        public.customer_
        orders_2026 to
        role:n
added   member user:ann.
        of.sales@example.
        com of role:r
gained                      user:ann.of.    load_table  table        1
                            sales@example.
                            com
"""
IN_120_COLUMNS = """
change  statement                                              user                           name        type   objects
added   add catalog:warehouse
added   add schema:warehouse.public
added   add table:warehouse.public.customer_orders_2026
added   add user:ann.of.sales@example.com
added   allow SELECT_TABLE on
        table:warehouse.public.customer_orders_2026 to role:n
added   member user:ann.of.sales@example.com of role:r
gained                                                         user:ann.of.sales@example.com  load_table  table        1
"""
LATER = [f"add {ODD}", f"member {ODD} of role:r", "drop table:hr.s.b", "remove user:bob from role:r"]


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A snapshot, and one of the same root after further changes."""
    folder, made = tmp_path_factory.mktemp("forms"), oracle("gravitino", "ml")
    for fact in FACTS:
        assert made.given(fact) == "done"
    monday = write_snapshot(made, folder / "monday")
    for fact in LATER:
        assert made.given(fact) == "done"
    return str(monday), str(write_snapshot(made, folder / "tuesday"))


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def test_ask_prints_a_list_in_each_form(run: Run, snapshots: tuple[str, str]) -> None:
    forms = {form: run("ask", snapshots[1], WHO, "--format", form) for form in ListFormat}
    assert {ran.code for ran in forms.values()} == {0}
    assert rows(forms[ListFormat.csv].out) == [["ref"], [ODD]]
    assert json.loads(forms[ListFormat.jsonl].out) == {"ref": ODD}
    assert forms[ListFormat.md].out.splitlines()[:2] == ["| ref |", "| --- |"]
    assert forms[ListFormat.json].out == run("ask", snapshots[1], WHO, "--json").out
    assert forms[ListFormat.table].out.splitlines()[0] == "ref"
    assert "1 at revision" in forms[ListFormat.csv].err
    assert forms[ListFormat.json].err == ""


def test_the_answer_to_a_check_has_no_columns(run: Run, snapshots: tuple[str, str]) -> None:
    check = ["ask", snapshots[0], "user:bob can SELECT_TABLE on table:hr.s.a"]
    ran = run(*check, "--format", "csv")
    assert (ran.code, ran.out) == (2, "")
    assert "--format csv is for a list; a check is answered by yes or no, or with --json as JSON" in ran.err
    assert run(*check, "--format", "json").json["answer"] is True
    assert run(*check).out == "yes\n"


def test_diff_has_a_row_for_each_change(run: Run, snapshots: tuple[str, str]) -> None:
    asked = ["diff", *snapshots, "--names", "load_table"]
    heads, *found = rows(run(*asked, "--format", "csv").out)
    assert heads == DIFFERENCE
    assert found == [
        ["added", f"add {ODD}", "", "", "", ""],
        ["added", f"member {ODD} of role:r", "", "", "", ""],
        ["removed", "add table:hr.s.b", "", "", "", ""],
        ["removed", "deny SELECT_TABLE on table:hr.s.b to role:r", "", "", "", ""],
        ["removed", "member user:bob of role:r", "", "", "", ""],
        ["gained", "", ODD, "load_table", "table", "1"],
        ["lost", "", "user:bob", "load_table", "table", "1"],
    ]
    lines = [json.loads(line) for line in run(*asked, "--format", "jsonl").out.split("\n")[:-1]]
    assert [list(line) for line in lines] == [DIFFERENCE] * len(found)
    assert lines[-1] == dict(zip(DIFFERENCE, ("lost", None, "user:bob", "load_table", "table", 1), strict=True))
    assert len(run(*asked, "--format", "md").out.splitlines()) == 2 + len(found)
    assert run(*asked, "--format", "table").out.splitlines()[0].split() == DIFFERENCE
    assert run(*asked, "--format", "json").out == run(*asked, "--json").out
    assert rows(run("diff", snapshots[0], snapshots[0], "--format", "csv").out) == [DIFFERENCE]


def test_tables_fit_the_terminal(
    run: Run, snapshots: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = oracle("gravitino", "ml")
    facts = [*FACTS, "add catalog:warehouse", "add schema:warehouse.public", f"add {ORDERS}"]
    facts += [f"allow SELECT_TABLE on {ORDERS} to role:n", "add user:ann.of.sales@example.com"]
    for fact in [*facts, "member user:ann.of.sales@example.com of role:r"]:
        assert made.given(fact) == "done"
    asked = ["diff", snapshots[0], str(write_snapshot(made, tmp_path / "long")), "--names", "load_table", "--format"]
    piped = run(*asked, "table").out
    monkeypatch.setenv("FORCE_COLOR", "1")  # output as on a terminal

    def picture(columns: int) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        shown = [line.rstrip() for line in Text.from_ansi(run(*asked, "table").out).plain.splitlines()]
        return "\n".join(["", *shown, ""])

    assert picture(70) == IN_70_COLUMNS
    assert picture(120) == IN_120_COLUMNS
    assert picture(200) == f"\n{piped}"
    narrow = picture(20).strip().split("\n\n")  # each cell has a line of its own, behind its head
    assert narrow[0].split("\n") == ["change     added", "statement  add catalog:warehouse"]
    assert narrow[-1].split("\n")[1:] == [
        "user       user:ann.of.sales@example.com",
        "name       load_table",
        "type       table",
        "objects    1",
    ]


def test_access_prints_its_counts(run: Run, snapshots: tuple[str, str]) -> None:
    asked = ["access", snapshots[0], "--names", "SELECT_TABLE,drop_table"]
    every = run(*asked, "--json").json["answer"]
    assert {"name": "SELECT_TABLE", "type": "table", "pairs": 1} in every
    lines = run(*asked, "--format", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == every
    assert rows(run(*asked, "--format", "csv").out)[0] == ["name", "type", "pairs"]


def test_a_form_that_does_not_exist_is_an_error_that_lists_the_forms(run: Run, snapshots: tuple[str, str]) -> None:
    ran = run("diff", *snapshots, "--format", "parquet")
    assert (ran.code, ran.out) == (2, "")
    assert "'table', 'csv', 'md', 'json', 'jsonl'" in ran.err
    both = run("diff", *snapshots, "--json", "--format", "csv")
    assert both.code == 2
    assert "--json and --format csv cannot be combined" in both.err
