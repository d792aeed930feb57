"""The remedies in messages work, and small mistakes in policy files have precise messages."""

from pathlib import Path

import pytest

from grantpath.engine import Invalid, InvalidPolicy, UnknownName
from grantpath.engine.policy import policy
from grantpath.engine.policy.clauses import TooManyClauses
from grantpath.engine.policy.schema import BUILT_IN
from grantpath.engine.scenarios.scenario_file import read_scenarios
from grantpath.engine.scenarios.unknown_subjects import unmentioned

from ...support.command_line import Run, run

__all__ = ["run"]

OWN = (BUILT_IN / "github.yaml").read_text(encoding="utf-8").replace("policy: github", "policy: bi")


@pytest.mark.parametrize("ask", [("READ", "repository"), ("clone", "repository")])
def test_message_names_the_file_of_a_custom_policy(run: Run, tmp_path: Path, ask: tuple[str, str]) -> None:
    (tmp_path / "bi.yaml").write_text(OWN)
    with pytest.raises(UnknownName, match="`grantpath policy show` with the policy's file lists them"):
        policy.load(str(tmp_path / "bi.yaml")).question(f"{ask[0]}X", ask[1])
    with pytest.raises(UnknownName, match="`grantpath policy show github` lists them"):
        policy.load("github").question(f"{ask[0]}X", ask[1])
    assert run("policy", "show", str(tmp_path / "bi.yaml")).code == 0


def test_cycle_of_extends_is_found_when_paths_are_spelled_differently(tmp_path: Path) -> None:
    for folder, other in (("p", "q"), ("q", "p")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.yaml").write_text(f"policy: mine\nextends: ../{folder}/../{other}/mine.yaml\n")
    with pytest.raises(InvalidPolicy, match="extends this policy in turn; break the cycle"):
        policy.load(str(tmp_path / "p" / "mine.yaml"))


def test_a_condition_that_is_too_large_for_some_second_objects_is_invalid(monkeypatch: pytest.MonkeyPatch) -> None:
    model = policy.Policy(policy.load("gravitino").file)  # one that no other test has asked

    def too_many(*_: object) -> None:
        raise TooManyClauses

    monkeypatch.setattr(model._expander, "operation", too_many)
    monkeypatch.setattr(model._expander, "change", too_many)
    with pytest.raises(Invalid, match="associate_tag on a table with tag: the condition is too large when expanded"):
        model.question("associate_tag", "table", frozenset({"tag"}))
    with pytest.raises(Invalid, match="add on a table with tag: the condition is too large when expanded"):
        model.change("add", "table", None, frozenset({"tag"}))


def test_missing_second_object_message_shows_the_option() -> None:
    with pytest.raises(Invalid, match=r"add `with tag=tag:NAME` \(on the command line `--with tag=\.\.\.`\)"):
        policy.load("gravitino").question("associate_tag", "table")


SCENARIO = """scenario: a mistyped user is allowed nothing
policy: gravitino
root: ml
{absent}given:
  - add catalog:hr
  - owner user:bob of catalog:hr
then:
  - user:bob can load_catalog on catalog:hr
  - user:bobb cannot load_catalog on catalog:hr
  - user:`bob` can drop_catalog on catalog:hr
  - user:bobb cannot drop_catalog on catalog:hr
  - user:zoe cannot load_catalog on catalog:hr
  - ask: which catalog can user:eve load_catalog
    answer: []
  - {check: "user:odd can load_table on catalog:hr", error: true}
  - do: add user:zoe
    by: user:boob
    refused: true
"""


def test_unmentioned_subject_is_a_warning_and_with_strict_an_error(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(SCENARIO.replace("{absent}", ""))
    told = unmentioned(read_scenarios(file))
    assert [text.partition(" no `given`")[0] for text in told] == [f"{file}:9:", f"{file}:13:", f"{file}:16:"]
    assert "mentions user:bobb (did you mean user:bob" in told[0] and "`absent:`" in told[0]
    strict = run("test", str(file), "--strict")
    assert (strict.code, strict.out) == (2, "")
    assert strict.err.splitlines()[0] == f"error: {told[0]}"
    ran = run("test", str(file))
    assert (ran.code, ran.out) == (0, "8 passed, 0 failed\n")
    assert [f"warning: {text}" for text in told] == [
        line for line in ran.err.splitlines() if line.startswith("warning")
    ]


def test_absent_subject_is_not_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(SCENARIO.replace("{absent}", "absent: [user:bobb, user:eve, 'user:`boob`']\n"))
    assert unmentioned(read_scenarios(file)) == []


def test_shipped_scenarios_have_no_warning() -> None:
    top = Path(__file__).parents[3]
    files = [*(top / "tests" / "scenarios").rglob("*.yaml"), *(top / "docs" / "examples").glob("*.scenarios.yaml")]
    assert len(files) > 40
    assert [text for file in files for text in unmentioned(read_scenarios(file))] == []
