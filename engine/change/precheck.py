"""Reads a root before its lock is taken: a refused change needs no lock, and the answers can be reused under the lock.

A writer first runs its queries without the lock, while the two revision marks are equal. If it then gets the lock at
the same revision, there was no commit in between, so the answers are still valid. If a change is refused, and the marks
are unchanged after the queries, then the refusal is right for that committed state.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any

from grantpath import cypher
from grantpath.graph.guard.store import Store
from grantpath.graph.guard.transaction import Row, Writing

# log entries; writing at most this many is so fast that the begin mark, which blocks readers, is sent before the write
SHORT = 10
NONE: Row = {
    "revision": None,
    "begun": None,
    "made": None,
    "loading": None,
    "policy": None,
    "due": False,
}  # not read yet


class Precheck:
    """Answers that were read before the lock was taken, in the order of their queries.

    The marks must be read first. The first answer about a single change has them (preconditions.cypher); for a batch,
    whose first query does not have them, they are read by a query of their own.
    """

    def __init__(self, store: Store, root: str, batch: bool) -> None:
        """Raises Unavailable."""
        self._store = store
        self.root = root
        self.marks = marks_of(store, root) if batch else NONE
        self.answers: deque[tuple[str, Mapping[str, Any], list[Row]]] = deque()

    @property
    def revision(self) -> int:
        """The root's revision."""
        return int(self.marks["revision"])

    @property
    def is_usable(self) -> bool:
        """Whether the root exists, no load is running, and no fact has ended."""
        return self.marks["revision"] is not None and self.marks["loading"] is None and not self.marks["due"]

    @property
    def is_whole(self) -> bool:
        """Whether no commit was running when the marks were read. True if they have not been read."""
        return bool(self.marks["revision"] == self.marks["begun"])

    def ask(self, text: str, parameters: Mapping[str, Any]) -> list[Row]:
        """The rows of a query, saved for reuse under the lock."""
        rows = self._store.read_values(text, parameters)
        if self.marks is NONE:
            self.marks = rows[0]
        self.answers.append((text, dict(parameters), rows))
        return rows

    def is_current(self) -> bool:
        """Whether the marks are still equal and unchanged. Then all answers are from one committed state."""
        now = marks_of(self._store, self.root)
        unchanged = all(now[name] == self.marks[name] for name in ("revision", "begun", "made"))
        return self.is_whole and unchanged and not now["due"]


def marks_of(store: Store, root: str) -> Row:
    """The marks of a root, nulls if it does not exist. Raises Unavailable."""
    rows = cypher.load("read_marks").run(store.read_values, root=root)
    return rows[0] if rows else dict(NONE)


class PrecheckedWriting:
    """A transaction that reuses the answers of a precheck of the same state, up to the first query that differs.

    The last write is held back, so that the entry of the log can be written by the same statement. If another
    query follows instead, the held write is sent before it, so that the query sees all earlier writes.
    """

    def __init__(self, writing: Writing, precheck: Precheck | None) -> None:
        self._writing = writing
        self.root = writing.root
        same = precheck is not None and (precheck.revision, precheck.marks["made"]) == (writing.revision, writing.made)
        self._answers = deque(precheck.answers) if precheck is not None and same else deque()
        self._held: tuple[str, dict[str, Any]] | None = None

    @property
    def revision(self) -> int:
        return self._writing.revision

    @property
    def tail(self) -> Row | None:
        """The end of the log, if it is known."""
        return self._writing.tail

    def next_revision(self) -> int:
        """The revision of the change that is written next."""
        return self._writing.next_revision()

    def note_end(self, end: str) -> None:
        """Notes the end of a fact that is written. Call it before the log is written."""
        self._writing.note_end(end)

    def ask(self, text: str, parameters: Mapping[str, Any]) -> list[Row]:
        """The rows of a query. The first query that differs ends the reuse, because it may write."""
        if self._answers:
            asked, given, rows = self._answers.popleft()
            if (asked, given) == (text, parameters):
                return rows
            self._answers.clear()
        self._send_held()
        return self._writing.ask(text, parameters)

    def write_later(self, query: str, **parameters: Any) -> None:
        """Writes by a query of cypher/changes/ that takes the entries of the log as `$log`, and whose answer is not
        needed. It is sent with the log, or before the next query."""
        self._answers.clear()
        self._send_held()
        self._held = query, parameters

    def write_log(self, rows: list[dict[str, Any]]) -> None:
        """Writes entries of the log, and what was held back."""
        self._answers.clear()
        last = self._writing.ask_last if len(rows) <= SHORT else self._writing.ask
        if self._held is None:
            cypher.load("audit_write").run(last, root=self.root, rows=rows)
        else:
            (query, parameters), self._held = self._held, None
            cypher.load(query).run(last, root=self.root, log=rows, **parameters)

    def _send_held(self) -> None:
        if self._held is not None:
            (query, parameters), self._held = self._held, None
            cypher.load(query).run(self._writing.ask, root=self.root, log=[], **parameters)
