"""A copy of a root's facts in this process, which each answer proves to be current.

It keeps facts and no decisions. A question reads the root's marks and the deltas since the copy's revision, in one
round trip. If the marks are equal, the copy with these deltas is the state of exactly that revision, and the answer is
computed from it. In all other cases the caller asks the database, while a thread reads the copy again.

One reading of the marks is enough. A writer sets `revision` after its commit and returns only then, so every change
that was acknowledged before the question is at or below the revision that the question reads, and is in the log.
"""

import logging
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from grantpath.engine.decide.request import ResolvedQuestion
from grantpath.engine.facts.fact_draft import Contradiction, advanced
from grantpath.engine.facts.fact_version import FactOrigin, FactVersion
from grantpath.engine.facts.graph_facts import read_facts
from grantpath.engine.facts.memory_check import answers, can_answer
from grantpath.engine.facts.memory_lists import MemoryList, listed
from grantpath.engine.facts.snapshot_facts import read_snapshot
from grantpath.engine.policy.policy import Policy
from grantpath.graph.errors import GrantpathError, Inconsistent, InvalidInput
from grantpath.graph.forks import remake_in_children
from grantpath.graph.inputs import need_number
from grantpath.graph.queries import load_query
from grantpath.graph.reference import Reference
from grantpath.graph.store import Store
from grantpath.graph.transaction import Row

log = logging.getLogger("grantpath.replica")
NEAR = 200  # entries of the log that a question applies; a copy that lacks more is brought up to date by a thread
PAGE = 2_000  # entries that the thread applies at a time
READS = 3  # tries to read a root whose log cannot be followed meanwhile
SETTLE_SECONDS = 10.0  # how long the thread waits for a moment without a writer
PAUSE, LONGEST_PAUSE = 0.002, 0.1  # seconds between two tries
AGAIN_SECONDS = 1.0  # between two failed attempts to read the root


class Replica:
    """The copy of one root's facts. May be shared by threads, and used on both sides of a fork.

    `answered` counts the questions that the copy was proved for, `left` those that it left to the database.
    """

    def __init__(self, store: Store, tenant: str) -> None:
        self._store = store
        self._tenant = tenant
        self._version: FactVersion | None = None
        self._not_before = 0.0
        self.answered = self.left = 0
        self.after_fork()
        remake_in_children(self)

    @classmethod
    def of(cls, store: Store, tenant: str, policy: Policy, snapshot: Path | None = None) -> "Replica":
        """A copy of a root; it is read now, from a snapshot if one is given, or later if that is not possible now."""
        replica = cls(store, tenant)
        store.apart(lambda: replica.read(policy, snapshot))
        return replica

    def after_fork(self) -> None:
        """In a forked child: the copy stays, since it is never changed in place; the thread is gone."""
        self._applying = Lock()
        self._starting = Lock()
        self._thread: Thread | None = None

    @property
    def revision(self) -> int | None:
        """The revision of the copy; None while there is none."""
        version = self._version
        return None if version is None else version.revision

    def current(self, policy: Policy, at_least: int | None = None) -> FactVersion | None:
        """The facts at the revision that the root has now; None if the database must answer.

        They are at least those of the revision `at_least`. Raises Unavailable.
        """
        version = self._proved(policy)
        if version is not None and (at_least is None or version.revision >= at_least):
            self.answered += 1
            return version
        self.left += 1
        return None

    def check(
        self, policy: Policy, questions: Sequence[ResolvedQuestion], at_least: int | None
    ) -> tuple[list[dict[str, Any]], Row] | None:
        """The answers to checks, as check.cypher gives them, and a row with their revision; None if the database must
        answer. Raises Unavailable, and InvalidInput if `at_least` is not an integer.
        """
        version = self._current_for(questions, policy, at_least)
        if version is None:
            return None
        return answers(version, policy, questions), {"revision": version.revision}

    def listing(
        self, policy: Policy, root: Reference, question: ResolvedQuestion, at_least: int | None
    ) -> MemoryList | None:
        """The answer to `who` or `which`; None if the database must answer. Raises the errors of `check`."""
        version = self._current_for([question], policy, at_least)
        return None if version is None else listed(version, policy, root, question)

    def _current_for(
        self, questions: Sequence[ResolvedQuestion], policy: Policy, at_least: int | None
    ) -> FactVersion | None:
        if at_least is not None:
            need_number("at_least", at_least)
        if can_answer(questions):
            return self.current(policy, at_least)
        self.left += 1
        return None

    def _proved(self, policy: Policy) -> FactVersion | None:
        held = self._version
        if held is None or held.origin.policy != policy.digest:
            self._read_later(policy)
            return None
        row = self._proof(held.revision, NEAR)
        if row is None or row["begun"] != row["revision"]:
            return None  # no root, or a writer is in the middle of a commit
        if (
            origin_of(row) != held.origin
            or row["revision"] < held.revision
            or not _can_follow(row, held.revision, NEAR)
        ):
            self._discard(held)
            self._read_later(policy)
            return None
        try:
            return self._advanced(row)
        except Contradiction as error:
            log.warning("%s: its copy contradicts the log after revision %d", self._tenant, held.revision)
            log.debug("%s: %s", self._tenant, error)
            self._discard(held)
            self._read_later(policy)
            return None

    def _proof(self, after: int, limit: int) -> Row | None:
        rows = load_query("replica_proof").run(self._store.read, root=self._tenant, after=after, limit=limit)
        return rows[0] if rows else None

    def _advanced(self, row: Row) -> FactVersion | None:
        """The copy at the revision of the row, or at a later one that another thread has read since."""
        held = self._version
        with self._applying:
            held = self._version
            if held is None or held.origin != origin_of(row):
                return None
            if held.revision < row["revision"]:
                held = self._version = advanced(held, _entries(row, held.revision), row["revision"])
            return held

    def _discard(self, version: FactVersion) -> None:
        with self._applying:
            if self._version is not None and self._version.revision <= version.revision:
                self._version = None

    # ---- reading the whole root --------------------------------------------------------------------------------------
    def read(self, policy: Policy, snapshot: Path | None = None) -> bool:
        """Reads the root into a new copy, or a snapshot of it and what has changed since, if the log says all of that.

        False if that was not possible now; the log says why. Raises nothing.
        """
        try:
            for turn in range(READS):
                version = self._read(policy, snapshot if turn == 0 else None)
                if version is not None:
                    with self._applying:
                        self._version = version
                    log.info("%s: a copy of the facts at revision %d", self._tenant, version.revision)
                    return True
            raise Inconsistent(f"{self._tenant} changes too much to be read at one revision")
        except GrantpathError as error:
            log.warning("%s: no copy of the facts, the database answers: %s", self._tenant, error)
        self._not_before = time.monotonic() + AGAIN_SECONDS
        return False

    def _read_later(self, policy: Policy) -> None:
        """Starts a thread that reads the root, unless one is running or has just failed."""
        with self._starting:
            if (self._thread is None or not self._thread.is_alive()) and time.monotonic() >= self._not_before:
                self._thread = Thread(target=self.read, args=(policy,), name="grantpath-replica", daemon=True)
                self._thread.start()

    def _read(self, policy: Policy, snapshot: Path | None) -> FactVersion | None:
        """A new copy, proved at its end; None if the log does not connect its beginning with its end."""
        began = self._proof(0, 0)
        if began is None:
            raise Inconsistent(f"{self._tenant} does not exist")
        origin = origin_of(began)
        if origin.policy != policy.digest:
            raise Inconsistent(f"{self._tenant} was given another policy")
        if not self._settled(began["revision"], 0):
            raise Inconsistent(f"{self._tenant} is being written")
        version = self._beginning(policy, snapshot, origin, began["revision"])
        row: Row | None
        while (row := self._settled(version.revision, PAGE)) is not None:
            if origin_of(row) != origin or not _can_follow(row, version.revision, PAGE + 1):
                return None
            entries = _entries(row, version.revision)
            if len(row["entries"]) < PAGE:
                return advanced(version, entries, row["revision"], exact=False)
            version = advanced(version, entries, entries[-1]["revision"], exact=False)
        return None

    def _beginning(self, policy: Policy, snapshot: Path | None, origin: FactOrigin, revision: int) -> FactVersion:
        """The facts of the snapshot, or of the graph if there is no snapshot of this root."""
        if snapshot is not None:
            try:
                return read_snapshot(snapshot, self._tenant, policy, origin, revision)
            except InvalidInput as error:
                log.warning("%s: reading the graph and not the snapshot: %s", self._tenant, error)
        return read_facts(self._store, self._tenant, policy, origin, revision)

    def _settled(self, after: int, limit: int) -> Row | None:
        """A proof from a moment without a writer; None if there is none for SETTLE_SECONDS, as during a load."""
        deadline, pause = time.monotonic() + SETTLE_SECONDS, PAUSE
        while (row := self._proof(after, limit)) is not None and row["begun"] != row["revision"]:
            if time.monotonic() > deadline:
                return None
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        return row


def origin_of(row: Row) -> FactOrigin:
    """What the revision of a proof counts in."""
    return FactOrigin(row["made"], row["chain"], row["policy"])


def _entries(row: Row, after: int) -> list[dict[str, Any]]:
    """The entries between two revisions, with their facts; a later one may be in the middle of its commit."""
    return [
        {**entry, "added": entry["added"] or (), "removed": entry["removed"] or ()}
        for entry in row["entries"]
        if after < entry["revision"] <= row["revision"]
    ]


def _can_follow(row: Row, after: int, limit: int) -> bool:
    """Whether the entries of a proof have all facts that changed since `after`."""
    entries = row["entries"]
    return len(entries) < limit and not any(
        entry["facts"] is None or entry["parts"] or entry["upgrade"] or (entry["pruned"] or 0) > after
        for entry in entries
    )
