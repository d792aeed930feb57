"""Fair queues of the threads that wait for a root: first come, first served, but waiting questions run together."""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from grantpath.graph.errors import GrantpathError, Inconsistent, Unavailable
from grantpath.graph.forks import remake_in_children


@dataclass(eq=False)
class _Turn:
    """One thread in a queue; `since` is the time at which its turn began."""

    what: str
    shared: bool
    brief: bool
    thread: threading.Thread = field(default_factory=threading.current_thread)
    come: threading.Event = field(default_factory=threading.Event)
    since: float = 0.0


class _Line:
    """The turns of one root: the active ones, and those that wait."""

    def __init__(self) -> None:
        self.active: list[_Turn] = []
        self.waiting: deque[_Turn] = deque()

    def advance(self) -> None:
        """Starts the first turn. If it is shared, starts all waiting shared turns: they do not disturb each other."""
        if self.active or not self.waiting:
            return
        if self.waiting[0].shared:
            self.active = [turn for turn in self.waiting if turn.shared]
            self.waiting = deque(turn for turn in self.waiting if not turn.shared)
        else:
            self.active = [self.waiting.popleft()]
        for turn in self.active:
            turn.since = time.monotonic()
            turn.come.set()

    def active_of(self, thread: threading.Thread) -> _Turn | None:
        """The active turn of a thread."""
        return next((turn for turn in self.active if turn.thread is thread), None)

    def leave(self, turn: _Turn) -> None:
        for turns in (self.active, self.waiting):
            if turn in turns:
                turns.remove(turn)
        self.advance()


class Turns:
    """The queues of one process, one for each root. A thread takes its turn here before the lock in the database.

    Only the first thread of a queue waits for that lock, so the others need no connection, and no change overtakes
    another one.
    """

    def __init__(self) -> None:
        self.after_fork()
        remake_in_children(self)

    def after_fork(self) -> None:
        """Starts with empty queues: after a fork, the waiting threads belong to the parent."""
        self._lock = threading.Lock()
        self._lines: dict[str, _Line] = {}

    def busy(self, root: str) -> bool:
        """Does a thread of this process have or await a turn?"""
        return root in self._lines

    def crowded(self, root: str) -> bool:
        """Do changes of this process follow each other without a pause, so that they disturb every question?"""
        line = self._lines.get(root)
        return line is not None and bool(line.waiting) and all(turn.brief for turn in line.active)

    @contextmanager
    def turn(
        self,
        root: str,
        what: str,
        seconds: float,
        error: type[GrantpathError] = Unavailable,
        *,
        shared: bool = False,
        brief: bool = True,
        waited: float = 0.0,
    ) -> Iterator[None]:
        """Waits for this thread's turn, which lasts until the block ends.

        `what` names this work in the errors of waiting threads; `shared` work may run together with other shared work;
        `brief` work is a single transaction. Raises `error` if the turn does not come within `seconds`, of which the
        caller has `waited` some already; the text names the active thread. Raises Inconsistent at once if this thread
        has a turn already: it would wait for itself.
        """
        mine, lines = _Turn(what, shared, brief), self._lines
        try:
            with self._lock:
                line = lines.setdefault(root, _Line())
                if (outer := line.active_of(mine.thread)) is not None:
                    raise Inconsistent(
                        f"{root}: {outer.what} of this thread is under way; call again when it has ended",
                        code="write_under_way",
                    )
                line.waiting.append(mine)
                line.advance()
            if not mine.come.wait(max(0.0, seconds - waited)) and (blocked_by := self._blocked_by(root, mine)):
                raise error(f"{root} was not free within {seconds:g} s: {blocked_by}")
            yield
        finally:
            self._leave(lines, root, mine)

    def _leave(self, lines: dict[str, _Line], root: str, mine: _Turn) -> None:
        with self._lock:
            line = lines.get(root)
            if line is None:  # an exception was raised in this thread from outside before it joined
                return
            line.leave(mine)
            if not line.active:
                del lines[root]

    def _blocked_by(self, root: str, mine: _Turn) -> str | None:
        """A description of the active turn; None if it is this thread's turn by now."""
        with self._lock:
            if mine.come.is_set():
                return None
            line = self._lines[root]
            first, before = line.active[0], line.waiting.index(mine)
        return (
            f"thread {first.thread.name} of this process has been busy for {time.monotonic() - first.since:.1f} s with"
            f" {first.what}, and {before:,} more wait before this one; try again, or open with a larger timeout"
        )
