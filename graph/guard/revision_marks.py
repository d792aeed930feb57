"""The marks of a root: the two numbers on its :Revision node by which a reader knows that it read one committed state.

Every statement here that writes is a compare-and-set. It locks the node first, so that it reads the newest values, and
it does nothing if the marks have changed since its caller read them. So a writer that was suspended and lost its lock
meanwhile can change only its own marks. `made` distinguishes a root from a later root of the same name.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from grantpath import cypher
from grantpath.graph.client.driver import failures
from grantpath.graph.errors import Unknown
from grantpath.graph.guard.transaction import Row

if TYPE_CHECKING:
    import neo4j

MOST_REVISIONS = 2**53  # no root reaches as many
OpenSession = Callable[[], "neo4j.Session"]


@dataclass(frozen=True)
class Marks:
    """The marks at one moment. `policy`: the digest of the root's policy; `loading`, `what`: the running load; `due`:
    whether a grant or a membership may have ended that is still in the graph."""

    root: str
    revision: int
    begun: int
    made: str
    policy: str
    loading: str | None
    what: str | None
    due: bool = field(compare=False)  # it becomes true by the clock, without a change

    @classmethod
    def of(cls, root: str, row: Row) -> "Marks":
        """The marks in a row of read_marks.cypher or lock_and_read.cypher."""
        revision, begun = int(row["revision"]), int(row["begun"])
        return cls(root, revision, begun, row["made"], row["policy"], row["loading"], row["what"], row["due"])

    @property
    def settled(self) -> bool:
        """True if no commit and no load is in progress or was interrupted."""
        return self.revision == self.begun and self.loading is None

    @property
    def newest(self) -> int:
        """The revision after a repair."""
        return max(self.revision, self.begun)

    @property
    def key(self) -> dict[str, Any]:
        """The values that a statement compares."""
        return {"root": self.root, "revision": self.revision, "begun": self.begun, "made": self.made}


@dataclass(frozen=True)
class Begun:
    """A begin mark that was sent."""

    _session: "neo4j.Session"
    _answer: "neo4j.Result"

    def is_set(self) -> bool:
        """Waits for the answer, once. False if the marks have changed since they were read, so that it is not set."""
        with self._session:
            return self._answer.single() is not None


class Overtaken(Exception):
    """Another writer has changed the marks, so this one no longer has the lock."""


class BeginMark:
    """The begin mark of one change: sent at most once, and withdrawn if the block raises."""

    def __init__(self, begin: Callable[[int, int | None], Begun], withdraw: Callable[[int], None]) -> None:
        self._begin = begin
        self._withdraw = withdraw
        self._sent: tuple[int, Begun] | None = None

    def send(self, revision: int, ends: int | None) -> None:
        """Sends the mark, unless it was sent. `ends`: the earliest end of what is written, in seconds since 1970."""
        if self._sent is None:
            self._sent = revision, self._begin(revision, ends)

    def need(self) -> None:
        """Waits until the mark is set. Raises Overtaken if the marks were changed since they were read."""
        assert self._sent is not None
        (_, begun), self._sent = self._sent, None
        if not begun.is_set():
            raise Overtaken("another writer changed the root first")

    def __enter__(self) -> "BeginMark":
        return self

    def __exit__(self, *_: object) -> None:
        if self._sent is not None:
            (revision, begun), self._sent = self._sent, None
            with suppress(*failures()):
                if begun.is_set():
                    self._withdraw(revision)


class MarkBook:
    """Reads and sets marks, each in a transaction of its own. May be shared by threads."""

    def __init__(self, quick: OpenSession, timeout: float) -> None:
        """`quick` opens a session on a connection that never waits for a writer lock."""
        self._quick = quick
        self._timeout = timeout

    def read(self, root: str) -> Marks:
        """The marks. Raises Unknown if the root does not exist."""
        with self._quick() as session:
            return Marks.of(root, single(cypher.load("read_marks").run(partial(self._run, session), root=root), root))

    def begin(self, base: Marks, revision: int, ends: int | None) -> "Begun":
        """Before a commit: sends the mark that blocks readers until `end`, and does not wait for its answer."""
        session = self._quick()
        try:
            return Begun(session, cypher.load("begin_mark").run(session.run, **base.key, to=revision, ends=ends))
        except BaseException:
            session.close()
            raise

    def end(self, base: Marks, revision: int) -> bool:
        """After the commit: admits readers. False if another caller has repaired the marks since `begin`."""
        return self._set("end_mark", root=base.root, revision=base.revision, made=base.made, to=revision)

    def repair(self, found: Marks) -> bool:
        """Sets both numbers to the greater one; only for the holder of the lock. False if the marks have changed."""
        return self._set("repair_marks", **found.key, to=found.newest)

    def set_ends(self, found: Marks) -> bool:
        """Notes when the next fact ends; only for the holder of the lock, after it found no fact that has ended.

        Returns whether one has ended since.
        """
        with self._quick() as session:
            row = cypher.load("set_ends").run(session.run, **found.key).single()
        return row is not None and bool(row["due"])

    def _set(self, query: str, **parameters: Any) -> bool:
        # Each query locks the mark by `SET mark.locked` before it reads the mark. `SET mark.begun = mark.begun` would
        # read the old value, then wait for the lock, then write the old value back.
        with self._quick() as session:
            return cypher.load(query).run(session.run, **parameters).single() is not None

    def _run(self, session: "neo4j.Session", text: str, parameters: dict[str, Any]) -> "neo4j.Result":
        from neo4j import Query

        return session.run(Query(text, timeout=self._timeout), parameters)


def single(result: "neo4j.Result", root: str) -> Row:
    """The one row of an answer. Raises Unknown if there is no row, since the root then does not exist."""
    record = result.single()
    return dict(record) if record is not None else root_unknown(root)


def root_unknown(root: str) -> NoReturn:
    """Raises Unknown for a root that does not exist."""
    raise Unknown(
        f"{root} does not exist; create it by Authorizer.open(root={root!r}, policy=..., create=True)",
        code="root_unknown",
    )
