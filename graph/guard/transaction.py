"""The transaction that changes a root, and the functions that send its queries."""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from grantpath import cypher
from grantpath.graph.client import telemetry
from grantpath.graph.language.ends import seconds_of

if TYPE_CHECKING:
    import neo4j

Row = Mapping[str, Any]
Send = Callable[[str, Mapping[str, Any]], list[Row]]  # takes the text of a query and its parameters
AskByName = Callable[..., list[Row]]  # takes the name of a query of cypher/ and its parameters


def row_of(record: "neo4j.Record") -> Row:
    """A row of an answer, with nodes and paths as the driver returns them. `dict(record)` takes four times as long."""
    return dict(zip(record.keys(), record, strict=True))


def query_by_name(ask: Send, root: str) -> AskByName:
    """A function that runs a query of cypher/ about `root`, by the query's name."""

    def named(query: str, **parameters: Any) -> list[Row]:
        return cypher.load(query).run(ask, root=root, **parameters)

    return named


class QueryRunner(Protocol):
    """An object that runs queries about a root, inside a transaction or before it."""

    root: str

    @property
    def revision(self) -> int:
        """The root's revision."""

    def ask(self, text: str, parameters: Mapping[str, Any]) -> list[Row]:
        """The rows of a query."""


class Writing:
    """A transaction under the root's lock; each change in it has a revision of its own."""

    def __init__(
        self,
        tx: "neo4j.Transaction",
        root: str,
        revision: int,
        policy: str,
        made: str,
        tail: Row | None = None,
        begin: Callable[[int, int | None], None] = lambda _, __: None,
    ) -> None:
        self._tx = tx
        self._begin = begin
        self.tail = tail  # the end of the log, as lock_and_read.cypher read it; None if it may have changed since
        self.made = made  # the root's creation id
        self.policy = policy  # the digest of the root's stored policy
        self.root = root
        self.revision = revision
        self.ends: int | None = None  # the earliest end of what is written, in seconds since 1970
        self.changes = 0
        self.noted = False

    def ask(self, text: str, parameters: Mapping[str, Any]) -> list[Row]:
        """The rows of a query, which sees the writes of this transaction."""
        began = time.perf_counter()
        rows: list[Row] = [row_of(record) for record in self._tx.run(text, dict(parameters))]
        telemetry.queried(text, began)
        return rows

    def ask_last(self, text: str, parameters: Mapping[str, Any]) -> None:
        """Runs a short statement after which the revision does not change any more. The begin mark is sent just before,
        so that it is committed while the statement runs."""
        self._begin(self.revision, self.ends)
        self.ask(text, parameters)

    def note(self, text: str, parameters: Mapping[str, Any]) -> None:
        """Writes data that no decision depends on. If a transaction writes nothing else, readers are not blocked."""
        self.noted = True
        self.ask(text, parameters)

    def note_end(self, end: str) -> None:
        """Notes the end of a fact that is written. Call it before `ask_last`."""
        seconds = seconds_of(end)
        self.ends = seconds if self.ends is None else min(self.ends, seconds)

    def next_revision(self) -> int:
        """The revision of the change that is written next."""
        self.changes += 1
        self.revision += 1
        return self.revision
