"""Group commit: changes of one root that wait in a process are made in one transaction, by the thread whose turn it is.

The first thread leads: it takes the root's lock, and then makes its own change and all that wait by then. Threads that
come later wait for the next group. So a change that comes alone is not delayed, and the more threads wait, the more
changes share one lock and one commit.

Each change is authorized and checked on the state that the ones before it left, and has a revision and a log entry of
its own; its thread raises its error, if it is wrong or refused. If the transaction of a group fails, each of its
changes is made alone, by its own thread. If the leader dies, it may have committed: so a thread first looks for its
change in the log.

The statements of `change_all(each=True)` are a group, too, without waiting for one.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Lock, Thread, current_thread

from grantpath.engine.change.change_step import ChangeStep
from grantpath.engine.change.idempotency import Request
from grantpath.engine.change.made import Change
from grantpath.graph.client import telemetry
from grantpath.graph.forks import remake_in_children

MOST = 200  # changes in one transaction
PATIENCE = 0.5  # seconds
LOOK = 1.0  # seconds after which a waiting thread looks whether its leader is still there


@dataclass(eq=False)
class Member:
    """A change that may be made in a group. `named`: the caller has given the id of the request.

    `tried` is what a group was about to commit, or `wrong_at` the revision at which the change is wrong; `step` then
    has its error. Both hold once the group is committed, which `ended` says. `before` is the change if it was made
    already, with its id or by a leader who has found that it was committed.
    """

    step: ChangeStep
    request: Request
    named: bool
    tried: Change | None = None
    wrong_at: int | None = None
    ended: bool = False
    before: Change | None = None
    since: float = field(default_factory=time.monotonic)
    thread: Thread = field(default_factory=current_thread)
    taken: bool = False
    woken: Event = field(default_factory=Event)

    @property
    def waited(self) -> float:
        """The seconds since the change came."""
        return time.monotonic() - self.since


class Groups:
    """The changes of one root that wait in this process."""

    def __init__(self, patience: float = PATIENCE) -> None:
        """`patience`: the seconds after which a waiting thread looks whether its change is wrong."""
        self._patience = patience
        self.after_fork()
        remake_in_children(self)

    def after_fork(self) -> None:
        """Starts empty: after a fork, the waiting threads belong to the parent."""
        self._lock = Lock()
        self._waiting: deque[Member] = deque()
        self._leader: Member | None = None
        self._taken: list[Member] = []

    @contextmanager
    def place(self, member: Member, seconds: float, meanwhile: Callable[[], object]) -> Iterator[bool]:
        """Waits until this thread leads, which lasts until the block ends, and yields True. Yields False if a leader
        has ended the change, or has failed, or if this thread did not come to lead within `seconds`.

        `meanwhile` is called once if this thread waits for long. If it raises, the change is not made.
        """
        try:
            yield self._joined(member) or self._waited(member, seconds, meanwhile)
        finally:
            self._leave(member)

    @property
    def size(self) -> int:
        """How many changes are being made or wait."""
        return len(self._waiting) + len(self._taken) + (self._leader is not None)

    def is_lone(self) -> bool:
        """Whether no change waits for the leader."""
        return not self._waiting

    def take(self, leader: Member) -> list[Member]:
        """The group of a leader: its own change, and those that wait now, in the order in which they came."""
        with self._lock:
            if self._leader is not leader:  # a change inside another one of its thread, which leads
                return [leader]
            while self._waiting and len(self._taken) < MOST - 1:
                member = self._waiting.popleft()
                member.taken = True
                telemetry.lock_waited(member.waited)
                self._taken.append(member)
            return [leader, *self._taken]

    def _joined(self, member: Member) -> bool:
        with self._lock:
            if self._leader is None:
                self._leader = member
                return True
            if self._leader.thread is member.thread:  # it would wait for itself; the queue of writers says so
                return True
            self._waiting.append(member)
            return False

    def _waited(self, member: Member, seconds: float, meanwhile: Callable[[], object]) -> bool:
        if not member.woken.wait(min(self._patience, seconds)):
            try:
                meanwhile()
            except Exception:
                if self._withdrawn(member):
                    raise
        while not member.woken.wait(min(LOOK, max(seconds - member.waited, 0.0)) or LOOK):
            if member.waited >= seconds and self._withdrawn(member):
                return False
            with self._lock:  # a change that is taken waits without a limit, while its leader is there
                if member is self._leader:
                    return True
                if member not in self._waiting and member not in self._taken:
                    return False  # the leader was interrupted while it woke the others
        return self._leader is member

    def _withdrawn(self, member: Member) -> bool:
        """Removes a change that still waits, so that no leader makes it. False if one does, or if this thread leads."""
        with self._lock:
            waits = member in self._waiting
            if waits:
                self._waiting.remove(member)
            return waits

    def _leave(self, member: Member) -> None:
        """Ends the wait or the lead of a thread. The first one that waits then leads."""
        self._withdrawn(member)
        with self._lock:
            if self._leader is not member:
                return
            ended, self._taken = self._taken, []
            self._leader = self._waiting.popleft() if self._waiting else None
            for each in [*ended, self._leader] if self._leader else ended:
                each.woken.set()
