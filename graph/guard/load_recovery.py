"""Undoes or completes a load of bulk_write.py that died, batch by batch.

The caller holds the writer lock and replaces the dead load's id on the mark with its own. This waits for batches that
are still running, and later batches of the dead load write nothing.
"""

from typing import Any

from grantpath import cypher
from grantpath.graph.guard.transaction import Row, Send
from grantpath.graph.progress import ReportDone


class Recovery:
    """Recovers a dead load of one root under the id `id_`; `execute` runs one statement in a transaction of its own."""

    def __init__(self, execute: Send, root: str, id_: str) -> None:
        self._execute = execute
        self._own = {"root": root, "load": id_}

    def run(self, load: str, progress: ReportDone) -> bool:
        """Removes what a load wrote, or completes the load if it was committed; True if it was completed.

        Does nothing if another caller has taken the load over. `progress` may raise; the next caller then continues.
        """
        for taken in self._run("load_take_over", dead=load):
            if taken["done"]:
                self.complete(taken["removals"], progress)
                return True
            for done in range(taken["left"]):
                self._run("load_undo")
                progress(done + 1, taken["left"])
            self._run("load_undone")
        return False

    def complete(self, removals: int, progress: ReportDone) -> None:
        """Executes the `removals` batches that a load recorded, and makes the marks equal."""
        for done in range(removals):
            self._run("load_remove")
            progress(done + 1, removals)
        self._run("load_settle")

    def _run(self, query: str, **parameters: Any) -> list[Row]:
        return cypher.load(query).run(self._execute, **self._own, **parameters)
