"""Help teaches by example, and the main use case runs from the shell."""

import shlex
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.text import Text

from grantpath.engine.change import audit_log
from grantpath.engine.cli.admin import log_command
from grantpath.engine.cli.context import CommandContext
from grantpath.engine.cli.main import app
from grantpath.engine.tenants import registry
from grantpath.graph.errors import InvalidInput
from grantpath.graph.guard.store import Store

from ...support.command_line import FACTS, ODD, STAFF, Run, facts, run

__all__ = ["facts", "run"]


def _every(command: Any, *words: str) -> Iterator[tuple[list[str], Any]]:
    """A command and those inside it, each with its words."""
    yield [*words], command
    for name, each in getattr(command, "commands", {}).items():
        yield from _every(each, *words, name)


EVERY = [*_every(typer.main.get_command(app))]
COMMANDS = [words for words, command in EVERY if words and not command.hidden]
WITH_EXAMPLES = [words for words in COMMANDS if words != ["policy"]]  # which only prints its help


# ---- help --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("words", WITH_EXAMPLES)
def test_help_teaches_by_example(run: Run, words: list[str]) -> None:
    ran = run(*words, "--help")
    assert ran.code == 0
    assert f"Example: grantpath {' '.join(words)}" in ran.out
    assert "--json" in ran.out


@pytest.mark.parametrize("words", WITH_EXAMPLES)
def test_example_of_the_help_is_accepted(run: Run, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages of the docs run most of them (tests/pages); here each is read up to its first question."""

    def parsed(session: CommandContext) -> None:
        raise InvalidInput("the options are read")

    shown = run(*words, "--help").out
    [example] = [line.partition("grantpath ")[2] for line in shown.splitlines() if "Example: grantpath" in line]
    monkeypatch.setattr(CommandContext, "running", parsed)
    ran = run(*shlex.split(example))
    assert (ran.code, "the options are read" in ran.err) == (2, True)


def test_the_bare_command_lists_the_commands(run: Run) -> None:
    ran = run()
    assert ran.code == 0
    assert [name for name, *inner in COMMANDS if not inner and f"\n  {name} " not in ran.out] == []


def test_version_is_printed_as_text_or_as_json(run: Run) -> None:
    version = metadata.version("grantpath")
    assert run("--version").out == f"grantpath {version}\n"
    for words in (["--json", "--version"], ["--version", "--json"]):
        assert (run(*words).code, run(*words).json) == (0, {"version": version})
    for words in (["--version", "--root", "x"], ["--json", "check", "--version"], ["check", "--json", "--version"]):
        assert run(*words).code == 2


def test_log_limits_its_entries_as_the_log_does() -> None:
    assert log_command.MOST == audit_log.MOST


# ---- Spark -------------------------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.spark
def test_a_snapshot_is_mirrored_asked_compared_and_verified(run: Run, facts: str, tmp_path: Path) -> None:
    monday, tuesday = str(tmp_path / "monday"), str(tmp_path / "tuesday")
    assert run("mirror", monday, "--root", facts, "--json").json["revision"] == len(FACTS)
    assert run("mirror", monday, "--root", facts).code == 2
    access = run("access", monday, "--names", "load_table,drop_table", "--json").json
    assert {"name": "load_table", "type": "table", "pairs": 4} in access["answer"]
    who = run("ask", monday, f"who can load_table on {STAFF}", "--json").json
    assert who == {"answer": [ODD, "user:ann", "user:bob"], "complete": True, "revision": len(FACTS)}
    assert run("ask", monday, f"user:bob can drop_table on {STAFF}").code == 1
    verified = run("verify", monday, "--sample", "200", "--seed", "5", "--json")
    assert (verified.code, verified.json["compared"], verified.json["different"]) == (0, 200, [])
    run("change", "revoke deny SELECT_TABLE on table:hr.public.pay from role:analyst", "--root", facts)
    later = run("verify", monday, "--sample", "200", "--seed", "5", "--json")
    assert (later.code, later.json["different"]) == (0, [])
    assert later.json["compared"] == 200, "questions that the change may affect are compared with the past"
    run("mirror", tuesday, "--root", facts)
    changed = run("diff", monday, tuesday, "--names", "load_table", "--json").json
    assert changed["facts_removed"] == ["deny SELECT_TABLE on table:hr.public.pay to role:analyst"]
    assert changed["access"][0]["by_user"] == {ODD: [1, 0], "user:bob": [1, 0]}
    run("change", FACTS[-1], "--root", facts)


@pytest.mark.slow
@pytest.mark.spark
def test_the_demo_runs_from_end_to_end(run: Run, store: Store, tmp_path: Path) -> None:
    target = tmp_path / "demo"
    shown = run("demo", "--out", str(target), "--yes")
    assert shown.code == 0
    for text in (
        "13 Staff reads the tables of both",
        "refused add catalog:hive",
        "-DENY SELECT_TABLE-> table:retail.customer.customer",
        "500 answers compared, 0 different",
        "grantpath params",
    ):
        assert text in " ".join(shown.out.split())
    assert "\\n" not in shown.out
    assert (target / "access" / "names").is_dir()
    for root in ("metalake:demo", "metalake:tpc"):
        registry.remove(store, root)


def test_demo_does_not_touch_a_folder_without_snapshot(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    ran = run("demo", "--out", str(tmp_path), "--yes")
    assert (ran.code, "is not the snapshot of a demo" in ran.err) == (2, True)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_help_shows_no_option_without_effect(run: Run) -> None:
    refused = {"access": "root", "report": "uri", "up": "policy"}
    for command, option in refused.items():
        shown = run(command, "--help").out
        assert f"--{option}" not in shown and "--timeout" in shown
    used = run("check", "--help").out
    assert all(f"--{option}" in used for option in ("root", "policy", "uri"))
    ran = run("report", "nowhere", "--uri", "bolt://localhost:1")
    assert (ran.code, "--uri has no effect on this command; omit it" in ran.err) == (2, True)


def test_help_loses_no_brackets() -> None:
    """The help of an option is markup of rich, which omits an unknown tag such as [default]."""
    told = [param.help for _, command in EVERY for param in command.params if hasattr(param, "help")]
    assert len(told) > 100
    assert [each for each in told if each and Text.from_markup(each).plain != each] == []
