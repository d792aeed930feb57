"""The queries, one statement per .cypher file (several in schema.cypher), sent to the database without comment lines.

Queries for people to paste are in this folder itself, in `browser` (by name, with the policy in the graph) and in
`questions`. Base names are unique, so a query is found by its base name. Each file starts with a comment: its purpose,
`// $name TYPE example` for each parameter, its result, and a `:params` line to run first in Neo4j Browser.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar

if __name__ != "grantpath.cypher":
    raise ImportError("import grantpath.cypher, not cypher")

Result = TypeVar("Result")
_HEADER = re.compile(r"// \$(\w+)\s+[A-Z]")
_USED = re.compile(r"\$(\w+)")
now: int | None = None  # the seconds since 1970 that stand for the server's clock, where ends are compared with it


@dataclass(frozen=True)
class Query:
    """One file: its name, its text, and the names of the parameters in its header."""

    name: str
    text: str
    parameters: frozenset[str]

    @cached_property
    def sent(self) -> str:
        """The text without its comment lines, which take a tenth of a check's time. The first line stays: it names the
        query in the logs of the server."""
        first, *lines = self.text.split("\n")
        return "\n".join([first, *(line for line in lines if not _is_comment(line))])

    def run(self, send: Callable[[str, dict[str, Any]], Result], /, **parameters: Any) -> Result:
        """Calls `send` with `sent` and the parameters. Raises TypeError, like `check`, before anything is sent.
        `now` need not be given."""
        if "now" in self.parameters:
            parameters.setdefault("now", now)
        self.check(parameters)
        return send(self.sent, parameters)

    def check(self, parameters: Mapping[str, object]) -> None:
        """Raises TypeError if the parameters differ from the header's: the database silently ignores surplus ones."""
        if parameters.keys() != self.parameters:
            differing = ", ".join(sorted(parameters.keys() ^ self.parameters))
            raise TypeError(f"{self.name}.cypher: parameters missing or surplus: {differing}")


def is_consistent(row: Mapping[str, object]) -> bool:
    """Whether the marks before and after the facts of a guarded query are equal, so that no commit was in progress."""
    return len({row["revision"], row["begun"], row["revision_after"], row["begun_after"]}) == 1


@cache
def load(name: str) -> Query:
    """The query in `<name>.cypher`, in any folder. Raises ValueError if its header and text differ in parameters."""
    text = _text(name)
    code = "\n".join(line for line in text.splitlines() if not _is_comment(line))
    named = frozenset(_HEADER.findall(text))
    used = frozenset(_USED.findall(code))
    if named != used:
        raise ValueError(f"{name}.cypher: header and text differ in {', '.join(sorted(named ^ used))}")
    return Query(name, text, named)


def names() -> list[str]:
    """The names of all queries, sorted."""
    return sorted(_files())


def texts(folder: str) -> dict[str, str]:
    """The texts of the queries in one folder, by name, for people to read and paste; sorted by name."""
    return {name: _text(name) for name, file in sorted(_files().items()) if Path(str(file)).parent.name == folder}


def statements(name: str) -> list[str]:
    """The statements of a file with several (schema.cypher): each ends with a semicolon at the end of a line."""
    code = "\n".join(line for line in _text(name).splitlines() if not _is_comment(line))
    return [statement.strip() for statement in code.split(";\n") if statement.strip()]


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("//")


def _text(name: str) -> str:
    """The text of a file, with unchanged line ends."""
    files = _files()
    if name not in files:
        raise FileNotFoundError(f"there is no {name}.cypher in {__name__}")
    return files[name].read_bytes().decode("utf-8")


def _files() -> dict[str, Traversable]:
    """The files of this package and its folders, by base name. Raises ValueError if a name is a duplicate."""
    found: dict[str, Traversable] = {}
    for file in _within(resources.files(__name__)):
        name = file.name.removesuffix(".cypher")
        if name in found:
            raise ValueError(f"two files are called {file.name}; a query is found by its base name, so rename one")
        found[name] = file
    return found


def _within(folder: Traversable) -> Iterator[Traversable]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _within(entry)
        elif entry.name.endswith(".cypher"):
            yield entry
