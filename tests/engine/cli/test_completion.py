"""Completion in bash and zsh: commands, options and live names, with all kinds of quotes; it prints no errors."""

import json
import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from grantpath.engine import Authorizer, reference
from grantpath.engine.cli.completion import completion_scripts
from grantpath.engine.cli.completion.completion import completions
from grantpath.engine.cli.completion.completion_words import read_bash_line
from grantpath.engine.tenants import registry
from grantpath.graph.guard.store import Store

from ...support.tiers import others_slow

BREAKS = " \t\n\"'><=;|&(:"  # bash's default
ODD_NAMES = ["it's", 'say"x"', "a b", "tick`tock", "$HOME", "back\\slash", "c:d", "star*", "new\nline"]
# Runs completion without its time limit; as a command, writes its arguments to a file.
PROGRAM = """#!{python}
import json, os, sys
if "_GRANTPATH_COMPLETE" in os.environ:
    from grantpath.engine.cli.completion import completion
    completion.LIMIT = 60
    from grantpath.engine.cli.start import main
    sys.exit(main())
with open("{out}.new", "w") as out:
    json.dump(sys.argv[1:], out)
os.rename("{out}.new", "{out}")
"""
Words = Callable[[str], list[str]]


@pytest.fixture(scope="module")
def root(store: Store) -> Iterator[str]:
    name = "metalake:completed"
    registry.remove(store, name)
    with Authorizer.open(name, "gravitino", create=True) as auth:
        names = [reference("user", each) for each in ("bob", "bobby", *ODD_NAMES)]
        facts = [f"add {each}" for each in names]
        facts += [
            "add catalog:hr",
            "add schema:hr.public",
            "add table:hr.public.staff",
            "add role:analyst",
            "add tag:pii",
        ]
        assert not any(auth.given(facts))
    yield name
    registry.remove(store, name)


def after(line: str, current: str) -> list[str]:
    """The completions of the last word."""
    return completions(line.split(), current)


# ---- what completes --------------------------------------------------------------------------------------------------
@pytest.mark.usefixtures("server")  # names of subjects are asked of it
def test_commands_options_and_choices_complete() -> None:
    assert after("", "che") == ["check"]
    assert after("", "po") == ["policy"]
    assert {"list", "show", "validate"} <= set(after("policy", ""))
    assert after("check", "--at") == ["--at-least"]
    assert {"--profile", "--quiet", "-q", "--help"} <= set(after("check", "-"))
    assert after("grants --effect", "") == ["ALLOW", "DENY"]
    assert after("export --format", "") == ["delta", "iceberg"]
    assert after("grants", "--effect=D") == ["--effect=DENY"]
    assert after("policy show", "grav") == after("--policy", "grav") == ["gravitino"]
    assert after("nosuch", "") == after("check -- ", "-") == after("status", "x") == []


def test_live_names_complete(root: str) -> None:
    at = f"--root {root}"
    assert after("--root", "metalake:comp") == after("roots drop", "metalake:comp") == [root]
    assert after(f"{at} check", "user:bo") == after(f"check {at}", "user:bo") == ["user:bob", "user:bobby"]
    assert after(f"check --root={root}", "user:bobb") == ["user:bobby"]
    assert after(f"check {at} --", "user:bobb") == ["user:bobby"]
    assert after(f"check {at} user:bob", "load_tab") == ["load_table"]
    assert after(f"check {at} user:bob", "SELECT_") == ["SELECT_TABLE"]
    assert after(f"check {at} user:bob load_table", "table:hr.") == ["table:hr.public.staff"]
    assert after(f"check {at} user:bob load_table table:a.b.c", "user:") == []
    assert after(f"check {at} --with", "tag=tag:") == ["tag=tag:pii"]
    assert after(f"list {at}", "sch") == ["schema"]
    assert after(f"list {at} table --under", "schema:") == ["schema:hr.public"]
    assert after(f"grants {at} --privilege", "SELECT_") == ["SELECT_TABLE"]
    assert after(f"check {at} --as", "ro") == ["role:"]
    assert {"user:", "group:", "role:"} <= set(after(f"check {at}", "")) and "table:" not in after(f"check {at}", "")
    assert "table:" in after(f"show {at}", "")
    assert after("check --root metalake:nosuch", "user:") == []


def test_names_without_a_line_break_complete(root: str) -> None:
    found = after(f"check --root {root}", "user:")
    assert set(found) >= {"user:it's", 'user:say"x"', "user:`a b`", "user:`tick``tock`", "user:c:d", "user:star*"}
    assert not any("\n" in name for name in found)


def test_profiles_and_their_root_complete(root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "c.toml").write_text(f"[profile.work]\nroot = '{root}'\n[profile.home]\n")
    monkeypatch.setenv("GRANTPATH_CONFIG", str(tmp_path / "c.toml"))
    assert after("check --profile", "") == after("--profile", "") == ["default", "home", "work"]
    assert after("check --profile work", "user:bobb") == ["user:bobby"]


# ---- what it must not do ---------------------------------------------------------------------------------------------
def run_completion(
    *arguments: str, shell: str = "bash", **variables: str
) -> tuple[subprocess.CompletedProcess[str], float]:
    """Runs the command as the shell's function does, without the variables of the tests' server."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NEO4J", "GRANTPATH"))}
    words = [sys.executable, "-m", "grantpath.engine.cli", *arguments]
    began = time.monotonic()
    ran = subprocess.run(words, env={**kept, **variables, "_GRANTPATH_COMPLETE": shell}, capture_output=True, text=True)
    return ran, time.monotonic() - began


@pytest.mark.parametrize(
    "uri", ["bolt://127.0.0.1:9", "bolt://10.255.255.1:7687", "http://x", "bolt+s://nosuch.invalid"]
)
def test_server_that_does_not_answer_gives_no_names_and_no_error(uri: str) -> None:
    ran, seconds = run_completion("grantpath check user:b", BREAKS, NEO4J_URI=uri, NEO4J_PASSWORD="x")
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", "")
    assert seconds < 25, "the limit of 0.9 s, on a machine that may be busy"


def test_completion_starts_no_server(tmp_path: Path) -> None:
    home = tmp_path / "home"
    ran, _ = run_completion("grantpath check user:b", BREAKS, GRANTPATH_HOME=str(home))
    assert (ran.returncode, ran.stdout, ran.stderr, home.exists()) == (2, "", "", False)


@pytest.mark.parametrize("arguments", [[], ["grantpath check '", BREAKS], ["grantpath \\", BREAKS], ["\0"[:0], ""]])
def test_odd_lines_print_no_error_and_never_end_with_0(arguments: list[str]) -> None:
    for shell in ("bash", "zsh", "fish"):
        ran, _ = run_completion(*arguments, shell=shell)
        assert (ran.returncode, ran.stderr) == (2, "")


# ---- bash's words ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("line", "words", "current", "word", "inserted"),
    [
        ("g che", ["g"], "che", "check", "check"),
        ("g ", ["g"], "", "check", "check"),
        ("g check user:b", ["g", "check"], "user:b", "user:bob", "bob"),
        ("g check user:", ["g", "check"], "user:", "user:`a b`", "\\`a\\ b\\`"),
        ("g check 'user:`a", ["g", "check"], "user:`a", "user:`a b`", "user:`a b`"),
        ("g check 'user:it", ["g", "check"], "user:it", "user:it's", "user:it'\\''s"),
        ('g check "user:`a', ["g", "check"], "user:`a", "user:`a b`", "user:\\`a b\\`"),
        ('g check user:"b', ["g", "check"], "user:b", "user:bob", "bob"),
        ("g check user:\\`a\\ ", ["g", "check"], "user:`a ", "user:`a b`", "\\`a\\ b\\`"),
        ("g 'a b'c --root=metalake:m", ["g", "a bc"], "--root=metalake:m", "--root=metalake:ml", "ml"),
        ("g 'a' \"\" x", ["g", "a", ""], "x", "xy", "xy"),
    ],
)
def test_bash_line_is_read_and_the_word_quoted(
    line: str, words: list[str], current: str, word: str, inserted: str
) -> None:
    found = read_bash_line(line, BREAKS)
    assert (found.words, found.current, found.rest_of(word)) == (words, current, inserted)


# ---- the shells ------------------------------------------------------------------------------------------------------
START = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
}
LOAD = {"bash": "source {file}", "zsh": "autoload -Uz compinit; compinit -D -u; source {file}"}
TYPED = [
    ("che\t user:x", ["check", "user:x"]),
    ("--root {root} check user:bobb\t load_tab\t", ["--root", "{root}", "check", "user:bobby", "load_table"]),
    ("--root {root} check us\tbobb\t", ["--root", "{root}", "check", "user:bobby"]),
    ("check --root {root} 'user:bobb\t", ["check", "--root", "{root}", "user:bobby"]),
    ('check --root={root} "user:it\t', ["check", "--root={root}", "user:it's"]),
    ("check --root {root} user:it\t", ["check", "--root", "{root}", "user:it's"]),
    ("check --root {root} user:\\`a\t", ["check", "--root", "{root}", "user:`a b`"]),
    ("check --root {root} 'user:`a\t", ["check", "--root", "{root}", "user:`a b`"]),
    ("check --root {root} user:\\`ti\t", ["check", "--root", "{root}", "user:`tick``tock`"]),
    ("check --root {root} user:\\$H\t", ["check", "--root", "{root}", "user:$HOME"]),
    ("check --root {root} user:sa\t", ["check", "--root", "{root}", 'user:say"x"']),
    ("check --root {root} user:c\t", ["check", "--root", "{root}", "user:c:d"]),
    ("check --root {root} user:c:\t", ["check", "--root", "{root}", "user:c:d"]),
    ("check --root {root} user:ba\t", ["check", "--root", "{root}", "user:back\\slash"]),
    ("check --root {root} user:st\t", ["check", "--root", "{root}", "user:star*"]),
    ("--root=metalake:comp\t roots", ["--root={root}", "roots"]),
]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
@pytest.mark.parametrize("lines", others_slow([TYPED[:4], TYPED[4:]]), ids=["some", "others"])
def test_typed_line_completes_in_the_shell(
    root: str, tmp_path: Path, shell: str, lines: Sequence[tuple[str, list[str]]]
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    program, script = tmp_path / "grantpath", tmp_path / "script"
    program.write_text(PROGRAM.replace("{python}", sys.executable).replace("{out}", str(tmp_path / "out")))
    program.chmod(0o755)
    script.write_text(completion_scripts.SCRIPTS[shell])
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(PATH=f"{tmp_path}:{os.environ['PATH']}", TERM="dumb", HOME=str(tmp_path))
        os.execvp(START[shell][0], START[shell])
    try:
        _type(terminal, f"cd {tmp_path}; {LOAD[shell].format(file=script)}\n")
        for typed, expected in lines:
            (tmp_path / "out").unlink(missing_ok=True)
            _type(terminal, f"grantpath {typed.replace('{root}', root)}\n")
            got = _arguments(terminal, tmp_path / "out")
            assert got == [word.replace("{root}", root) for word in expected], typed
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


def _type(terminal: int, text: str) -> None:
    os.write(terminal, text.encode())


def _arguments(terminal: int, file: Path) -> list[str]:
    """The arguments that the program was started with; reads what the shell prints meanwhile."""
    deadline, printed = time.monotonic() + 60, b""
    while not file.exists():
        assert time.monotonic() < deadline, printed.decode(errors="replace")
        if select.select([terminal], [], [], 0.1)[0]:
            printed += os.read(terminal, 10_000)
    arguments: list[str] = json.loads(file.read_text())
    return arguments
