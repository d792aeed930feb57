"""An error on the command line is one clear line, even if the output is closed."""

import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from grantpath.engine.cli import main
from grantpath.engine.cli.context import is_path

from ...support.command_line import STAFF, Ran, Run, facts, run

__all__ = ["facts", "run"]


# ---- what goes wrong ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["check", "user:bob", "load_tabel", STAFF], "did you mean load_table"),
        (["check", "user:bob", "load_table", "table:hr.public.staf"], f"does not exist (did you mean {STAFF}?)"),
        (["check", "user:bob", "load_catalog", "catalog:h"], "does not exist (did you mean catalog:hr?); add it, or"),
        (["check", "user:bob", "get_role", "role:service_admin"], "role:service_admin does not exist; add it"),
        (["check", "user:bob", "load_table", "tabel:hr.public.staff"], "the type 'tabel' is unknown"),
        (["check", "user:bob", "load_table", "staff"], "is not a reference"),
        (["check", "user:bob", "load_table"], "Missing argument 'REF'"),
        (["check", "user:bob", "load_table", STAFF, "--as", "role:analyst"], "no active roles"),
        (["list", "user", "--format", "xml"], "Invalid value for '--format': 'xml' is not one of 'table', 'csv'"),
        (["grants", "catalog:hr"], "unexpected: catalog:hr; remove it, or give it by --on REF or --to SUBJECT"),
        (["question", "what_has_a_tag"], "tag, type are missing; give them, e.g. tag=tag:pii type=table"),
        (["access", "nowhere", "--names", ""], "--names names nothing; write NAME,NAME, or omit it"),
        (["access", "nowhere", "--names", "load_table", "--expand", ","], "--expand names nothing"),
        (["diff", "nowhere", "nowhere", "--names", ","], "--names names nothing"),
        (["roots", "--dropped", "list"], "--dropped stands before list; write roots list --dropped"),
        (["chekc"], "No such command 'chekc'"),
        (["policy", "show", "gravitini"], "the policy 'gravitini' is unknown"),
        (
            ["ask", "nowhere", "who can load_table on table:a.b.c"],
            "nowhere does not exist; write a snapshot with `grantpath mirror OUT`",
        ),
    ],
)
def test_errors_are_one_line_on_standard_error(run: Run, facts: str, words: list[str], text: str) -> None:
    root = [] if words[0] in ("chekc", "access", "diff", "ask", "policy") else ["--root", facts]
    ran = run(*words, *root)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    assert text in ran.err
    told = run("--json", *root, *words)
    assert (told.code, told.out) == (2, "")
    assert text in json.loads(told.err)["error"]


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["up"], ["--root", "--policy", "--uri"]),
        (["down"], ["--uri"]),
        (["status"], ["--uri"]),
        (["browser"], ["--policy", "--uri"]),
        (["access", "nowhere"], ["--root", "--uri"]),
        (["diff", "nowhere", "nowhere"], ["--root"]),
        (["sql", "nowhere", "select 1"], ["--root"]),
        (["report", "nowhere"], ["--root"]),
        (["export", "nowhere", "new", "--format", "delta"], ["--root"]),
        (["ask", "nowhere", "who can load_table on table:a.b.c"], ["--root", "--policy", "--uri"]),
        (["roots"], ["--root", "--policy"]),
        (["roots", "list"], ["--root", "--policy"]),
        (["roots", "drop", "metalake:y"], ["--root"]),
        (["demo"], ["--root", "--policy"]),
        (["doctor"], ["--root"]),
        (["test", "nowhere"], ["--root", "--policy"]),
        (["policy", "list"], ["--root", "--policy"]),
        (["policy", "show", "gravitino"], ["--root"]),
        (["policy", "validate", "gravitino"], ["--policy"]),
        (["policy", "verify", "metalake:y"], ["--root", "--policy"]),
        (["policy", "write", "metalake:y"], ["--root"]),
        (["policy", "upgrade", "gravitino"], ["--policy"]),
        (["verify", "nowhere", "--root", "metalake:y"], ["--policy"]),
        (["follow", "nowhere", "--root", "metalake:y"], ["--policy"]),
        (["mirror", "nowhere", "--update", "--root", "metalake:y"], ["--policy"]),
    ],
)
def test_options_of_a_root_without_an_effect_are_refused(run: Run, words: list[str], options: list[str]) -> None:
    for option in options:
        for given in ([*words, option, "metalake:x"], [option, "metalake:x", *words]):
            ran = run(*given)
            assert (ran.code, ran.out) == (2, ""), ran.err
            assert ran.err.startswith(f"error: {option} has no effect on ") and "; omit it\n" in ran.err, ran.err


def test_a_server_that_is_down_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", "x")
    ran = run("check", "user:bob", "load_table", STAFF, "--uri", "bolt://127.0.0.1:1", "--root", "metalake:ml")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "bolt://127.0.0.1:1 cannot be reached" in ran.err


def test_unexpected_error_is_one_line_with_details_in_a_file(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("by zero\nand more")

    monkeypatch.setattr("grantpath.graph.embedded.server.status", fail)
    monkeypatch.setenv("GRANTPATH_CACHE", str(tmp_path))
    ran = run("status")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "ZeroDivisionError: by zero" in ran.err
    (file,) = (tmp_path / "errors").iterdir()
    assert str(file) in ran.err
    assert "Traceback" in file.read_text()


def test_an_interrupt_is_quiet(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("grantpath.graph.embedded.server.status", interrupt)
    assert run("status") == Ran(130, "", "")


def test_an_interrupt_that_breaks_a_connection_is_quiet_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise BufferError("Existing exports of data: object cannot be re-sized")

    monkeypatch.setattr("grantpath.graph.embedded.server.status", interrupt)
    assert run("status") == Ran(130, "", "")


def test_output_for_other_programs_is_utf8(home_of_tests: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "grantpath.engine.cli", "policy", "show", "\u00e9\U0001f600", "--json"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert "\u00e9\U0001f600" in json.loads(ran.stderr.decode())["error"]


def test_input_from_other_programs_is_utf8(home_of_tests: Path) -> None:
    words = ["change", "--file", "-", "--root", "metalake:none"]
    ran = subprocess.run(
        [sys.executable, "-m", "grantpath.engine.cli", *words],
        input="\u2003add user:\u00e9".encode(),
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        check=False,
    )
    assert (ran.returncode, b"-:1: the line begins with the invisible U+2003" in ran.stderr) == (2, True), ran.stderr


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_full_output_is_reported(home_of_tests: Path) -> None:
    with Path("/dev/full").open("w") as full:
        words = [sys.executable, "-m", "grantpath.engine.cli", "policy", "show", "gravitino"]
        ran = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    told = "error: the output cannot be written: No space left on device; free some space, or redirect it; "
    told += "a command that changes something may have done so: look before you run it again\n"
    assert (ran.returncode, ran.stderr) == (2, told)


@pytest.mark.slow
def test_closed_pipe_ends_quietly_with_141(home_of_tests: Path) -> None:
    shown = subprocess.Popen(
        [sys.executable, "-m", "grantpath.engine.cli", "policy", "show", "gravitino", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert shown.stdout and shown.stderr
    shown.stdout.close()
    assert shown.stderr.read() == b""
    assert shown.wait() == 141


# ---- empty paths -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["load", "", "--replace", "--yes"], "the argument DIR"),
        (["dump", ""], "the argument DIR"),
        (["mirror", ""], "the argument OUT"),
        (["access", ""], "the argument SNAPSHOT"),
        (["export", "./monday", "", "--format", "delta"], "the argument OUT"),
        (["diff", "./monday", ""], "the argument B"),
        (["test", "a.yaml", ""], "the argument FILE..."),
        (["policy", "validate", ""], "the argument FILE"),
        (["report", "./monday", "--out", ""], "--out"),
        (["report", "./monday", "--since="], "--since"),
        (["change", "--file", ""], "--file"),
        (["show", "user:bob", "--as-of", "1", "--snapshot", "./monday", "--snapshot", ""], "--snapshot"),
        (["demo", "--out", ""], "--out"),
    ],
)
def test_empty_path_is_an_error_and_not_the_current_folder(run: Run, words: list[str], named: str) -> None:
    remedy = "name one, or omit the option" if named.startswith("--") else "name one"
    assert run(*words) == Ran(2, "", f"error: {named} is empty; {remedy}\n")


def test_each_argument_with_the_type_of_a_path_is_known_as_one() -> None:
    """An empty one would mean the current folder."""

    def commands(group: Any) -> Iterator[Any]:
        for each in group.commands.values():
            yield from commands(each) if hasattr(each, "commands") else [each]

    of_paths = {
        f"{command.name} {parameter.name}": is_path(parameter)
        for command in commands(typer.main.get_command(main.app))
        for parameter in command.params
        if parameter.name in (signature := inspect.signature(command.callback).parameters)
        and re.search(r"\bPath\b", str(signature[parameter.name].annotation))
    }
    assert "load directory" in of_paths
    assert [each for each, known in of_paths.items() if not known] == []
