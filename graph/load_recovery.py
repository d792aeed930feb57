"""Undoes or completes a load that died: what graph/bulk_write.py wrote and noted, batch by batch.

Whoever does it holds the writer lock and puts an id of its own in the place of the dead load's, so a batch that is
still under way comes first, and later ones write nothing.
"""

from collections.abc import Callable, Mapping
from typing import Any

from grantpath.graph.transaction import Row

Progress = Callable[[int, int], None]
Execute = Callable[[str, Mapping[str, Any]], list[Row]]


class Recovery:
    """Works on a dead load of one root under an id of its own; `execute` runs one statement in its transaction."""

    def __init__(self, execute: Execute, root: str, id_: str) -> None:
        self._execute = execute
        self._own = {"root": root, "load": id_}

    def run(self, load: str, progress: Progress) -> bool:
        """Takes away what that load wrote; or completes it where it was past the point of no return: then True.

        Does nothing where another caller has taken it over. `progress` may raise; the next caller goes on from there.
        """
        for taken in self._execute(_TAKE_OVER, {**self._own, "from": load}):
            if taken["done"]:
                self.complete(taken["doomed"], progress)
                return True
            for done in range(taken["left"]):
                self._execute(_UNDO, self._own)
                progress(done + 1, taken["left"])
            self._execute(_UNDONE, self._own)
        return False

    def complete(self, doomed: int, progress: Progress) -> None:
        """Removes so many batches of what a load dooms, and sets the marks even."""
        for done in range(doomed):
            self._execute(_FELL, self._own)
            progress(done + 1, doomed)
        self._execute(SETTLE, self._own)


# Each statement locks the mark by `SET mark.locked` before it reads it: see graph/revision_marks.py.
SETTLE = """MATCH (mark:Revision {root: $root})
SET mark.locked = true
WITH mark WHERE mark.loading = $load
SET mark.revision = mark.begun, mark.loading = null, mark.loading_what = null, mark.loading_done = null"""
_FELL = """MATCH (mark:Revision {root: $root})
SET mark.locked = true
WITH mark WHERE mark.loading = $load
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
_TAKE_OVER = """MATCH (mark:Revision {root: $root})
SET mark.locked = true
WITH mark WHERE mark.loading = $from
SET mark.loading = $load
RETURN COUNT { (:LoadedBatch {root: $root}) } AS left, COUNT { (:DoomedBatch {root: $root}) } AS doomed,
  coalesce(mark.loading_done, false) AS done"""
_UNDO = """MATCH (mark:Revision {root: $root})
SET mark.locked = true
WITH mark WHERE mark.loading = $load
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
_UNDONE = """MATCH (mark:Revision {root: $root})
SET mark.locked = true
WITH mark WHERE mark.loading = $load
CALL () { MATCH (doomed:DoomedBatch {root: $root}) DELETE doomed }
SET mark.revision = mark.begun, mark.loading = null, mark.loading_what = null, mark.batches = null"""
