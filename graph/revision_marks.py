"""The marks of a root: the two numbers on its :Revision node by which a reader knows that it read one committed state.

Every statement here that writes is a compare-and-set. It locks the node first, so that it reads the newest values, and
it does nothing if the marks have changed since its caller read them. So a writer that was suspended and lost its lock
meanwhile can change only its own marks. `made` distinguishes a root from a later root of the same name.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from grantpath import cypher
from grantpath.graph.errors import Unknown
from grantpath.graph.transaction import Row

if TYPE_CHECKING:
    import neo4j

OpenSession = Callable[[], "neo4j.Session"]


@dataclass(frozen=True)
class Marks:
    """The marks at one moment. `policy`: the digest of the root's policy; `loading`, `what`: the running load."""

    root: str
    revision: int
    begun: int
    made: str
    policy: str
    loading: str | None
    what: str | None

    @property
    def newest(self) -> int:
        """The revision after a repair."""
        return max(self.revision, self.begun)

    @property
    def key(self) -> dict[str, Any]:
        """The values that a statement compares."""
        return {"root": self.root, "revision": self.revision, "begun": self.begun, "made": self.made}


class MarkBook:
    """Reads and sets marks, each in a transaction of its own. May be shared by threads."""

    def __init__(self, quick: OpenSession, timeout: float) -> None:
        """`quick` opens a session on a connection that never waits for a writer lock."""
        self._quick = quick
        self._timeout = timeout

    def read(self, root: str) -> Marks:
        """The marks. Raises Unknown if the root does not exist."""
        with self._quick() as session:
            row = single(cypher.load("read_marks").run(partial(self._run, session), root=root), root)
        return Marks(
            root, int(row["revision"]), int(row["begun"]), row["made"], row["policy"], row["loading"], row["what"]
        )

    def begin(self, base: Marks, revision: int) -> bool:
        """Before a commit: blocks readers until `end`. False if the marks are no longer `base`."""
        return self._set("begin_mark", **base.key, to=revision)

    def end(self, base: Marks, revision: int) -> bool:
        """After the commit: admits readers. False if another caller has repaired the marks since `begin`."""
        return self._set("end_mark", root=base.root, revision=base.revision, made=base.made, to=revision)

    def repair(self, found: Marks) -> bool:
        """Sets both numbers to the greater one; only for the holder of the lock. False if the marks have changed."""
        return self._set("repair_marks", **found.key, to=found.newest)

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
