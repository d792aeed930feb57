"""Heartbeats: a thread writes signs of life for the writers of this process, and ends lock holders that give none.

A writer lock is held by a transaction whose metadata identifies the holder. If a client is stopped or its host is lost
while it holds the lock, the server does not notice for a long time. So each process has one thread per store. About
once a second it writes a :Heartbeat for every claim that is older than a second, and it checks the lock holders that
block waiting claims. A holder is ended if its transaction is old and its heartbeat is old or missing. A slow holder
that is alive is never ended, however long it works. All ages are measured by the server's clock. A claim that has
waited until its deadline is ended, too, and its error names the holder.

Short changes cost nothing: they end before their first heartbeat.
"""

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from grantpath import cypher
from grantpath.graph.client import driver_internals
from grantpath.graph.client.driver import failures
from grantpath.graph.errors import GrantpathError
from grantpath.graph.forks import remake_in_children
from grantpath.graph.guard.revision_marks import OpenSession

log = logging.getLogger("grantpath.change")
TICK = 0.5  # seconds between two rounds of the thread
BEAT = 1.0  # seconds between two heartbeats, and the age of a claim at its first one
IDLE = 10.0  # seconds without a claim after which the thread ends
PART = 2 / 3  # of the limit: the silence after which a holder is ended, so that cleaning up still fits into the limit
LOST = 1 / 3  # of the limit: the silence after which a load that has lost its lock counts as dead
HOST = socket.gethostname()


@dataclass(eq=False)
class Claim:
    """A wait for a lock, and later the lock itself. `what` names the work in the errors of other callers."""

    root: str
    what: str
    deadline: float
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    since: float = field(default_factory=time.monotonic)
    held: bool = False
    given_up: bool = False
    beaten: float = 0.0
    blocked_by: str = "another program holds its lock"

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of its transaction, as SHOW TRANSACTIONS lists it."""
        who = {"root": self.root, "holder": self.id, "what": self.what, "host": HOST}
        return {"grantpath": {**who, "pid": os.getpid()}}


@dataclass(frozen=True)
class _Holder:
    """A transaction that holds a lock or waits for it, as the server lists it."""

    transaction: str
    about: dict[str, Any]
    blockers: frozenset[str]  # the transactions that it waits for
    age: float  # seconds since it began
    silent: float  # seconds since its last sign of life

    @property
    def words(self) -> str:
        """The holder, described for an error."""
        about = self.about
        return (
            f"{about['what']} is under way in process {about['pid']} on {about['host']} (it began {self.age:.0f} s ago,"
            f" its last sign of life was {self.silent:.0f} s ago)"
        )


class LockWatch:
    """The claims of one process on the locks of one server. May be shared by threads."""

    def __init__(self, quick: OpenSession, limit: float) -> None:
        """`quick` opens a session on a connection that never waits for a lock; `limit` in seconds."""
        self._quick = quick
        self.limit = limit
        self.after_fork()
        remake_in_children(self)

    def after_fork(self) -> None:
        """Starts without claims or a thread: after a fork, the existing ones belong to the parent."""
        self._lock = threading.Lock()
        self._beating = threading.Lock()
        self._claims: set[Claim] = set()
        self._thread: threading.Thread | None = None

    @contextmanager
    def claim(self, root: str, what: str, seconds: float) -> Iterator[Claim]:
        """A claim that the thread watches until the block ends; its wait ends after `seconds`."""
        claim = Claim(root, what, time.monotonic() + seconds)
        with self._lock:
            self._claims.add(claim)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="grantpath-lock-watch", daemon=True)
                self._thread.start()
        try:
            yield claim
        except failures():
            claim.beaten = 0.0  # the server may hang, so the last heartbeat is not removed; it expires
            raise
        finally:
            self._leave(claim)

    def got(self, claim: Claim) -> bool:
        """Marks the lock as granted. False if the wait was given up just before."""
        with self._lock:
            claim.held = not claim.given_up
        return claim.held

    def is_alive(self, root: str, load: str) -> bool:
        """Has this load given a recent sign of life? Raises the driver's errors."""
        holders, beats = self._look([root])
        for holder in holders:
            if holder.about["holder"] == load:
                return holder.silent < self.limit * PART
        return beats.get(load, self.limit) < self.limit * LOST

    def beat(self, claim: Claim) -> None:
        """Writes a heartbeat for this claim now. Raises the driver's errors."""
        self._beat([claim])

    def end(self, holder: str) -> None:
        """Ends every transaction of a holder that died. Raises the driver's errors."""
        self._run_one("end_holder", holder=holder)

    def _leave(self, claim: Claim) -> None:
        with self._lock:
            self._claims.discard(claim)
        if claim.beaten:
            with self._beating, suppress(*failures(), GrantpathError):  # a heartbeat that is left expires
                self._run_one("heartbeat_remove", root=claim.root, holder=claim.id)

    # ---- the thread ----------------------------------------------------------------------------------------------
    def _run(self) -> None:
        idle = time.monotonic()
        while True:
            time.sleep(TICK)
            with self._lock:
                claims = list(self._claims)
                now = time.monotonic()
                idle = now if claims else idle
                if now - idle > IDLE:
                    self._thread = None
                    return
            # The next round tries again. If the server is gone, the caller learns it from the claim's own connection.
            with suppress(*failures(), GrantpathError):
                self._beat([claim for claim in claims if now - max(claim.since, claim.beaten) > BEAT])
                self._tend([claim for claim in claims if not claim.held and now - claim.since > TICK])

    def _beat(self, claims: list[Claim]) -> None:
        with self._beating:
            with self._lock:
                claims = [claim for claim in claims if claim in self._claims]
            for claim in claims:
                claim.beaten = time.monotonic()
            if claims:
                self._run_one("heartbeat_write", beats=[{"root": claim.root, "holder": claim.id} for claim in claims])

    def _tend(self, waiting: list[Claim]) -> None:
        """Ends dead holders that these claims wait for, and the claims that have reached their deadline."""
        if not waiting:
            return
        holders, _ = self._look([claim.root for claim in waiting])
        for claim in waiting:
            mine = next((each for each in holders if each.about["holder"] == claim.id), None)
            for holder in holders:
                if mine and holder.transaction in mine.blockers:
                    claim.blocked_by = holder.words
                    if holder.silent >= self.limit * PART:
                        log.warning("%s: ending a writer that gives no sign of life: %s", claim.root, holder.words)
                        self.end(holder.about["holder"])
            if time.monotonic() > claim.deadline and mine:
                with self._lock:
                    claim.given_up = not claim.held
                if claim.given_up:
                    self.end(claim.id)

    def _look(self, roots: list[str]) -> tuple[list[_Holder], dict[str, float]]:
        """The transactions that hold or wait for the locks of these roots; the age of each heartbeat in seconds."""
        beats = {row["holder"]: float(row["age"]) for row in self._run_one("heartbeat_ages", roots=roots)}
        holders = []
        rows = self._run_one("list_holders", roots=roots)
        for row in rows:
            about, age = row["about"], float(row["age"])
            others = {each["id"] for each in rows if each["about"]["root"] == about["root"]} - {row["id"]}
            blockers = driver_internals.blockers(row["status"], others)
            holders.append(_Holder(row["id"], about, blockers, age, min(age, beats.get(about["holder"], age))))
        return holders, beats

    def _run_one(self, query: str, **parameters: Any) -> list[dict[str, Any]]:
        with self._quick() as session:
            return cypher.load(query).run(session.run, **parameters).data()
