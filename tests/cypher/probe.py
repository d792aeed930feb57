"""A probe: an action with some files of cypher/, and its expected result."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

import pytest
from neo4j.exceptions import Neo4jError

from grantpath import cypher

UNPLANNED = ("Neo.ClientError.Statement.SyntaxError", "Neo.ClientError.Statement.SemanticError")


class NotPlanned(AssertionError):
    """The database cannot read or plan a query's text."""


class Probe:
    """An action with some files of cypher/, and its expected result."""

    def __init__(self, what: str, files: str, look: Callable[[], object], wanted: Callable[[], object]) -> None:
        self.what = what
        self.files = frozenset(files.split())
        self._look = look
        self._wanted = wanted

    @cached_property
    def wanted(self) -> object:
        """The expected result, which is computed with unchanged queries."""
        return self._wanted()

    def fails(self) -> str | None:
        """What came of it instead, or the error; None if all is as it must be.

        An answer that takes longer than the store's timeout is an error, too. Raises NotPlanned.
        """
        wanted = self.wanted
        try:
            found = self._look()
        except Exception as error:  # what reads a wrong answer may raise anything
            _require_planned(error)
            return f"{type(error).__name__}: {error}"
        return None if found == wanted else f"{found!r}, not {wanted!r}"


def always(value: object) -> Callable[[], object]:
    """A probe whose expected result is given."""
    return lambda: value


def _require_planned(error: Exception) -> None:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, Neo4jError) and cause.code in UNPLANNED:
            raise NotPlanned(f"{cause.code}: {cause.message}") from error
        cause = cause.__cause__ or cause.__context__


@contextmanager
def replaced(name: str, text: str) -> Iterator[None]:
    """Replaces the text of a file of cypher/ while the block runs; the parameters remain those of the header."""
    load = cypher.load
    query = replace(load(name), text=text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cypher, "load", lambda wanted: query if wanted == name else load(wanted))
        yield
