"""The commands that look at a root: their JSON, their pages, and wrong filters."""

import json
import re
import shlex
from collections.abc import Iterator

import pytest

from grantpath.engine import Revocation
from grantpath.engine.inspection import models
from grantpath.graph.guard.store import Store

from ...support import named_roots
from ...support.command_line import Run, run

__all__ = ["run"]


@pytest.fixture(scope="module")
def company(store: Store) -> Iterator[str]:
    with named_roots.company(store, "looking") as name:
        yield name


@pytest.mark.parametrize(
    ("words", "model"),
    [
        (["show", "role:analyst"], models.EntityView),
        (["list", "table"], models.EntityPage),
        (["grants"], models.GrantPage),
        (["members", "role:analyst"], models.MembershipPage),
        (["memberships", "user:bob", "--all"], models.MembershipPage),
        (["can", "user:bob", "table:hr.public.staff"], models.Abilities),
        (["revocation", "user:bob", "load_table", "table:hr.public.staff"], Revocation),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else "",
)
def test_json_is_the_answer_of_python(run: Run, company: str, words: list[str], model: type) -> None:
    ran = run(*words, "--root", company, "--json")
    assert (ran.code, ran.err) == (0, "")
    answer = model.model_validate_json(ran.out)  # type: ignore[attr-defined]
    assert json.loads(answer.model_dump_json()) == ran.json
    assert ran.json["revision"] > 0
    assert set(ran.json["question"])


def test_next_page_is_the_one_that_the_last_line_names(run: Run, company: str) -> None:
    first = run("grants", "--limit", "1", "--root", company)
    assert first.out.splitlines()[1].split()[:2] == ["ALLOW", "USE_SCHEMA"]
    [after, at] = re.findall(r"more with --after (.*) --at (\d+)", first.err)[0]
    options = ["--after", shlex.split(after)[0], "--at", at]
    rest = run("grants", *options, "--root", company)
    assert [line.split()[1] for line in rest.out.splitlines()[1:]] == ["USE_CATALOG", "SELECT_TABLE"]
    run("change", "add user:eve", "--root", company)
    late = run("grants", *options, "--root", company)
    assert (late.code, late.out) == (2, "")
    assert "read the list again from its first page" in late.err


def test_operation_with_a_second_object_names_the_option(run: Run, company: str) -> None:
    ran = run("can", "user:ann", "table:hr.public.staff", "--root", company)
    assert re.search(r"^associate_object_tags +depends on --with tag=tag:NAME$", ran.out, re.MULTILINE)
    assert re.search(r"^load_table +yes$", ran.out, re.MULTILINE)
    run("change", "add tag:pii", "--root", company)
    given = run("can", "user:ann", "table:hr.public.staff", "--with", "tag=tag:pii", "--root", company)
    assert re.search(r"^associate_object_tags +yes$", given.out, re.MULTILINE)


def test_subject_that_is_allowed_nothing_gets_one_list_of_names(run: Run, company: str) -> None:
    run("change", "add tag:open", "--root", company)
    run("change", "add user:nobody", "--root", company)
    ran = run("can", "user:nobody", "tag:open", "--root", company)
    assert re.match(r"  no +APPLY_TAG, alter_tag, ", ran.out) and ran.out.count("no ") == 1
    listed = run("can", "user:nobody", "tag:open", "--root", company, "--format", "table").out
    assert re.search(r"^alter_tag +false$", listed, re.MULTILINE)


def test_wrong_filters_are_errors(run: Run, company: str) -> None:
    for words in (
        ["list", "tabel"],
        ["grants", "--effect", "maybe"],
        ["list", "table", "--limit", "0"],
        ["who", "load_table", "table:hr.public.staff", "--limit", "0"],
        ["which", "table", "user:ann", "load_table", "--limit", "0"],
        ["log", "--limit", "0"],
        ["members", "table:a.b.c"],
    ):
        ran = run(*words, "--root", company)
        assert (ran.code, ran.out) == (2, "")
    assert "did you mean table" in run("list", "tabel", "--root", company).err
