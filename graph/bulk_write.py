"""A write of many transactions under one lock, which no reader sees before its end: its marks and its undoing.

A load is too big for one transaction. It holds the root's writer lock from start to end, by a transaction that stays
open, and beats all the while (graph/heartbeat.py). Before its first batch it commits a mark on the :Revision node:
`begun` is one ahead of `revision`, so that no guarded read answers, and `loading` is the load's id, so that reads and
changes raise at once and say why. That mark is set only where the marks are those under which the load read the
facts. Each batch is one transaction: it locks the mark, goes on only while its own id is there, and leaves beside what
it wrote a :LoadedBatch node with the ids of that. The last transaction writes the change into the log, removes the
batches' notes and sets the marks even: from then on everything is there.

A load that also removes things notes them as :DoomedBatch nodes before any of them is gone. Its last transaction then
leaves the marks odd and sets `loading_done`: past that point the load is not undone any more but completed. The noted
removals are done batch by batch, each with its note, and then the marks are set even.

The id on the mark and the heartbeats make a load's ownership, not the lock: a load that loses the connection of its
lock goes on. A load that raises undoes itself, or completes itself past that point. One that died, so that it gives no
sign of life, is undone or completed by the next caller (graph/load_recovery.py). Revision and `begun` end even, one
higher than before: a reader that was asking all the while cannot take before for after.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from grantpath import cypher
from grantpath.graph.errors import GrantpathError, Inconsistent, Unavailable
from grantpath.graph.load_recovery import Progress, Recovery
from grantpath.graph.revision_marks import Marks
from grantpath.graph.store import Store
from grantpath.graph.transaction import Row
from grantpath.graph.writer_lock import Held

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

Ask = Callable[[str, Mapping[str, Any]], list[Row]]
TRIES = 3  # to learn the outcome; each of them waits for the server as long as the timeout allows


class Bulk:
    """One bulk write. Make one by `bulk_write`."""

    def __init__(self, held: Held, base: Marks, what: str) -> None:
        self._held = held
        self._base = base
        self._what = what
        self._own = {"root": held.root, "load": held.id}
        self._recovery = Recovery(held.execute, held.root, held.id)
        self.began = False

    @property
    def root(self) -> str:
        """Where it writes."""
        return self._held.root

    @property
    def id(self) -> str:
        """The id of this write, on the mark while it is under way and in the log after."""
        return self._held.id

    @property
    def revision(self) -> int:
        """The root's revision before this write."""
        return self._base.revision

    def begin(self) -> None:
        """From now on nothing of the root can be read.

        Raises Inconsistent where the root was changed since the lock was taken: then the facts that were read are old.
        """
        self.began = True
        self._held.beat()  # so that the load is known to be alive even where it loses its lock at once
        begun = {**self._base.key, **self._own, "what": self._what}
        if not cypher.load("load_begin").run(self._held.execute, **begun):
            raise self.overtaken()

    def overtaken(self) -> Inconsistent:
        """The error of one that lost its lock before it began, so that what it read may be out of date."""
        return Inconsistent(
            f"{self.root}: the lock of `{self._what}` was lost, and another writer came between; nothing was written,"
            " run it again"
        )

    def write(self, text: str, parameters: Mapping[str, Any]) -> Row:
        """One batch: a query that locks the mark, heeds it, and notes what it wrote. Returns its row.

        Raises Inconsistent where another caller undid this load, Unavailable.
        """
        rows = self._held.execute(text, {**parameters, **self._own})
        if not rows:
            raise self._lost()
        return rows[0]

    def _lost(self) -> Inconsistent:
        return Inconsistent(
            f"{self.root}: this load gave no sign of life, and another caller rolled it back; run it again"
        )

    def note_removals(self, edges: Sequence[int], nodes: Sequence[int], demotions: Sequence[int]) -> None:
        """Notes what goes when the load is finished, by ids in the database; `demotions` stay as names only."""
        removals = {"edges": list(edges), "nodes": list(nodes), "unmade": list(demotions)}
        if not cypher.load("load_note_removals").run(self._held.execute, **self._own, **removals):
            raise self._lost()

    def finish(self, last: Callable[[Ask, int], None], progress: Progress) -> int:
        """What is new stays, the noted removals are done, and then all of it is visible. Returns the revision.

        `last` is given the revision and what runs a query in the transaction past which nothing is undone any more;
        it may run twice. `progress` is given the batches of removals that are done. Raises Inconsistent, Unavailable:
        then it is not done, or `Unavailable.unknown` says that this is not known.
        """

        def work(tx: "ManagedTransaction") -> tuple[int, int]:
            row = cypher.load("load_commit").run(tx.run, **self._own).single()
            if row is None:
                raise self._lost()
            revision, removals = int(row["revision"]), int(row["doomed"])
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

    def _outcome(self, error: GrantpathError, progress: Progress) -> int:
        """After an error at the end: the revision where the load was done all the same, else `error` again.

        The mark is locked for it, so that a commit that is still under way comes first; what is left is completed.
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
        raise Unavailable(f"{error}; whether it was done is not known", unknown=True) from error

    def undo(self, load: str, progress: Progress) -> None:
        """Removes what that load wrote, this one or one that died; or completes it, where it was done already."""
        self._recovery.run(load, progress)


@contextmanager
def bulk_write(store: Store, root: str, what: str, progress: Progress) -> Iterator[Bulk]:
    """Keeps the root's other writers out, undoes what a dead load left, and undoes this one if the block raises.

    `what` names it in the errors of others; `progress` is told of batches undone. Raises Inconsistent where
    another load is under way, Unavailable.
    """
    with store.locked(root, f"`{what}`") as held:
        if held.died:
            held.beat()  # the dead load's mark gets this id
            Recovery(held.execute, root, held.id).run(held.died, progress)
        base = store.settled(held)
        bulk = Bulk(held, base, what)
        try:
            yield bulk
            if not bulk.began and store.settled(held) != base:
                raise bulk.overtaken()  # what a dry run shows is not of one state
        except BaseException:
            with suppress(GrantpathError):  # a server that is gone: the next caller undoes this one
                bulk.undo(bulk.id, progress)
            raise
