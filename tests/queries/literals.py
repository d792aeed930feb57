"""Literal mutants: hand-written changes of a query's text, for files without generated mutants."""

from dataclasses import dataclass

from grantpath import cypher


@dataclass(frozen=True)
class Mutant:
    """A mutant: its description, its file of cypher/, and the change of the text."""

    what: str
    file: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.file}: {self.what}"


def each(files: str, what: str, old: str, new: str) -> list[Mutant]:
    """The same change in several files."""
    return [Mutant(what, file, old, new) for file in files.split()]


def mutated(mutant: Mutant) -> str:
    """The file's text with the change, everywhere after its header."""
    lines = cypher.load(mutant.file).text.splitlines(keepends=True)
    start = next(at for at, line in enumerate(lines) if not line.startswith("//"))
    body = "".join(lines[start:])
    assert mutant.old in body, f"{mutant}: {mutant.file}.cypher no longer has {mutant.old!r}"
    return "".join(lines[:start]) + body.replace(mutant.old, mutant.new)
