"""Runs the code blocks of one page in order, on roots of its own, and compares what they print with the page."""

import io
import logging
import os
import random
import re
import shlex
import string
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from grantpath import cypher
from grantpath.engine import Authorizer
from grantpath.engine.cli import main
from grantpath.engine.policy import policy
from grantpath.engine.scenarios import runner
from grantpath.engine.tenants import registry
from grantpath.graph.guard.store import Store

from .page_blocks import HOUSE, Block

ROOT = re.compile(r"\b(metalake|enterprise):(\w+)")
LETTERS = string.ascii_lowercase
QUOTED_PATH = re.compile(r'"(\w+(?:/[\w.-]+)+)"')
PARAMETER = re.compile(r"^:param (\w+) => '(.*)'$")


class Session:
    """The state between the blocks of a page: its folder, its roots, its Python names, its parameters."""

    def __init__(self, store: Store, folder: Path, not_run: dict[str, str]) -> None:
        self._names: dict[str, Any] = {}
        self._store, self._folder, self._not_run = store, folder, not_run
        self._roots: dict[str, str] = {}
        self._parameters: dict[str, Any] = {}
        self._printed = ""

    # ---- roots: the page's names stand for names of the same length, which no other test uses
    def own(self, text: str) -> str:
        """The text with the names of this page's own roots."""
        return ROOT.sub(lambda found: self._own(found[0]), text)

    def as_shown(self, text: str) -> str:
        """The text with the names of the page."""
        for shown, own in self._roots.items():
            text = re.sub(rf"{own}\b", shown, text)
        return text

    def _own(self, shown: str) -> str:
        if shown not in self._roots:
            type_, _, name = shown.partition(":")
            taken = registry.names(self._store)
            tries = (f"{type_}:{''.join(random.choices(LETTERS, k=len(name)))}" for _ in range(10_000))
            self._roots[shown] = next(each for each in tries if each not in taken)
        return self._roots[shown]

    def close(self) -> None:
        """Closes what the blocks opened, and removes their roots."""
        for each in self._names.values():
            if isinstance(each, Authorizer):
                each.close()
        for own in self._roots.values():
            registry.remove(self._store, own)

    # ---- blocks
    def run(self, block: Block) -> None:
        """Runs a block, in the way of its language."""
        if block.title and block.language != "text":
            self._save(block)
        ways = {
            "console": self._console,
            "python": self._python,
            "cypher": self._cypher,
            "sql": self._sql,
            "yaml": self._yaml,
        }
        if block.language in ways:
            ways[block.language](block)
        elif block.language == "text":
            self._output(block)
        else:
            assert block.title, f"{block}: a block of this language needs the name of its file"

    def _save(self, block: Block) -> None:
        """A block with a title belongs to that file; further blocks of the title are appended."""
        file = self._folder / block.title
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as opened:
            opened.write(self.own(block.text) if block.language != "yaml" else block.text)

    def _console(self, block: Block) -> None:
        for each in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            line, _, wanted = each.partition("\n")
            printed, code = "", 0
            for part in line.split(" && "):
                out, code = self.command(part)
                printed += out
            assert code in (0, 1, 3) or wanted.startswith("error: "), (line, printed)
            if wanted.strip():
                compare(wanted, printed, line)
            self._printed = printed

    def command(self, line: str) -> tuple[str, int]:
        """What a command prints, and its exit code."""
        words = shlex.split(self.own(line), comments=True)
        if any(shlex.split(line, comments=True)[: len(each.split())] == each.split() for each in self._not_run):
            return "", 0
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            os.environ[name] = value
            return "", 0
        if words[0] != "grantpath":
            ran = subprocess.run(["bash", "-c", self.own(line)], capture_output=True, text=True, timeout=300)
            assert ran.returncode == 0, (line, ran.stderr)
            return self.as_shown(ran.stdout), 0
        words, file = (words[: words.index(">")], words[-1]) if ">" in words else (words, "")
        with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
            code = main.main(words[1:])
        if file:
            Path(file).write_text(out.getvalue(), encoding="utf-8")
            return "", code
        return self.as_shown(out.getvalue() or err.getvalue()), code

    def define(self, code: str) -> None:
        """Runs Python that defines names for the blocks."""
        exec(self.own(code), self._names)

    def _python(self, block: Block) -> None:
        text = QUOTED_PATH.sub(self._absolute, self.own(block.text))
        code = compile("\n" * block.line + text, block.page, "exec")
        with redirect_stdout(io.StringIO()) as out:
            exec(code, self._names)
        self._printed = self.as_shown(out.getvalue())

    def _absolute(self, quoted: re.Match[str]) -> str:
        """A quoted path of a file that the page made, in full: a Spark session may have started in another folder."""
        file = self._folder / quoted[1]
        return f'"{file}"' if file.exists() else quoted[0]

    def _cypher(self, block: Block) -> None:
        lines = [line for line in block.text.splitlines() if line.strip()]
        given = [found for line in lines if (found := PARAMETER.match(line))]
        for found in given:
            self._parameters[found[1]] = self.own(found[2])
        if len(given) < len(lines):
            text = "\n".join(line for line in lines if not PARAMETER.match(line))
            self._printed = self._rows(self.own(text), self._parameters)

    def _sql(self, block: Block) -> None:
        """A query for the page's Spark session and its DuckDB database, which must give the same rows."""
        text = self.own(block.text)
        by_spark = self._names["spark"].sql(text)
        rows = [tuple(row) for row in by_spark.collect()]
        assert rows == self._names["database"].execute(text).fetchall(), f"{block}: Spark and DuckDB differ"
        lines = [" | ".join(by_spark.columns), *(" | ".join(map(shown, row)) for row in rows)]
        self._printed = self.as_shown("\n".join(lines))

    def _yaml(self, block: Block) -> None:
        file = self._folder / (block.title or "block.yaml")
        if not block.title:
            file.write_text(block.text, encoding="utf-8")
        if block.text.startswith("scenario:"):
            report = runner.run(runner.read_files([file]), self._store)
            assert report.results and [each for each in report.results if not each.passed] == []
        elif block.text.startswith("policy:") and not block.title:
            policy.load(str(file))

    def _output(self, block: Block) -> None:
        """A block of output: of the query that its title names, with the parameters so far, or of the last block."""
        if block.title in cypher.names():
            own = next(iter(self._roots.values()))
            given = dict(self._parameters)
            if "root" not in given:
                at = "object" if "object" in given else "type"
                given[at] += "" if " in " in given[at] else f" in {own}"
            self._printed = self._rows(cypher.load(block.title).text, given).replace(f" in {own}", "")
        compare(block.text, self._printed, str(block))

    def _rows(self, text: str, parameters: dict[str, Any]) -> str:
        """The rows of a query: its columns, then one row per line."""
        rows = self._store.read(text, parameters)
        paths = {name for row in rows for name, value in row.items() if is_path(value)}  # Browser draws these
        rows = [{name: value for name, value in row.items() if name not in paths} for row in rows]
        if len(rows) == 1 and any(isinstance(value, list) for value in rows[0].values()):
            return self.as_shown(one_row(rows[0]))
        lines = [" | ".join(rows[0]) if rows else "(no rows)"]
        lines += [" | ".join(map(shown, row.values())) for row in rows]
        return self.as_shown("\n".join(lines))


def is_path(value: object) -> bool:
    """Whether a value is a path, or a list of paths."""
    return isinstance(value, list) and any(isinstance(each, dict) or is_path(each) for each in value)


def one_row(row: Mapping[str, Any]) -> str:
    """A row with lists: a line for each column and for each further item of a list."""
    width = max(map(len, row)) + 2
    lines = []
    for column, value in row.items():
        items = value if isinstance(value, list) and value else [value]
        lines += [
            f"{name:<{width}}{shown(item)}" for name, item in zip([column, *[""] * len(items)], items, strict=False)
        ]
    return "\n".join(lines)


def shown(value: object) -> str:
    """A value, in the form in which the pages write it."""
    if isinstance(value, list):
        return "[" + ", ".join(map(shown, value)) + "]"
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def compare(wanted: str, printed: str, what: str) -> None:
    """Asserts that the page shows what was printed; `...` stands for any text."""
    pattern = ".*".join(map(re.escape, stripped(wanted).split("...")))
    assert re.fullmatch(pattern, stripped(printed), re.DOTALL), f"{what}\non the page:\n{wanted}\nprinted:\n{printed}"


def stripped(text: str) -> str:
    """The text without spaces at the ends of lines, and without empty lines around it."""
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


@contextmanager
def session(store: Store, folder: Path, not_run: dict[str, str]) -> Iterator[Session]:
    """A session in a folder with the examples, with the variables of a new shell."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("GRANTPATH_ROOT", "GRANTPATH_POLICY", "GRANTPATH_CONFIG", "GRANTPATH_PROFILE"):
            patch.setenv(name, "")  # remembered, so that what a page exports ends with it
            patch.delenv(name)
        patch.chdir(folder)
        levels = {logger: logger.level for logger in (logging.root, logging.getLogger("grantpath"))}
        made = Session(store, folder, not_run)
        (folder / "docs" / "examples").mkdir(parents=True)
        for file in (HOUSE / "docs" / "examples").iterdir():
            if file.is_file():
                text = file.read_text(encoding="utf-8")
                (folder / "docs" / "examples" / file.name).write_text(made.own(text) if file.suffix == ".txt" else text)
        try:
            yield made
        finally:
            made.close()
            for logger, level in levels.items():  # a page may configure logging
                logger.setLevel(level)
