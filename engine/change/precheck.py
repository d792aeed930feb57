"""A look at a root before its lock is taken: what is refused needs no lock, and what was read need not be read again.

A writer asks first without the lock, at a revision with even marks. If it then gets the lock at the same revision, no
commit came between, so the answers are those that it would get now. If a change is wrong, and the marks are still the
same after the questions, it is wrong in that committed state, and is refused there.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any

from grantpath import cypher
from grantpath.engine.change.log_chain import Tail
from grantpath.graph.store import Store
from grantpath.graph.transaction import Row, Writing


class Glance:
    """What was read without the lock, in the order of the questions."""

    def __init__(self, store: Store, root: str, row: Mapping[str, Any]) -> None:
        """`row` is that of log_tail.cypher. Make one by `look`."""
        self._store = store
        self._row = row
        self.root = root
        self.revision = int(row["revision"])
        self.policy: str = row["policy"]
        self.answers: deque[tuple[str, Mapping[str, Any], list[Row]]] = deque()

    @property
    def made(self) -> str:
        """Which making of the root it is of."""
        return self._row["made"]  # type: ignore[no-any-return]

    @property
    def tail(self) -> Tail:
        """The end of the log."""
        return Tail.of(self._row)

    def ask(self, text: str, parameters: Mapping[str, Any]) -> list[Row]:
        """The rows of a query, kept for later."""
        rows = self._store.read(text, parameters)
        self.answers.append((text, dict(parameters), rows))
        return rows

    def read(self, text: str, parameters: Mapping[str, Any]) -> list[Row]:
        """The rows of a query."""
        return self._store.read(text, parameters)

    def stands(self) -> bool:
        """Are the marks still even, and the same? Then all that was asked meanwhile is of one committed state."""
        again = look(self._store, self.root)
        return again is not None and (again.revision, again.made) == (self.revision, self.made)


def look(store: Store, root: str) -> Glance | None:
    """The root as it is; None where a write is under way, or it does not exist. Raises Unavailable."""
    rows = cypher.load("log_tail").run(store.read, root=root)
    return Glance(store, root, rows[0]) if rows and rows[0]["revision"] == rows[0]["begun"] else None


class Informed:
    """A write that asks nothing again that a glance at the same state has answered, until it asks anything else."""

    def __init__(self, writing: Writing, glance: Glance | None) -> None:
        self._writing = writing
        self.root = writing.root
        same = glance is not None and (glance.revision, glance.made) == (writing.revision, writing.made)
        self.glance = glance if same else None
        self._answers = deque(glance.answers) if glance is not None and same else deque()

    @property
    def revision(self) -> int:
        return self._writing.revision

    def ask(self, text: str, parameters: Mapping[str, Any]) -> list[Row]:
        """The rows of a query. The first one that was not asked before ends what is known: it may write."""
        if self._answers:
            asked, given, rows = self._answers.popleft()
            if (asked, given) == (text, parameters):
                return rows
            self._answers.clear()
        return self._writing.ask(text, parameters)

    def read(self, text: str, parameters: Mapping[str, Any]) -> list[Row]:
        """The same for a query that a store would read, too."""
        return self.ask(text, parameters)
