"""`grantpath plan` prints a change for a review, and `grantpath apply` makes exactly this change or nothing."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine import Authorizer, ChangePlan, Conflict, InvalidInput
from grantpath.engine.tenants import registry
from grantpath.graph.guard.store import Store

from ....conftest import Tenants
from ....support.command_line import FACTS, ODD, Run, run
from ...tenants.test_recreated_tenants import facts, make_again

__all__ = ["run"]

# in a file, a line must not begin or end with the invisible character in this name
COMPANY = [*(each for each in FACTS if ODD not in each), "member user:ann of role:analyst"]
BROAD = "allow SELECT_TABLE on catalog:hr to role:analyst"


@pytest.fixture
def root(run: Run, store: Store, tmp_path: Path) -> Iterator[str]:
    """A small company, in a root of its own."""
    name = f"metalake:plan-{tmp_path.name}"
    (tmp_path / "facts.txt").write_text("\n".join(each.replace("ROOT", name) for each in COMPANY))
    facts = ("--file", str(tmp_path / "facts.txt"), "--root", name, "--policy", "gravitino", "--create")
    assert run("change", *facts).code == 0
    yield name
    registry.remove(store, name)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of two statements."""
    made = tmp_path / "changes.txt"
    made.write_text(f"# wider\n{BROAD}\nremove user:bob from role:analyst\n")
    return made


def test_a_plan_is_markdown_and_ends_with_3(run: Run, root: str, file: Path) -> None:
    ran = run("plan", str(file), "--root", root)
    assert ran.code == 3
    lines = ran.out.splitlines()
    planned = ChangePlan.model_validate_json(run("plan", str(file), "--root", root, "--json").out)
    assert lines[0] == f"# Plan for {root} at revision {len(COMPANY)}"
    assert lines[2].startswith("2 statements of ") and lines[2].endswith("gains access and 1 user loses access.")
    assert [f"+ {BROAD}", "- member user:bob of role:analyst"] == [lines[8], lines[7]]
    assert lines.index("## Lost") < lines.index("## Gained")
    same = f"`--at-revision {len(COMPANY)} --root-id {planned.root_id}`"
    assert lines[-1] == f"Make exactly this change with {same} of `grantpath apply`."
    assert "- user:bob loses SELECT_TABLE" in ran.out


def test_a_plan_that_changes_nothing_ends_with_0(run: Run, root: str, tmp_path: Path) -> None:
    (tmp_path / "same.txt").write_text("member user:bob of role:analyst\n")
    ran = run("plan", str(tmp_path / "same.txt"), "--root", root)
    assert (ran.code, "Nothing would change." in ran.out, "at-revision" in ran.out) == (0, True, False)


def test_a_plan_as_json_is_a_change_plan(run: Run, root: str, file: Path) -> None:
    ran = run("plan", str(file), "--root", root, "--json")
    assert ran.code == 3
    assert ChangePlan.model_validate_json(ran.out).added == (BROAD,)


def test_names_have_no_meaning_in_the_markdown(run: Run, root: str, tmp_path: Path) -> None:
    (tmp_path / "odd.txt").write_text("add user:`<b>*x*_y_z_`\nmember user:`<b>*x*_y_z_` of role:analyst\n")
    ran = run("plan", str(tmp_path / "odd.txt"), "--root", root)
    assert "- user:\\<b\\>\\*x\\*\\_y_z\\_ gains SELECT_TABLE on" in ran.out


@pytest.mark.parametrize(
    ("text", "by", "code", "error"),
    [
        ("add catalog:x\n", "user:bob", 1, ":1: "),
        ("add user:x\n\nadd user:bob\n", None, 2, ":3: "),
        ("# nothing\n", None, 2, "has no statement"),
    ],
)
def test_a_wrong_line_is_named(
    run: Run, root: str, tmp_path: Path, text: str, by: str | None, code: int, error: str
) -> None:
    (tmp_path / "wrong.txt").write_text(text)
    ran = run("plan", str(tmp_path / "wrong.txt"), "--root", root, *(["--by", by] if by else []))
    assert (ran.code, ran.out, error in ran.err) == (code, "", True)


def test_apply_makes_the_planned_change_once(run: Run, root: str, file: Path) -> None:
    planned = ChangePlan.model_validate_json(run("plan", str(file), "--root", root, "--json").out)
    words = ["apply", str(file), "--at-revision", str(planned.revision), "--root-id", planned.root_id, "--root", root]
    done = run(*words, "--id", "once", "--json")
    assert (done.code, done.json["revision"]) == (0, planned.revision + 2)
    assert run(*words, "--id", "once", "--json").json == done.json  # the same request is not a second change
    again = run(*words)
    assert (again.code, again.out) == (2, "")
    assert f"is at revision {planned.revision + 2}, not at {planned.revision}; nothing is done" in again.err
    assert run("plan", str(file), "--root", root).code == 0


def test_apply_does_nothing_after_any_other_change(run: Run, root: str, file: Path) -> None:
    run("change", "add user:other", "--root", root)
    for words in ([], ["--by", "user:ann"], ["--by", "user:bob"]):
        ran = run("apply", str(file), "--at-revision", str(len(COMPANY)), "--root", root, *words)
        assert (ran.code, "nothing is done" in ran.err) == (2, True), ran.err
    assert run("log", "--root", root, "--json").json["revision"] == len(COMPANY) + 1


def test_apply_needs_a_revision(run: Run, root: str, file: Path) -> None:
    assert "--at-revision" in run("apply", str(file), "--root", root).err
    assert run("apply", str(file), "--at-revision", "x", "--root", root).code == 2


@pytest.mark.parametrize("by", [None, "user:ann"])
def test_a_root_that_was_created_again_is_not_the_planned_one(tenant: Tenants, by: str | None) -> None:
    """Even if it has the same name and the same revision."""
    auth = tenant("gravitino", facts("ann", "bob"))
    planned = auth.plan(["add user:cas"])
    make_again(auth, ["ann", "bob"])
    assert auth.revision_now() == planned.revision
    with pytest.raises(Conflict, match=r"dropped and created again.*; nothing is done"):
        auth.change_all(["add user:cas"], by=by, at_revision=planned.revision, root_id=planned.root_id)
    assert auth.revision_now() == planned.revision
    now = auth.plan(["add user:cas"])
    assert auth.change_all(["add user:cas"], at_revision=now.revision, root_id=now.root_id)[0].id


@pytest.mark.parametrize("state", [{"at_revision": "1"}, {"root_id": 1}])
def test_a_planned_state_has_a_number_and_a_text(tenant: Tenants, state: dict[str, Any]) -> None:
    auth = tenant("gravitino", ["add user:bob"])
    with pytest.raises(InvalidInput, match=next(iter(state))):
        auth.change_all(["add user:cas"], **state)


def test_of_two_changes_at_one_revision_one_is_made(tenant: Tenants) -> None:
    auth: Authorizer = tenant("gravitino", ["add user:bob"])
    for number in range(10):
        revision = auth.revision_now()
        names = random.Random(number).sample(["ann", "cas"], 2)
        auth.change_all([f"add user:{names[0]}{number}"], at_revision=revision)
        with pytest.raises(Conflict, match="nothing is done"):
            auth.change_all([f"add user:{names[1]}{number}"], at_revision=revision)
        assert auth.revision_now() == revision + 1
