"""A write of many transactions under one lock, which no reader sees before its end: its marks and its undoing.

A load is too big for one transaction. It holds the root's writer lock from start to end, by a transaction that stays
open. Before its first batch it commits a mark on the :Revision node: `begun` is one ahead of `revision`, so that no
guarded read answers, and `loading` is the load's id, so that reads and changes raise at once and say why. Each batch
is one transaction: it locks the mark, goes on only while its own id stands there, and leaves beside what it wrote a
:LoadedBatch node with the ids of that. The last transaction writes the change into the log, takes the batches' notes
away and sets the marks even: from then on everything is there.

A load that raises undoes itself. One that was killed is undone by the next: whoever holds the lock and finds `loading`
set knows that its load is gone, puts its own id there (so a batch still under way comes first, and later ones write
nothing), and deletes batch by batch, the last one first, what the notes name, each note with its batch. Revision and
`begun` end even, one higher than before: a reader that was asking all the while cannot take before for after.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from neo4j import ManagedTransaction

from grantpath.graph.errors import GrantpathError, Inconsistent
from grantpath.graph.store import Row, Store

Progress = Callable[[int, int], None]


class Bulk:
    """One bulk write. Make one by `bulk_write`."""

    def __init__(self, store: Store, root: str, id_: str) -> None:
        self._store = store
        self.root = root
        self.id = id_

    @property
    def revision(self) -> int:
        """The root's revision before this write."""
        return self._store.revision(self.root)

    def begin(self, what: str) -> None:
        """From now on nobody reads the root. `what` names the load in the errors that the others get."""
        self._store.execute(_BEGIN, {"root": self.root, "load": self.id, "what": what})

    def write(self, text: str, parameters: Mapping[str, Any]) -> Row:
        """One batch: a query that locks the mark, heeds it, and notes what it wrote. Returns its row.

        Raises Inconsistent where another load undid this one, Unavailable.
        """
        rows = self._store.execute(text, {**parameters, "root": self.root, "load": self.id})
        if not rows:
            raise self._lost()
        return rows[0]

    def _lost(self) -> Inconsistent:
        return Inconsistent(f"{self.root}: this load lost its connection, and another one undid it; run it again")

    def finish(self, text: str, parameters: Mapping[str, Any]) -> int:
        """Everything becomes visible, and the query is run with its `revision`, in one transaction. Returns that."""

        def work(tx: ManagedTransaction) -> int:
            row = tx.run(_FINISH, root=self.root, load=self.id).single()
            if row is None:
                raise self._lost()
            revision = int(row["revision"])
            tx.run(text, {**parameters, "root": self.root, "revision": revision}).consume()
            return revision

        return self._store.transaction(work)

    def undo(self, load: str, progress: Progress) -> None:
        """Takes away what that load wrote, this one or one that was killed."""
        own = {"root": self.root, "load": self.id}
        for taken in self._store.execute(_TAKE_OVER, {**own, "from": load}):
            for done in range(taken["left"]):
                self._store.execute(_UNDO, own)
                progress(done + 1, taken["left"])
            self._store.execute(_UNDONE, own)


@contextmanager
def bulk_write(store: Store, root: str, progress: Progress) -> Iterator[Bulk]:
    """Keeps the root's other writers out, undoes what a killed load left, and undoes this one if the block raises.

    `progress` is told of batches undone. Raises Inconsistent where another load is under way, Unavailable.
    """
    bulk = Bulk(store, root, uuid.uuid4().hex)
    with store.locked(root) as killed:
        if killed:
            bulk.undo(killed, progress)
        try:
            yield bulk
        except BaseException:
            with suppress(GrantpathError):  # a server that is gone: the next load undoes this one
                bulk.undo(bulk.id, progress)
            raise


_BEGIN = """MATCH (mark:Revision {root: $root})
SET mark.begun = mark.revision + 1, mark.loading = $load, mark.loading_what = $what"""
_FINISH = """MATCH (mark:Revision {root: $root})
SET mark.batches = null
WITH mark WHERE mark.loading = $load
SET mark.revision = mark.begun, mark.loading = null, mark.loading_what = null
WITH mark.revision AS revision
CALL () { MATCH (batch:LoadedBatch {root: $root}) DELETE batch }
RETURN revision"""
_TAKE_OVER = """MATCH (mark:Revision {root: $root})
SET mark.begun = mark.begun // locks the mark: a batch that is under way comes first
WITH mark WHERE mark.loading = $from
SET mark.loading = $load
RETURN COUNT { (:LoadedBatch {root: $root}) } AS left"""
_UNDO = """MATCH (:Revision {root: $root, loading: $load})
MATCH (batch:LoadedBatch {root: $root})
WITH batch ORDER BY batch.number DESC LIMIT 1
CALL (batch) {
  UNWIND batch.edges AS each
  MATCH (:Entity {root: $root})-[edge]->() WHERE id(edge) = each
  DELETE edge
}
CALL (batch) {
  UNWIND batch.names AS each
  MATCH (name:Entity {root: $root}) WHERE id(name) = each
  SET name.exists = false
}
CALL (batch) {
  UNWIND batch.nodes AS each
  MATCH (entity:Entity {root: $root}) WHERE id(entity) = each
  DETACH DELETE entity
}
DELETE batch"""
_UNDONE = """MATCH (mark:Revision {root: $root, loading: $load})
SET mark.revision = mark.begun, mark.loading = null, mark.loading_what = null, mark.batches = null"""
