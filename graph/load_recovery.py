"""Undoes or completes a load that died: what graph/bulk_write.py wrote and noted, batch by batch.

Whoever does it holds the writer lock and puts an id of its own in the place of the dead load's, so a batch that is
still under way comes first, and later ones write nothing.
"""

from collections.abc import Callable, Mapping
from typing import Any

from grantpath import cypher
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
        for taken in self._run("load_take_over", dead=load):
            if taken["done"]:
                self.complete(taken["doomed"], progress)
                return True
            for done in range(taken["left"]):
                self._run("load_undo")
                progress(done + 1, taken["left"])
            self._run("load_undone")
        return False

    def complete(self, removals: int, progress: Progress) -> None:
        """Removes so many batches of the removals that a load noted, and sets the marks even."""
        for done in range(removals):
            self._run("load_remove")
            progress(done + 1, removals)
        self._run("load_settle")

    def _run(self, query: str, **parameters: Any) -> list[Row]:
        return cypher.load(query).run(self._execute, **self._own, **parameters)
