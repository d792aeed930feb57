"""Bulk write: many transactions under one writer lock, invisible to readers until the last one.

A load is too big for one transaction. A transaction that stays open holds the root's writer lock from start to end,
and heartbeats show that the load is alive (heartbeat.py). Before its first batch the load commits a mark on the
:Revision node: `begun` is one ahead of `revision`, so that no guarded read succeeds, and `loading` is the load's id, so
that reads and changes fail at once with the reason. The mark is set only if the marks have not changed since the load
read the facts. Each batch is one transaction. It locks a :LoadLane node, continues only if the mark still has the
load's id, and records the ids of everything that it wrote in a :LoadedBatch node. There are several lanes, so that the
server can write several batches at the same time. Another caller that takes the load over locks all lanes before it
changes the id on the mark. The last transaction writes the log entry, removes these records and makes the two marks
equal, which makes the whole load visible.

A load that also removes facts records them as :DoomedBatch nodes before it removes any. Its last transaction then
leaves the marks unequal and sets `loading_done`: from here on the load is completed and never undone. The recorded
removals follow batch by batch, each together with its record, and then the marks are made equal.

A load owns the root by its id on the mark and its heartbeats, not by the lock: a load that loses the connection of its
lock continues. A load that raises undoes itself, or completes itself if `loading_done` is set. A load that died, and so
gives no sign of life, is undone or completed by the next caller (load_recovery.py). In both cases `revision` and
`begun` end equal and one higher than before, so that a reader that began before the load cannot mistake the state after
it for the state before it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import TYPE_CHECKING, Any

from grantpath import cypher
from grantpath.graph.errors import GrantpathError, Inconsistent, Unavailable
from grantpath.graph.guard.load_recovery import Recovery
from grantpath.graph.guard.revision_marks import Marks
from grantpath.graph.guard.store import Store
from grantpath.graph.guard.transaction import Row, Send
from grantpath.graph.guard.writer_lock import Held
from grantpath.graph.progress import ReportDone

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

LANES = 2  # batches of one load that the server writes at the same time
TRIES = 3  # attempts to learn the outcome; each waits for the server up to the timeout


class Bulk:
    """One bulk write, created by `bulk_write`."""

    def __init__(self, held: Held, base: Marks, what: str) -> None:
        self._held = held
        self._base = base
        self._what = what
        self._own = {"root": held.root, "load": held.id}
        self._numbers = count(1)
        self._recovery = Recovery(held.execute, held.root, held.id)
        self.began = False

    @property
    def root(self) -> str:
        """The root that it writes to."""
        return self._held.root

    @property
    def id(self) -> str:
        """The id of this write: on the mark while it runs, and in the log afterwards."""
        return self._held.id

    @property
    def revision(self) -> int:
        """The root's revision before this write."""
        return self._base.revision

    def begin(self, ends: int | None = None) -> None:
        """Blocks reads of the root from now on. `ends`: the earliest end of what it writes, in seconds since 1970.

        Raises Inconsistent if the root was changed since the lock was taken: the facts that were read are then out of
        date.
        """
        self.began = True
        self._held.beat()  # proves that the load is alive, even if it loses its lock at once
        begun = {**self._base.key, **self._own, "what": self._what, "ends": ends, "lanes": LANES}
        if not cypher.load("load_begin").run(self._held.execute, **begun):
            raise self.overtaken()

    def overtaken(self) -> Inconsistent:
        """The error for a load that lost its lock before it began: the facts that it read may be out of date."""
        return Inconsistent(
            f"{self.root}: `{self._what}` lost its lock, and another writer changed the root; nothing was written,"
            " run it again"
        )

    def next_batch(self) -> dict[str, Any]:
        """The parameters that every batch has: its lane, and its number. The highest number is undone first."""
        number = next(self._numbers)
        return {**self._own, "lane": number % LANES, "number": number}

    def write(self, text: str, parameters: Mapping[str, Any]) -> Row:
        """Runs the query of one batch, which locks its lane, compares the mark and records what it wrote; `parameters`
        contain those of `next_batch`. Returns its row.

        Raises Inconsistent if another caller has undone this load, Unavailable.
        """
        rows = self._held.execute(text, parameters)
        if not rows:
            raise self._lost()
        return rows[0]

    def _lost(self) -> Inconsistent:
        return Inconsistent(
            f"{self.root}: this load gave no sign of life, and another caller rolled it back; run it again"
        )

    def note_removals(self, edges: Sequence[int], nodes: Sequence[int], demotions: Sequence[int]) -> None:
        """Records, by database ids, what to remove at the end of the load. The nodes in `demotions` are kept, but their
        `exists` becomes false."""
        removals = {"edges": list(edges), "nodes": list(nodes), "unmade": list(demotions)}
        if not cypher.load("load_note_removals").run(self._held.execute, **self._own, **removals):
            raise self._lost()

    def finish(self, last: Callable[[Send, int], None], progress: ReportDone) -> int:
        """Commits the load, does the recorded removals, and makes all of it visible. Returns the revision.

        The last transaction calls `last` with a function that runs a query in it, and with the revision; `last` may
        run twice. `progress` receives the number of finished batches of removals. Raises Inconsistent and Unavailable:
        the load was not committed, unless `Unavailable.unknown` is true.
        """

        def work(tx: "ManagedTransaction") -> tuple[int, int]:
            row = cypher.load("load_commit").run(tx.run, **self._own).single()
            if row is None:
                raise self._lost()
            revision, removals = int(row["revision"]), int(row["removals"])
            last(lambda text, given: [dict(each) for each in tx.run(text, {**given, "root": self.root})], revision)
            if not removals:
                cypher.load("load_settle").run(tx.run, **self._own).consume()
            return revision, removals

        try:
            revision, removals = self._held.transaction(work)
            if removals:
                self._recovery.complete(removals, progress)
        except (Inconsistent, Unavailable) as error:
            return self._outcome(error, progress)
        return revision

    def _outcome(self, error: GrantpathError, progress: ReportDone) -> int:
        """After an error in the last transaction: the revision if the load was committed, else raises `error`.

        Recovery locks the mark, and so waits for a commit that is still running; then it completes the load.
        """
        for _ in range(TRIES):
            try:
                self._recovery.run(self.id, progress)
                logged = cypher.load("load_logged").run(self._held.execute, **self._own)
            except Unavailable:
                continue
            if logged:
                return int(logged[0]["revision"])
            raise error
        raise Unavailable(f"{error}; it is not known whether the load was committed", unknown=True) from error

    def undo(self, load: str, progress: ReportDone) -> None:
        """Removes what a load wrote (this one, or one that died), or completes the load if it was committed."""
        self._recovery.run(load, progress)


@contextmanager
def bulk_write(store: Store, root: str, what: str, progress: ReportDone) -> Iterator[Bulk]:
    """Blocks other writers of the root, undoes a load that died, and undoes this load if the block raises.

    `what` names this load in the errors of other callers; `progress` receives the number of batches undone. Raises
    Inconsistent if another load is running, Unavailable.
    """
    for left in reversed(range(TRIES)):
        if store.has_due(root):
            store.end_due(root)
        with store.locked(root, f"`{what}`") as held:
            if held.died:
                held.beat()  # first: others look for the heartbeat of the id on the mark, which becomes this load's
                Recovery(held.execute, root, held.id).run(held.died, progress)
            base = store.settled(held)
            if base.due and left:
                continue
            if base.due:
                raise Inconsistent(
                    f"{root}: facts end again and again; nothing was written, do this again: {what}", code="ends_due"
                )
            bulk = Bulk(held, base, what)
            try:
                yield bulk
                if not bulk.began and store.settled(held) != base:
                    raise bulk.overtaken()  # a dry run would show facts of more than one state
            except BaseException:
                with suppress(GrantpathError):  # the server may be gone; the next caller then undoes this load
                    bulk.undo(bulk.id, progress)
                raise
            return
