"""The command `question` lists the catalogue, and answers one question of it."""

import contextlib
import io
import re

import pytest

from grantpath.cypher.catalogue import GROUPS, catalogue
from grantpath.engine import CatalogueAnswer
from grantpath.engine.cli.main import main

from ...support.command_line import ODD, Run, facts, run

__all__ = ["facts", "run"]


def test_list_has_the_groups_with_their_questions_in_words(run: Run) -> None:
    lines = run("question").out.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == list(GROUPS)
    listed = [line.strip().partition("  ") for line in lines if line.startswith(" ")]
    assert [(name, text.strip()) for name, _, text in listed] == [
        (each.name, each.text) for each in catalogue().values()
    ]


def test_on_a_terminal_the_list_is_broken_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("TTY_COMPATIBLE", "1"), ("FORCE_COLOR", "1"), ("NO_COLOR", "1"), ("COLUMNS", "70")):
        monkeypatch.setenv(name, value)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main(["question"]) == 0
    plain = re.sub(r"\x1b\[[0-9;]*m", "", printed.getvalue())
    assert max(map(len, plain.splitlines())) <= 70
    texts = " ".join(plain.split())
    assert all(word in texts for each in catalogue().values() for word in each.text.split())


def test_json_of_the_list_has_the_parameters(run: Run) -> None:
    answer = run("question", "--json").json["answer"]
    assert [each["name"] for each in answer] == list(catalogue())
    [one] = [each for each in answer if each["name"] == "who_is_in_a_group"]
    assert one["parameters"] == {"group": {"example": "group:readers", "note": "or a role: 'role:analyst'"}}


def test_answer_is_a_table_with_paths_and_what_it_leaves_out(run: Run, facts: str) -> None:
    ran = run("question", "who_is_in_a_group", "group=role:analyst", "--limit", "1", "--root", facts)
    head, row = ran.out.splitlines()
    assert head.split() == ["member", "type", "direct", "path"]
    assert "yes" in row
    assert "-HAS_ROLE-> role:analyst" in row
    assert "1 at revision" in ran.err
    assert "there are more, raise --limit. Left out: Other paths to the same member" in ran.err


def test_json_is_the_answer_of_python(run: Run, facts: str) -> None:
    ran = run("question", "who_is_in_a_group", "group=role:analyst", "--root", facts, "--json")
    answer = CatalogueAnswer.model_validate_json(ran.out)
    assert {row["member"] for row in answer} == {"user:bob", ODD}


def test_no_answer_says_why(run: Run, facts: str) -> None:
    ran = run("question", "who_is_in_a_group", "group=role:analyts", "--root", facts)
    assert ran.out == ""
    assert f"role:analyts does not exist in {facts} (did you mean role:analyst?)\n" in ran.err


def test_wrong_words_name_the_remedy(run: Run, facts: str) -> None:
    for words, message in (
        (["who_is_in_a_grop"], "did you mean who_is_in_a_group?"),
        (["who_is_in_a_group"], "group is missing; give it, e.g. group=group:readers"),
        (["who_is_in_a_group", "x" * 5_000], "xxx... is not PARAMETER=VALUE"),
        (["who_is_in_a_group", "role:analyst"], "'role:analyst' is not PARAMETER=VALUE; write e.g. subject=user:bob"),
        (["who_is_in_a_group", "group=role:a", "group=role:b"], "a parameter is given twice; give each once"),
        (["recent_changes", "limit=3"], "no parameter 'limit'; it takes none"),
    ):
        ran = run("question", *words, "--root", facts)
        assert (ran.code, ran.out) == (2, "")
        assert message in ran.err


def test_the_list_has_one_form_beside_json(run: Run) -> None:
    assert run("question", "--format", "json").out == run("question", "--json").out
    ran = run("question", "--format", "csv")
    assert (ran.code, ran.out) == (2, "")
    assert "--format csv is for the answer to a question; name one, or list the questions with --json" in ran.err
