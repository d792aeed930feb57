"""The commands of docs/start.md work one after the other; then those of the README print what it shows."""

import re
import shlex
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from grantpath.engine.tenants import registry
from grantpath.graph.store import Store

from .test_commands import Run, run

__all__ = ["run"]

HOUSE = Path(__file__).parents[2]
README = (HOUSE / "README.md").read_text(encoding="utf-8")
START = (HOUSE / "docs" / "start.md").read_text(encoding="utf-8")
ROOT = "metalake:ml"
ELSEWHERE = ("up", "browser", "mirror", "access")  # they need their own server or Spark


@pytest.fixture
def root(store: Store) -> Iterator[str]:
    """The test's own name instead of the README's, which may be in use on an existing server."""
    name = f"metalake:readme_{uuid.uuid4().hex[:8]}"
    yield name
    registry.remove(store, name)


def block(text: str, words: str) -> str:
    """The console block after these words."""
    found = re.search(r"```console\n(.*?)```", text.partition(words)[2], re.DOTALL)
    assert found, words
    return found[1]


def commands(text: str) -> list[tuple[list[str], str]]:
    """The words of each `grantpath` command in a console block, and its output there."""
    found = []
    for each in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, printed = each.partition("\n")
        for part in line.split(" && "):
            words = shlex.split(part, comments=True)
            if words[0] == "grantpath" and words[1] not in ELSEWHERE:
                found.append((words[1:], printed))
    return found


@pytest.mark.slow
def test_readme_commands_work_in_order(run: Run, root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = block(START, "# Start")
    assert f"export GRANTPATH_ROOT={ROOT} " in start
    monkeypatch.setenv("GRANTPATH_ROOT", root)
    example = "docs/examples/company.txt"
    mine = tmp_path / example
    mine.parent.mkdir(parents=True)
    mine.write_text((HOUSE / example).read_text(encoding="utf-8").replace(ROOT, root))
    monkeypatch.chdir(tmp_path)
    typed = commands(start)
    assert len(typed) == 11
    for words, _ in typed:
        ran = run(*words)
        assert ran.code == 0, (words, ran.err)
    for words, printed in commands(block(README, "$ make test ")):
        ran = run(*words)
        assert ran.code in (0, 1), (words, ran.err)
        if printed.strip():
            assert ran.out.replace(root, ROOT) == printed.rstrip("\n") + "\n"
