"""Breaking a query on purpose: one change of its text, and the comparison that must notice it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import pytest
from neo4j.exceptions import Neo4jError

from grantpath import cypher
from grantpath.graph.errors import GrantpathError, Unavailable
from grantpath.spark_sync import graph_reader

TAKEN = "Neo.ClientError.Schema.ConstraintValidationFailed"


@dataclass(frozen=True)
class Mutant:
    """What is broken, in which file of cypher/, by which change of its text."""

    what: str
    file: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.file}: {self.what}"


def each(files: str, what: str, old: str, new: str) -> list[Mutant]:
    """The same change in several files."""
    return [Mutant(what, file, old, new) for file in files.split()]


class NoQuery(AssertionError):
    """The mutant is none: the database cannot read or plan its text."""


class Probe:
    """Something that is done with some files of cypher/, and what must come of it."""

    def __init__(self, what: str, files: str, look: Callable[[], object], wanted: Callable[[], object]) -> None:
        self.what = what
        self.files = frozenset(files.split())
        self._look = look
        self._wanted = wanted

    @cached_property
    def wanted(self) -> object:
        """What must come of it; found out while nothing is broken."""
        return self._wanted()

    def fails(self) -> str | None:
        """What came of it instead, or the error; None if all is as it must be. Raises NoQuery."""
        wanted = self.wanted
        try:
            found = self._look()
        except (GrantpathError, Neo4jError, AssertionError, LookupError, TypeError, ValueError) as error:
            _is_no_query(error)
            return f"{type(error).__name__}: {error}"
        return None if found == wanted else f"{found!r}, not {wanted!r}"


def always(value: object) -> Callable[[], object]:
    """What must come is known beforehand."""
    return lambda: value


def _is_no_query(error: Exception) -> None:
    """Raises NoQuery for an error that is not the outcome of a query that ran."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, NoQuery):
            raise cause
        if isinstance(cause, Neo4jError):
            if cause.code == TAKEN:  # it ran, and wrote what must not be there twice
                return
            raise NoQuery(f"{cause.code}: {cause.message}") from error
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, Unavailable):
        raise NoQuery(str(error)) from error


def mutated(mutant: Mutant) -> str:
    """The file's text with the change, everywhere behind its header."""
    lines = cypher.load(mutant.file).text.splitlines(keepends=True)
    start = next(at for at, line in enumerate(lines) if not line.startswith("//"))
    body = "".join(lines[start:])
    assert mutant.old in body, f"{mutant}: {mutant.file}.cypher no longer has {mutant.old!r}"
    return "".join(lines[:start]) + body.replace(mutant.old, mutant.new)


@contextmanager
def broken(mutant: Mutant) -> Iterator[None]:
    """Gives the mutant's text for its file while the block runs; its parameters stay as the header has them."""
    load = cypher.load
    query = replace(load(mutant.file), text=mutated(mutant))
    with pytest.MonkeyPatch.context() as patch:
        for where, called in ((cypher, "load"), (graph_reader, "load_query")):
            patch.setattr(where, called, lambda name: query if name == mutant.file else load(name))
        yield
