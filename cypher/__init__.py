"""The queries, one statement a .cypher file, sent to the database byte for byte as they stand on disk.

Each file opens with a comment: what it answers, `// $name TYPE example` for each parameter, what it returns, and a
commented `:params` line to run first in Neo4j Browser.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

if __name__ != "grantpath.cypher":
    raise ImportError("import grantpath.cypher, not cypher")

_HEADER = re.compile(r"// \$(\w+)\s+[A-Z]")
_USED = re.compile(r"\$(\w+)")


@dataclass(frozen=True)
class Query:
    """One file: its name, its text, and the parameters that its header names."""

    name: str
    text: str
    parameters: frozenset[str]

    def check(self, parameters: Mapping[str, object]) -> None:
        """Refuses a call with other parameters than the header's: the database ignores a surplus one in silence."""
        if parameters.keys() != self.parameters:
            differing = ", ".join(sorted(parameters.keys() ^ self.parameters))
            raise TypeError(f"{self.name}.cypher: parameters missing or surplus: {differing}")


@cache
def load(name: str) -> Query:
    """The query in `<name>.cypher`. Raises ValueError where its header differs from the parameters it uses."""
    text = resources.files(__name__).joinpath(f"{name}.cypher").read_text(encoding="utf-8")
    code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))
    named = frozenset(_HEADER.findall(text))
    used = frozenset(_USED.findall(code))
    if named != used:
        raise ValueError(f"{name}.cypher: header and text differ in {', '.join(sorted(named ^ used))}")
    return Query(name, text, named)


def names() -> list[str]:
    """The names of all queries, sorted."""
    files = resources.files(__name__).iterdir()
    return sorted(file.name.removesuffix(".cypher") for file in files if file.name.endswith(".cypher"))


def statements(name: str) -> list[str]:
    """The statements of a file that holds several (schema.cypher): each ends with a semicolon at a line's end."""
    text = resources.files(__name__).joinpath(f"{name}.cypher").read_text(encoding="utf-8")
    code = "\n".join(line for line in text.splitlines() if not line.startswith("//"))
    return [statement.strip() for statement in code.split(";\n") if statement.strip()]
