"""A write of many transactions under one lock, which no reader sees before its end: its marks and its undoing.

A load is too big for one transaction. It holds the root's writer lock from start to end, by a transaction that stays
open. Before its first batch it commits a mark on the :Revision node: `begun` is one ahead of `revision`, so that no
guarded read answers, and `loading` is the load's id, so that reads and changes raise at once and say why. Each batch
is one transaction: it locks the mark, goes on only while its own id stands there, and leaves beside what it wrote a
:LoadedBatch node with the ids of that. The last transaction writes the change into the log, takes the batches' notes
away and sets the marks even: from then on everything is there.

A load that also takes things away notes them as :DoomedBatch nodes before any of that is gone. Its last transaction
then leaves the marks odd and sets `loading_done`: behind that point the load is not undone any more but ended. The
doomed go batch by batch, each with its note, and then the marks are set even.

A load that raises undoes itself, or ends itself behind that point. One that was killed is undone or ended by the next:
whoever holds the lock and finds `loading` set knows that its load is gone, and puts its own id there (so a batch still
under way comes first, and later ones write nothing). To undo it, it deletes batch by batch, the last one first, what
the notes name, each note with its batch. Revision and `begun` end even, one higher than before: a reader that was
asking all the while cannot take before for after.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from neo4j import ManagedTransaction

from grantpath.graph.errors import GrantpathError, Inconsistent
from grantpath.graph.store import Store
from grantpath.graph.writing import Row

Progress = Callable[[int, int], None]
Ask = Callable[[str, Mapping[str, Any]], list[Row]]


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

    def doom(self, edges: Sequence[int], nodes: Sequence[int], unmade: Sequence[int]) -> None:
        """Notes what goes when the load is finished, by ids in the database; `unmade` stay as names only."""
        doomed = {"edges": list(edges), "nodes": list(nodes), "unmade": list(unmade)}
        if not self._store.execute(_DOOM, {"root": self.root, "load": self.id, **doomed}):
            raise self._lost()

    def finish(self, last: Callable[[Ask, int], None], progress: Progress) -> int:
        """What is new stays, what is doomed goes, and then all of it is visible. Returns the revision.

        `last` is given the revision and what runs a query in the transaction behind which nothing is undone any more;
        it may run twice. `progress` is told of the batches of doomed that are gone.
        """

        def work(tx: ManagedTransaction) -> tuple[int, int]:
            row = tx.run(_DONE, root=self.root, load=self.id).single()
            if row is None:
                raise self._lost()
            revision, doomed = int(row["revision"]), int(row["doomed"])
            last(lambda text, given: [dict(each) for each in tx.run(text, {**given, "root": self.root})], revision)
            if not doomed:
                tx.run(_SETTLE, root=self.root, load=self.id).consume()
            return revision, doomed

        revision, doomed = self._store.transaction(work)
        if doomed:
            self._end(doomed, progress)
        return revision

    def _end(self, doomed: int, progress: Progress) -> None:
        own = {"root": self.root, "load": self.id}
        for done in range(doomed):
            self._store.execute(_FELL, own)
            progress(done + 1, doomed)
        self._store.execute(_SETTLE, own)

    def undo(self, load: str, progress: Progress) -> None:
        """Takes away what that load wrote, this one or one that was killed; or ends it, where it was done already."""
        own = {"root": self.root, "load": self.id}
        for taken in self._store.execute(_TAKE_OVER, {**own, "from": load}):
            if taken["done"]:
                self._end(taken["doomed"], progress)
                continue
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
_DOOM = """MATCH (mark:Revision {root: $root})
SET mark.begun = mark.begun // locks the mark
WITH mark WHERE mark.loading = $load
CREATE (doomed:DoomedBatch {root: $root, edges: $edges, nodes: $nodes, unmade: $unmade})
RETURN true AS noted"""
_DONE = """MATCH (mark:Revision {root: $root})
SET mark.batches = null
WITH mark WHERE mark.loading = $load
SET mark.loading_done = true
WITH mark
CALL () { MATCH (batch:LoadedBatch {root: $root}) DELETE batch }
RETURN mark.begun AS revision, COUNT { (:DoomedBatch {root: $root}) } AS doomed"""
_FELL = """MATCH (:Revision {root: $root, loading: $load})
MATCH (batch:DoomedBatch {root: $root})
WITH batch LIMIT 1
CALL (batch) {
  UNWIND batch.edges AS each
  MATCH (:Entity {root: $root})-[edge]->() WHERE id(edge) = each
  DELETE edge
}
CALL (batch) {
  UNWIND batch.unmade AS each
  MATCH (name:Entity {root: $root}) WHERE id(name) = each
  SET name.exists = false
}
CALL (batch) {
  UNWIND batch.nodes AS each
  MATCH (entity:Entity {root: $root}) WHERE id(entity) = each
  DETACH DELETE entity
}
DELETE batch"""
_SETTLE = """MATCH (mark:Revision {root: $root, loading: $load})
SET mark.revision = mark.begun, mark.loading = null, mark.loading_what = null, mark.loading_done = null"""
_TAKE_OVER = """MATCH (mark:Revision {root: $root})
SET mark.begun = mark.begun // locks the mark: a batch that is under way comes first
WITH mark WHERE mark.loading = $from
SET mark.loading = $load
RETURN COUNT { (:LoadedBatch {root: $root}) } AS left, COUNT { (:DoomedBatch {root: $root}) } AS doomed,
  coalesce(mark.loading_done, false) AS done"""
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
  MATCH (node {root: $root}) WHERE id(node) = each // entities, and entries of a restored history
  DETACH DELETE node
}
DELETE batch"""
_UNDONE = """MATCH (mark:Revision {root: $root, loading: $load})
CALL () { MATCH (doomed:DoomedBatch {root: $root}) DELETE doomed }
SET mark.revision = mark.begun, mark.loading = null, mark.loading_what = null, mark.batches = null"""
