"""Exit codes: 0 of a check means only "allowed", 1 only "not allowed" or "refused"; failures end with 2."""

import itertools
import random
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer.main

from grantpath.engine.answers.decision import Decision, Explanation
from grantpath.engine.cli import main
from grantpath.engine.cli.context import CommandContext
from grantpath.graph.language.statement import Check

from ...support.sizes import say, size

pytestmark = pytest.mark.trust

# What a request could bring into the place of a subject, a name or an object.
WORDS = [
    "--help",
    "-h",
    "--json",
    "--root",
    "--root=x",
    "--root=--help",
    "--policy",
    "--uri",
    "--uri=",
    "--with",
    "--as",
]
WORDS += ["--at-least", "--at-least=0", "--version", "--create", "--yes", "--", "-", "", " ", "--help=1", "--hel", "-?"]
WORDS += [
    "--install-completion",
    "--show-completion",
    "--no-help",
    "@file",
    "help",
    "who",
    "0",
    "\0",
    "--help ",
    "-\u2010help",
]
WORDS += ["--as-of", "--as-of=0", "--snapshot", "--file", "--file=-", "-q", "--quiet", "--profile", "--profile=x"]
WORDS += ["user:bob", "load_table", "table:hr.public.staff"]
GATES = [["check"], ["check", "--"], ["explain"], ["explain", "--"], ["--root", "r", "check"], ["--json", "explain"]]
BEHIND = [[], ["--root", "metalake:ml"], ["--json"], ["--with", "tag=tag:pii", "--as", "role:x"]]
MAIN = "import sys; from grantpath.engine.cli.start import main; sys.exit(main())"


ASKED = Check(subject="user:bob", name="load_table", object="table:hr.public.staff")


def fixed(allowed: bool) -> Decision:
    reasons = {"because": ["it is fixed"] * allowed, "missing": ["it is fixed"] * (not allowed)}
    return Decision(allowed=allowed, revision=1, question=ASKED, **reasons)  # type: ignore[arg-type]


@dataclass
class Fixed:
    """Replaces an authorizer: every question has the same answer."""

    allowed: bool

    def check(self, *_: object, **__: object) -> Decision:
        return fixed(self.allowed)

    def check_many(self, checks: list[object], **_: object) -> list[Decision]:
        return [fixed(self.allowed) for _ in checks]

    def explain(self, *_: object, **__: object) -> Explanation:
        return Explanation(**dict(self.check()), paths=[], typed_paths=(), remedy=[])


def fix(monkeypatch: pytest.MonkeyPatch, allowed: bool) -> None:
    @contextmanager
    def opened(session: CommandContext, *_: object, **__: object) -> Iterator[Fixed]:
        yield Fixed(allowed)

    monkeypatch.setattr(CommandContext, "open", opened)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> None:
    """Builds the command line once, and not for each call."""
    monkeypatch.setattr(main, "app", typer.main.get_command(main.app))


@pytest.mark.usefixtures("built")
def test_no_argument_turns_a_refused_check_into_exit_code_0(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fix(monkeypatch, allowed=False)
    triples = list(itertools.product(WORDS, repeat=3))
    rng = random.Random(5)
    chosen = rng.sample(triples, size(10_000, 250))
    chosen += [triple for triple in triples if "--help" in triple and {*triple} <= {"--help", *WORDS[-3:]}]
    codes = {1: 0, 2: 0}
    for words in chosen:
        for gate in GATES:
            behind = rng.choice(BEHIND)
            code = main.main([*gate, *words, *behind])
            assert code in codes, (gate, words, behind, code)
            codes[code] += 1
        capsys.readouterr()
    say(
        capsys,
        f"{sum(codes.values()):,} argument lists of check and explain: {codes[1]:,} no, {codes[2]:,} errors, 0 yes",
    )


@pytest.mark.usefixtures("built")
def test_no_argument_turns_a_refused_snapshot_question_into_exit_code_0(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @dataclass
    class No:
        answer: bool = False
        complete: bool = True
        revision: int = 1

    monkeypatch.setattr("grantpath.engine.facts.snapshot.snapshot_questions.ask", lambda *_: No())
    monkeypatch.setattr("grantpath.engine.cli.bulk.spark_commands._state", lambda *_: "revision 1")
    monkeypatch.setattr("grantpath.spark_sync.session.snapshot.Snapshot", lambda *_: SimpleNamespace(meta=None))
    pairs = list(itertools.product(WORDS, repeat=2))
    for snapshot, question in random.Random(5).sample(pairs, size(len(pairs), 200)):
        for words in (["ask", snapshot, question], ["ask", "./monday", question], ["ask", "--", snapshot, question]):
            assert main.main(words) in (1, 2), words
    capsys.readouterr()


def test_allowed_check_ends_with_0(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    fix(monkeypatch, allowed=True)
    question = ["user:bob", "load_table", "table:hr.public.staff"]
    for gate in GATES:
        assert main.main([*gate, *question]) == 0
    assert main.main(["check", "--", "--help", "load_table", "table:a.b.c"]) == 0  # a name like any other


def test_help_with_other_arguments_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--help"], ["check", "--help"], ["policy", "show", "--help"], ["roots", "--help"], [], ["policy"]):
        assert main.main(words) == 0, words
        assert "Usage: grantpath" in capsys.readouterr().out
    for words in (["check", "user:bob", "--help"], ["--help", "check"], ["policy", "show", "--help", "gravitino"]):
        assert main.main(words) == 2, words
        said = capsys.readouterr()
        assert "Usage: grantpath" in said.out
        assert "--help cannot be combined with other arguments" in said.err


def test_help_of_check_shows_the_call_from_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["check", "--help"]) == 0
    assert 'grantpath check -- "$S" "$NAME" "$REF"' in capsys.readouterr().out


def test_command_script_is_the_start_module() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["scripts"] == {"grantpath": "grantpath.engine.cli.start:main"}


@pytest.mark.parametrize(
    "broken", ["raise ImportError('not for this machine')", "raise RuntimeError('worse')", "1/0", "def"]
)
def test_broken_installation_ends_with_2(tmp_path: Path, broken: str) -> None:
    (tmp_path / "pydantic.py").write_text(broken)
    words = [sys.executable, "-c", MAIN, "check", "user:bob", "load_table", "table:a.b.c"]
    ran = subprocess.run(words, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert ran.stderr.startswith("error: grantpath cannot start (")


STREAMS = ["", ">/dev/full", "2>/dev/full", ">/dev/full 2>&1", ">&- 2>&-", ">&-", "2>&-", "2>&- >/dev/full"]
FIXED = """import sys
from contextlib import contextmanager
from grantpath.engine.cli.main import main
from grantpath.engine.cli.context import CommandContext
from grantpath.engine.answers.decision import Decision
from grantpath.graph.language.statement import Check
class Fixed:
    def check(self, *_, **__):
        if "{answer}" == "fails":
            raise ZeroDivisionError
        asked = Check(subject="user:bob", name="load_table", object="table:a.b.c")
        fixed = ["it is fixed"]
        return Decision(allowed="{answer}" == "yes", revision=1, question=asked, because=fixed, missing=fixed)
@contextmanager
def opened(*_, **__):
    yield Fixed()
CommandContext.open = opened
sys.exit(main(["check", "user:bob", "load_table", "table:a.b.c", "{json}"]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize(("answer", "codes"), [("yes", {0, 2}), ("no", {1, 2}), ("fails", {2})])
def test_a_full_or_closed_output_never_changes_the_answer(tmp_path: Path, answer: str, codes: set[int]) -> None:
    script = tmp_path / "fixed.py"
    script.write_text(FIXED.replace("{answer}", answer).replace("{json}", "--json"))
    tried = STREAMS[: size(len(STREAMS), 5)]
    runs = [
        subprocess.Popen(
            ["sh", "-c", f'"{sys.executable}" "{script}" {streams}'],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"GRANTPATH_CACHE": str(tmp_path)},
        )
        for streams in tried
    ]
    got = {streams: run.wait() for streams, run in zip(tried, runs, strict=True)}
    assert {streams: code for streams, code in got.items() if code not in codes} == {}
    assert got[""] == min(codes)


def test_message_quotes_unquoted_words_unless_they_follow_a_path(capsys: pytest.CaptureFixture[str]) -> None:
    for words, quoted in (
        (["change", "add", "user:x"], "e.g. 'add user:x'"),
        (["check", "user:bob", "load_table", "table:a.b.my", "table"], "e.g. 'table:a.b.my table'"),
        (["ask", "./monday", "which", "table"], "e.g. 'which table'"),
    ):
        assert main.main(words) == 2
        assert f"quote a statement, or a name with spaces, {quoted}; or remove" in capsys.readouterr().err
    for words, told in (
        (["report", "./monday", "monday.html"], "monday.html; remove it, or give it by --out FILE or --since OTHER."),
        (["access", "./monday", "load_table"], "load_table; remove it."),
        (["load", "./monday", "./tuesday"], "./tuesday; remove it."),
    ):
        assert main.main(words) == 2
        assert capsys.readouterr().err.startswith(f"error: unexpected: {told} See `grantpath {words[0]} --help`")
    assert main.main(["chekc"]) == 2
    assert capsys.readouterr().err == "error: No such command 'chekc'. Did you mean 'check'? See `grantpath --help`.\n"


def test_help_in_a_pipe_is_not_wrapped(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["--help"]) == 0
    assert (
        "Who can do what, and why: a graph of grants in Neo4j, mirrored into Spark for bulk questions."
        in capsys.readouterr().out
    )
    assert main.main(["policy", "show", "gravitino"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert max(map(len, shown)) > 100  # each condition is on its own line, whole
    assert [line for line in shown if line != line.rstrip()] == []
