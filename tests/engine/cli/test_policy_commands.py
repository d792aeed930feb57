"""The commands for policies and scenarios."""

from pathlib import Path

from grantpath.engine.policy.schema import BUILT_IN

from ...support.command_line import Run, facts, run

__all__ = ["facts", "run"]


# ---- policies and scenarios --------------------------------------------------------------------------------------
def test_policies_are_listed_and_shown(run: Run) -> None:
    names = [each["policy"] for each in run("policy", "list", "--json").json["answer"]]
    assert names == sorted(path.stem for path in BUILT_IN.glob("*.yaml"))
    for name in names:
        source = run("policy", "show", name, "--json").json
        shown = "".join(run("policy", "show", name).out.split())
        named = [*source["types"], *source["privileges"], *source["builtin"]]
        named += [names for operations in source["operations"].values() for names in operations]
        assert [word for word in named if "".join(word.split()) not in shown] == []


def test_bad_policy_error_has_file_line_and_key(run: Run, tmp_path: Path) -> None:
    good = (BUILT_IN / "gravitino.yaml").read_text()
    file = tmp_path / "mine.yaml"
    file.write_text(good)
    assert run("policy", "validate", str(file), "--json").json["valid"] is True
    file.write_text(good.replace("{in: schema, owned_by: user}", "{in: shema, owned_by: user}", 1))
    bad = run("policy", "validate", str(file))
    line = next(at for at, text in enumerate(file.read_text().splitlines(), 1) if "shema" in text)
    assert bad.code == 2
    assert f"{file}:{line}: types.table.in: " in bad.err
    assert "did you mean schema" in bad.err


SCENARIO = """scenario: a small one
policy: gravitino
root: ml
given: [add catalog:hr, owner user:ann of catalog:hr]
then:
  - user:ann can load_catalog on catalog:hr
  - user:ann cannot alter_catalog on catalog:hr
"""


def test_scenarios_pass_fail_or_cannot_be_read(run: Run, facts: str, tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(SCENARIO)
    told = run("test", str(file), "--json")
    assert told.code == 1
    assert (told.json["passed"], told.json["failed"]) == (1, 1)
    assert told.json["results"][1] == {
        "file": str(file),
        "scenario": "a small one",
        "line": 7,
        "statement": "user:ann cannot alter_catalog on catalog:hr",
        "expected": False,
        "got": True,
        "engine": "cypher",
        "passed": False,
    }
    spoken = run("test", str(file))
    assert f"{file}:7 user:ann cannot alter_catalog" in spoken.out
    assert "user:ann owns catalog:hr" in spoken.out
    assert spoken.out.splitlines()[-1] == "1 passed, 1 failed"
    file.write_text(SCENARIO.replace("cannot alter", "can alter"))
    assert run("test", str(file)).code == 0
    (empty := file.parent / "empty").mkdir()
    missing = run("test", str(file), str(empty))
    assert (missing.code, missing.out) == (2, "") and f"{empty} has no .yaml or .yml file" in missing.err
    file.write_text(SCENARIO.replace("user:ann cannot", "user:ann may"))
    unreadable = run("test", str(file))
    assert (unreadable.code, f"{file}:7: " in unreadable.err) == (2, True)
    file.write_text(SCENARIO + "  - {check: user:ann can load_table on catalog:hr, error: false}\n")
    message = "then.2.error: the value must be true; otherwise remove the key"
    assert run("test", str(file)).err == f"error: {file}:8: {message}\n"
    for keys, message in (
        ("by: ''", "`by` names nobody; write by: user:ann, or remove the key: then it is written as a fact"),
        ("by: ", "`by` names nobody; write by: user:ann, or remove the key: then it is written as a fact"),
        (
            "refused: true, invalid: true",
            "a change cannot be both refused and invalid; remove one of the two keys",
        ),
    ):
        file.write_text(SCENARIO + f"  - {{do: add user:new, {keys}}}\n")
        assert run("test", str(file)).err == f"error: {file}:8: {message}\n"


def test_a_folder_of_scenarios_has_two_endings(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(SCENARIO.replace("cannot alter", "can alter"))
    (tmp_path / "b.yml").write_text(SCENARIO)
    assert run("test", str(tmp_path)).out.splitlines()[-1] == "3 passed, 1 failed"
