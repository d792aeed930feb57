"""The start: quick help, version and completion, and the installation of the completion."""

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grantpath.engine.cli.completion.completion_scripts import SCRIPTS

from .test_completion import BREAKS

SECONDS = 0.35
MARGIN = 2  # other processes of the machine slow down this one
COMMAND = f"{sys.executable} -m grantpath.engine.cli"


def cpu_seconds(words: list[str], variables: dict[str, str]) -> float:
    """The user CPU seconds of the command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    started = [sys.executable, "-m", "grantpath.engine.cli", *words]
    subprocess.run(started, env={**os.environ, **variables}, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


@pytest.mark.parametrize(
    ("words", "variables"),
    [
        (["--version"], {}),
        (["-h"], {}),
        (["check", "--help"], {}),
        (["grantpath che", BREAKS], {"_GRANTPATH_COMPLETE": "bash"}),
    ],
    ids=["version", "help", "help of check", "completion"],
)
def test_start_takes_a_third_of_a_second(words: list[str], variables: dict[str, str]) -> None:
    assert min(cpu_seconds(words, variables) for _ in range(3)) < SECONDS * MARGIN


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_is_shown_and_installed_once(tmp_path: Path, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    start = tmp_path / f".{shell}rc"
    start.write_text("# mine")

    def run(option: str) -> str:
        line = [shell, "-c", f"{COMMAND} {option}; exit $?"]
        ran = subprocess.run(line, env={**os.environ, "HOME": str(tmp_path)}, capture_output=True, text=True)
        assert (ran.returncode, ran.stderr) == (0, "")
        return ran.stdout

    assert run("--show-completion") == SCRIPTS[shell]
    for _ in range(2):
        assert f"which ~/.{shell}rc loads" in run("--install-completion")
    mine, *added = start.read_text().splitlines()
    assert (mine, len(added)) == ("# mine", 1)
    loaded = {"bash": "complete -p grantpath", "zsh": "autoload -Uz compinit; compinit -D -u; echo $_comps[grantpath]"}
    words = {"bash": ["bash", "--norc", "-c"], "zsh": ["zsh", "-f", "-c"]}[shell]
    script = f"source {start} 2>/dev/null; {loaded[shell]}"
    if shell == "zsh":
        script = f"fpath=(~/.zfunc $fpath); {loaded[shell]}"
    shown = subprocess.run([*words, script], env={**os.environ, "HOME": str(tmp_path)}, capture_output=True, text=True)
    assert "_grantpath" in shown.stdout


def test_completion_of_another_shell_is_an_error(tmp_path: Path) -> None:
    code = """import shellingham, sys
shellingham.detect_shell = lambda: ("fish", "/bin/fish")
sys.argv = ["grantpath", "--show-completion"]
from grantpath.engine.cli.start import main
sys.exit(main())"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "error: there is no completion for the shell fish; run this in bash or zsh\n"
