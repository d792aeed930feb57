"""--quiet: no progress and no notes; answers, errors, warnings and exit codes are the same."""

from pathlib import Path

import pytest

from grantpath.engine.cli import output
from grantpath.engine.tenants import registry
from grantpath.graph.guard.store import Store

from ...support.command_line import STAFF, Run, facts, run

__all__ = ["facts", "run"]
NOTED = [
    ["who", "load_table", STAFF],
    ["which", "table", "user:bob", "load_table", "--limit", "1"],
    ["list", "table", "--limit", "1"],
    ["can", "user:bob", STAFF],
    ["show", STAFF],
    ["grants"],
    ["log", "--limit", "1"],
]


@pytest.mark.parametrize("words", NOTED, ids=lambda words: words[0])
def test_quiet_prints_the_same_answer_without_its_note(run: Run, facts: str, words: list[str]) -> None:
    loud = run(*words, "--root", facts)
    assert (loud.code, loud.err != "") == (0, True)
    for quiet in ([*words, "--root", facts, "-q"], ["--quiet", *words, "--root", facts]):
        ran = run(*quiet)
        more = "more " in loud.err  # that a list is not complete is no note
        assert (ran.code, ran.out, ran.err) == (0, loud.out, loud.err if more else "")


def test_quiet_omits_progress_and_keeps_the_answer(run: Run, store: Store, tmp_path: Path) -> None:
    root, folder = f"metalake:quiet-{tmp_path.name}", tmp_path / "tables"
    folder.mkdir()
    (folder / "subjects.csv").write_text("ref\nuser:ann\n")
    words = ["--root", root, "--policy", "gravitino"]
    try:
        loaded = run("load", str(folder), "--create", "-q", *words)
        assert (loaded.code, loaded.err) == (0, "") and "loaded" in loaded.out
        assert "created the root" not in loaded.err
        assert run("dump", str(tmp_path / "a"), "--root", root).err != ""
        assert run("dump", str(tmp_path / "b"), "--root", root, "-q").err == ""
    finally:
        registry.remove(store, root)


def test_quiet_keeps_errors_and_exit_codes(run: Run, facts: str) -> None:
    refused = run("check", "user:ghost", "load_table", STAFF, "--root", facts, "-q")
    assert (refused.code, refused.err) == (1, "") and refused.out.startswith("not allowed")
    wrong = run("check", "user:bob", "nosuch", STAFF, "--root", facts, "-q")
    assert (wrong.code, wrong.out) == (2, "") and wrong.err.startswith("error: ")
    assert run("check", "user:bob", "-q").code == 2


def test_quiet_keeps_warnings(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    file.write_text("scenario: s\npolicy: lakehouse\nroot: m\nthen: ['user:eve cannot drop_catalog on catalog:c']\n")
    loud = run("test", str(file))
    [warning] = [line for line in loud.err.splitlines() if line.startswith("warning: ")]
    assert run("test", str(file), "--quiet").err == f"{warning}\n"


def test_quietness_ends_with_its_command(run: Run, facts: str) -> None:
    run("show", STAFF, "--root", facts, "-q")
    assert run("show", STAFF, "--root", facts).err != ""
    assert output.starting() is None
