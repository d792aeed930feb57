"""Reads a root before its lock is taken: a refused change needs no lock, and the answers can be reused under the lock.

A writer first runs its queries without the lock, while the two revision marks are equal. If it then gets the lock at
the same revision, there was no commit in between, so the answers are still valid. If a change is refused, and the marks
are unchanged after the queries, then the refusal is right for that committed state.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any

from grantpath.engine.change.log_chain import Tail
from grantpath.graph.queries import load_query
from grantpath.graph.store import Store
from grantpath.graph.transaction import Row, Writing


class Precheck:
    """Answers that were read before the lock was taken, in the order of their queries."""

    def __init__(self, store: Store, root: str, row: Mapping[str, Any]) -> None:
        """Call `begin_precheck` instead. `row` is the row of log_tail.cypher."""
        self._store = store
        self._row = row
        self.root = root
        self.revision = int(row["revision"])
        self.policy: str = row["policy"]
        self.answers: deque[tuple[str, Mapping[str, Any], list[Row]]] = deque()

    @property
    def made(self) -> str:
        """The root's creation id."""
        return self._row["made"]  # type: ignore[no-any-return]

    @property
    def tail(self) -> Tail:
        """The end of the log."""
        return Tail.of(self._row)

    def ask(self, text: str, parameters: Mapping[str, Any]) -> list[Row]:
        """The rows of a query, saved for reuse under the lock."""
        rows = self._store.read(text, parameters)
        self.answers.append((text, dict(parameters), rows))
        return rows

    def read(self, text: str, parameters: Mapping[str, Any]) -> list[Row]:
        """The rows of a query."""
        return self._store.read(text, parameters)

    def is_current(self) -> bool:
        """Whether the marks are still equal and unchanged. If so, all answers are from one committed state."""
        again = begin_precheck(self._store, self.root)
        return again is not None and (again.revision, again.made) == (self.revision, self.made)


def begin_precheck(store: Store, root: str) -> Precheck | None:
    """A precheck of the root; None if a commit is running or the root does not exist. Raises Unavailable."""
    rows = load_query("log_tail").run(store.read, root=root)
    return Precheck(store, root, rows[0]) if rows and rows[0]["revision"] == rows[0]["begun"] else None


class PrecheckedWriting:
    """A transaction that reuses the answers of a precheck of the same state, up to the first query that differs."""

    def __init__(self, writing: Writing, precheck: Precheck | None) -> None:
        self._writing = writing
        self.root = writing.root
        same = precheck is not None and (precheck.revision, precheck.made) == (writing.revision, writing.made)
        self.precheck = precheck if same else None
        self._answers = deque(precheck.answers) if precheck is not None and same else deque()

    @property
    def revision(self) -> int:
        return self._writing.revision

    def ask(self, text: str, parameters: Mapping[str, Any]) -> list[Row]:
        """The rows of a query. The first query that differs ends the reuse, because it may write."""
        if self._answers:
            asked, given, rows = self._answers.popleft()
            if (asked, given) == (text, parameters):
                return rows
            self._answers.clear()
        return self._writing.ask(text, parameters)

    def read(self, text: str, parameters: Mapping[str, Any]) -> list[Row]:
        """Like `ask`, so that functions can read from this object or from a store."""
        return self.ask(text, parameters)
