"""A named pipe in place of a file that is read whole is refused at once: opening it would wait for a writer."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from grantpath.graph.client import tls
from grantpath.graph.errors import InvalidInput
from grantpath.graph.files.private_files import private_line

CHECK = ["check", "user:bob", "load_table", "table:a.b.c", "--root", "metalake:ml"]


def grantpath(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command that must end soon."""
    return subprocess.run(
        [sys.executable, "-m", "grantpath.engine.cli", *words],
        capture_output=True,
        text=True,
        timeout=20,
        env={"PATH": os.environ["PATH"], "HOME": variables.pop("home"), **variables},
    )


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe", 0o600)
    return tmp_path / "pipe"


@pytest.mark.parametrize("words", [CHECK, ["roots"], ["config"], ["policy", "list"]])
def test_configuration_file(pipe: Path, words: list[str]) -> None:
    ran = grantpath(*words, home=str(pipe.parent), GRANTPATH_CONFIG=str(pipe))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == f"error: the configuration file: {pipe} is a named pipe; name a regular file\n"


@pytest.mark.parametrize("key", ["password_file", "ca"])
def test_files_that_the_configuration_names(pipe: Path, key: str) -> None:
    config = pipe.parent / "config.toml"
    config.write_text(f'[default]\nuri = "bolt+s://127.0.0.1:1"\n{key} = "{pipe}"\n')
    password = {} if key == "password_file" else {"NEO4J_PASSWORD": "x"}
    ran = grantpath(*CHECK, home=str(pipe.parent), GRANTPATH_CONFIG=str(config), **password)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    assert f"{pipe} is a named pipe; name a regular file" in ran.stderr


def test_files_that_variables_name(pipe: Path) -> None:
    with pytest.raises(InvalidInput, match=r"NEO4J_PASSWORD_FILE: .*pipe is a named pipe; name a regular file"):
        private_line("NEO4J_PASSWORD_FILE", pipe)
    with pytest.raises(InvalidInput, match=r"ca=: .*pipe is a named pipe; name a regular file"):
        tls.options("bolt+s://x", str(pipe))


def test_pipe_that_a_shell_has_opened_is_read(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"s3cret\n")
    os.close(writing)
    assert private_line("NEO4J_PASSWORD_FILE", Path(f"/dev/fd/{reading}")) == "s3cret"
    os.close(reading)
