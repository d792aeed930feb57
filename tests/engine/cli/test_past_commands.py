"""Commands that ask about the past."""

import json
from pathlib import Path

import pytest

from grantpath.engine.cli import main

from ...support.command_line import FACTS, STAFF, Run, facts, run

__all__ = ["facts", "run"]
NOW = len(FACTS)
ASKED = "user:bob", "SELECT_TABLE", STAFF


@pytest.fixture(scope="module")
def left(facts: str) -> str:
    """A root in which bob has left the role."""
    assert main.main(["change", "remove user:bob from role:analyst", "--root", facts]) == 0
    return facts


def test_commands_answer_as_of_a_revision(run: Run, left: str) -> None:
    assert run("check", *ASKED, "--root", left).code == 1
    then = run("check", *ASKED, "--root", left, "--as-of", str(NOW), "--json")
    assert (then.code, then.json["allowed"], then.json["revision"]) == (0, True, NOW)
    assert "user:bob" in run("who", *ASKED[1:], "--root", left, "--as-of", str(NOW)).out.splitlines()
    listed = run("which", "table", *ASKED[:2], "--root", left, "--as-of", str(NOW))
    assert (listed.out, listed.code) == (f"{STAFF}\n", 0)
    assert f"at revision {NOW}" in listed.err


def test_commands_answer_as_of_a_time(run: Run, left: str) -> None:
    at = {entry["revision"]: entry["at"] for entry in run("log", "--root", left, "--json").json["answer"]}
    assert run("check", *ASKED, "--root", left, "--as-of", at[NOW]).code in (0, 1)  # both can have this time
    assert run("check", *ASKED, "--root", left, "--as-of", at[NOW + 1], "--json").json["revision"] == NOW + 1


def test_explain_and_show_are_of_that_time(run: Run, left: str) -> None:
    found = run("explain", *ASKED, "--root", left, "--as-of", str(NOW), "--json")
    assert (found.code, found.json["revision"], found.json["allowed"]) == (0, NOW, True)
    assert found.json["paths"] == [
        "user:bob -HAS_ROLE-> role:analyst -ALLOW SELECT_TABLE-> schema:hr.public <-CHILD_OF- table:hr.public.staff"
    ]
    shown = run("show", "user:bob", "--root", left, "--as-of", str(NOW), "--json").json
    assert (shown["counts"]["memberships"], shown["revision"]) == (1, NOW)
    assert run("show", "user:bob", "--root", left, "--json").json["counts"]["memberships"] == 0
    assert "role:analyst" in run("show", "user:bob", "--root", left, "--as-of", str(NOW)).out


def test_since_names_the_change(run: Run, left: str) -> None:
    ran = run("since", *ASKED, "--root", left)
    assert ran.code == 1
    assert ran.out.startswith(f"not allowed {' '.join(ASKED[:2])} on {STAFF}\n  since    revision {NOW + 1}, ")
    assert ran.out.endswith(" UTC\n           by a fact: remove user:bob from role:analyst\n")
    found = run("since", "user:ann", "SELECT_TABLE", STAFF, "--root", left, "--json")
    assert (found.code, found.json["allowed"], found.json["change"]["revision"]) == (1, False, found.json["since"])
    assert run("since", *ASKED[:2], "table:hr.public.none", "--root", left).code == 2


@pytest.mark.spark
def test_ask_leads_from_a_snapshot_to_another_revision(run: Run, left: str, tmp_path: Path) -> None:
    snapshot = str(tmp_path / "monday")
    assert run("mirror", snapshot, "--root", left).code == 0
    for question, expected in (
        ("user:bob can SELECT_TABLE on table:hr.public.staff", True),
        ("which table can user:bob SELECT_TABLE", [STAFF]),
        ("who can SELECT_TABLE on table:hr.public.staff", True),
    ):
        then = run("ask", snapshot, question, "--as-of", str(NOW), "--json").json
        assert then["revision"] == NOW
        assert then["answer"] == expected or "user:bob" in then["answer"]
    now = run("ask", snapshot, "which table can user:bob SELECT_TABLE", "--as-of", str(NOW + 1))
    assert (now.out, now.code) == ("", 0)
    assert f"0 at revision {NOW + 1} of {left}" in now.err
    assert run("ask", snapshot, "who can SELECT_TABLE on table:hr.public.none", "--as-of", "3").code == 2


def test_checks_of_a_file_are_of_one_past_revision(run: Run, left: str, tmp_path: Path) -> None:
    lines = tmp_path / "checks"
    lines.write_text(" ".join(ASKED) + "\n" + f"user:ann SELECT_TABLE {STAFF}\n")
    ran = run("check", "--file", str(lines), "--root", left, "--as-of", str(NOW), "--json")
    assert [(each["allowed"], each["revision"]) for each in map(json.loads, ran.out.splitlines())] == [
        (True, NOW),
        (False, NOW),
    ]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--as-of", "1000"], f"is at revision {NOW + 1}; it has no revision 1000 yet"),
        (["--as-of", "-1"], "as_of='-1' is neither a revision nor a time"),
        (["--as-of", "noon"], "as_of='noon' is neither a revision nor a time"),
        (["--as-of", "2999-01-01"], "is in the future"),
        (["--as-of", "1999-01-01"], "begins at"),
        (["--as-of", "3", "--at-least", "2"], "as_of cannot be combined with at_least=2"),
        (["--snapshot", "monday"], "--snapshot needs --as-of"),
        (["--as-of", "3", "--snapshot", "no-such-folder"], "no-such-folder does not exist"),
    ],
)
def test_wrong_moment_is_an_error_of_one_line(run: Run, left: str, options: list[str], says: str) -> None:
    ran = run("check", *ASKED, "--root", left, *options)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ") and ran.err.count("\n") == 1 and says in ran.err
