"""`check --file`: one answer per line, in order, in batches; an error names the line."""

import io
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grantpath.engine.authorizer.authorizer import Authorizer
from grantpath.engine.cli.ask import check_file
from grantpath.graph.errors import Invalid

from ...support.command_line import FACTS, ODD, STAFF, Run, facts, run

__all__ = ["facts", "run"]
YES, NO = f"user:bob load_table {STAFF}", "user:bob load_table table:hr.public.pay"


@pytest.fixture
def ask(run: Run, facts: str, tmp_path: Path) -> Run:
    """Runs `check --file` with these lines."""

    def asked(text: str, *words: str) -> object:
        (tmp_path / "checks").write_bytes(text.encode())
        return run("check", "--file", str(tmp_path / "checks"), "--root", facts, *words)

    return asked  # type: ignore[return-value]


def test_each_line_has_its_answer_in_order(ask: Run) -> None:
    ran = ask(f"{YES}\n{NO}\n")
    assert ran.code == 1
    assert ran.out.splitlines() == [
        f"allowed: user:bob load_table on {STAFF}",
        "not allowed: user:bob load_table on table:hr.public.pay",
    ]
    assert ran.err == f"2 checks: 1 allowed, 1 not allowed, at revision {len(FACTS)}\n"
    assert ask(f"{YES}\n", "--quiet").err == ""


def test_exit_code_is_0_only_if_all_are_allowed(ask: Run) -> None:
    assert ask(f"{YES}\n{YES}").code == 0
    assert ask(f"{YES}\n{YES}\nuser:ghost load_table {STAFF}\n").code == 1


def test_comments_empty_lines_line_ends_and_a_mark_are_skipped(ask: Run) -> None:
    assert ask(f"\ufeff# checks\r\n\r\n   \n  # more\n{YES}\r\n").code == 0


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_file_without_a_check_is_an_error(ask: Run, text: str) -> None:
    ran = ask(text)
    assert (ran.code, ran.out) == (2, "")
    assert "contains no check; write one per line" in ran.err


def test_json_lines_are_read_and_written(ask: Run) -> None:
    asked: list[dict[str, object]] = [
        {"subject": "user:bob", "name": "load_table", "object": STAFF},
        {"subject": "user:ann", "name": "SELECT_TABLE", "object": STAFF, "as_role": None, "with": {}},
        {"subject": ODD, "name": "load_table", "object": STAFF},
    ]
    text = "\n".join(json.dumps(each) for each in asked)
    answers = [json.loads(line) for line in ask(text, "--json").out.split("\n")[:-1]]
    assert answers == [
        {**each, "as_role": None, "with": {}, "line": at, "allowed": allowed, "revision": len(FACTS)}
        for at, (each, allowed) in enumerate(zip(asked, (True, False, True), strict=True), 1)
    ]
    assert ask(f'{YES}\n  {{"subject": "user:bob", "name": "load_table", "object": "{STAFF}"}}\n').code == 0


def test_names_are_quoted_as_in_statements_and_printed_on_one_line(ask: Run) -> None:
    line = ask(f"user:`a b` load_table {STAFF}\n").out
    assert line == f"not allowed: user:`a b` load_table on {STAFF}\n"
    printed = ask(json.dumps({"subject": ODD, "name": "load_table", "object": STAFF})).out
    assert (printed.count("\n"), printed.startswith("allowed: $'user:`a \\'quoted\\'")) == (1, True)


def test_second_objects_and_roles_belong_to_the_line(ask: Run) -> None:
    ran = ask(f"user:ann associate_object_tags {STAFF} with tag=tag:nosuch\n")
    assert (ran.code, "line 1: tag:nosuch does not exist" in ran.err) == (2, True)
    assert "no active roles" in ask(f"user:bob as role:analyst load_table {STAFF}\n").err
    for words in (["--as", "role:x"], ["--with", "tag=tag:pii"], ["user:bob", "load_table", STAFF], ["user:bob"]):
        ran = ask(f"{YES}\n", *words)
        assert (ran.code, ran.out, "--file cannot be combined" in ran.err) == (2, "", True)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("user:bob load_table", "is not a check: write SUBJECT NAME OBJECT"),
        (f"user:bob can load_table on {STAFF}", "is not a check"),
        (f"user:`bob load_table {STAFF}", "a backtick is not closed"),
        (f"user:bob load_tabel {STAFF}", "did you mean load_table"),
        ("user:bob load_table table:hr.public.nosuch", "table:hr.public.nosuch does not exist"),
        ('{"subject": "user:bob"}', "name: Field required; write an object with subject, name and object"),
        ('{"subject": 1, "name": "x", "object": "y"}', "subject: Input should be a valid string"),
        ('{"subject": "user:bob", "name": "x", "object": "y", "root": "z"}', "root: Extra inputs"),
        (
            '{"subject": "user:bob", "subject": "user:ann", "name": "x", "object": "y"}',
            "duplicate key; write an object",
        ),
        ("{", "Invalid JSON"),
        ("x" * 100_000, "it is longer than 20,000 characters"),
        ("# " + "x" * 100_000, "it is longer than 20,000 characters"),
    ],
)
def test_error_names_the_line_and_the_lines_before_it_are_answered(ask: Run, line: str, text: str) -> None:
    ran = ask(f"# first\n{YES}\n{NO}\n{line}\n{YES}\n")
    assert (ran.code, len(ran.out.splitlines())) == (2, 2)
    assert "checks, line 4: " in ran.err and text in ran.err
    assert ran.err.count("\n") == 1


def test_bytes_that_are_not_utf8_are_an_error_with_the_line(run: Run, facts: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(f"{YES}\n".encode() + b"user:\xff load_table table:a.b.c\n")
    ran = run("check", "--file", str(tmp_path / "f"), "--root", facts)
    assert (ran.code, len(ran.out.splitlines()), "line 2: it is not UTF-8" in ran.err) == (2, 1, True)


@pytest.mark.parametrize("name", ["/no/such/file", "/", "\0"])
def test_file_that_cannot_be_read_is_an_error(run: Run, facts: str, name: str) -> None:
    ran = run("check", "--file", name, "--root", facts)
    assert (ran.code, ran.out) == (2, "") and "cannot be read" in ran.err


def test_checks_come_from_standard_input(run: Run, facts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(f"{YES}\n{NO}\n".encode())))
    ran = run("check", "--file", "-", "--root", facts)
    assert (ran.code, len(ran.out.splitlines())) == (1, 2)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"x\n")))
    assert "standard input, line 1: " in run("check", "--file", "-", "--root", facts).err


def test_batches_are_bounded_and_the_file_is_read_as_they_are_asked(ask: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    many = Authorizer.check_many

    def counted(self: Authorizer, checks: list[object], **given: object) -> object:
        sizes.append(len(checks))
        return many(self, checks, **given)  # type: ignore[call-overload]

    monkeypatch.setattr(check_file, "BATCH", 4)
    monkeypatch.setattr(Authorizer, "check_many", counted)
    ran = ask(f"{YES}\n" * 9 + f"{NO}\nwrong\n")
    assert sizes == [4, 4, 2]
    assert (ran.code, len(ran.out.splitlines())) == (2, 10)
    assert "line 11: " in ran.err
    sizes.clear()
    lines = [*[f"{YES}\n"] * 5, "user:bob nosuch table:a.b.c\n", f"{YES}\n"]
    assert "line 6: " in ask("".join(lines)).err
    assert sizes == [4, 3, 1]


def test_endless_input_is_answered_while_it_is_read(facts: str) -> None:
    program = "import sys; from grantpath.engine.cli.ask import check_file; check_file.BATCH = 50\n"
    program += (
        f"from grantpath.engine.cli.main import main; sys.exit(main(['check', '--file', '-', '--root', {facts!r}]))"
    )
    with (
        subprocess.Popen(["yes", YES], stdout=subprocess.PIPE) as source,
        subprocess.Popen(
            [sys.executable, "-c", program], stdin=source.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as asking,
    ):
        assert source.stdout and asking.stdout
        source.stdout.close()
        first = [asking.stdout.readline() for _ in range(300)]
        asking.stdout.close()  # as `head` does
        assert asking.wait(timeout=60) == 141
        assert source.wait(timeout=60) != 0
    assert first == [f"allowed: user:bob load_table on {STAFF}\n".encode()] * 300


def test_error_about_a_line_keeps_its_code_and_its_question(ask: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_file, "BATCH", 2)
    check_many: Any = Authorizer.check_many

    def coded(*given: Any, **named: Any) -> Any:
        try:
            return check_many(*given, **named)
        except Invalid as error:
            error.code = "log_contradicted"
            raise

    monkeypatch.setattr(Authorizer, "check_many", coded)
    ran = ask(f"{YES}\n{NO}\n{YES}\nuser:bob load_tabel {STAFF}\n", "--json")
    told = json.loads(ran.err)
    assert told["code"] == "log_contradicted"
    assert told["index"] == 3, "it counts from the start of the file, not of a batch"
    assert told["question"]["checks"]["name"] == "load_tabel"
    assert ", line 4: " in told["error"]
