"""Lines of threads that wait to change a root: in each, the first to come is the first served."""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from grantpath.graph.errors import GrantpathError, Unavailable
from grantpath.graph.forks import remake_in_children


@dataclass(eq=False)
class _Turn:
    """One thread in a line; `since` is the moment at which its turn came."""

    what: str
    shared: bool
    brief: bool
    thread: str = field(default_factory=lambda: threading.current_thread().name)
    come: threading.Event = field(default_factory=threading.Event)
    since: float = 0.0


class _Line:
    """Those whose turn it is, and those that wait."""

    def __init__(self) -> None:
        self.active: list[_Turn] = []
        self.waiting: deque[_Turn] = deque()

    def advance(self) -> None:
        """Lets the first in; where it is shared, all that are shared and wait by now, since none disturbs another."""
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

    def leave(self, turn: _Turn) -> None:
        for turns in (self.active, self.waiting):
            if turn in turns:
                turns.remove(turn)
        self.advance()


class Turns:
    """The lines of one process, one for each root. They stand before the lock in the database.

    Only the first of a line waits there, so that the others hold no connection while they wait, and none is overtaken.
    """

    def __init__(self) -> None:
        self.after_fork()
        remake_in_children(self)

    def after_fork(self) -> None:
        """Begins with empty lines: after a fork, the threads that stood in them are the parent's."""
        self._lock = threading.Lock()
        self._lines: dict[str, _Line] = {}

    def busy(self, root: str) -> bool:
        """Does a thread of this process have its turn, or wait for it?"""
        return root in self._lines

    def crowded(self, root: str) -> bool:
        """Do changes of this process follow each other, so that a question beside them is disturbed each time?"""
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
    ) -> Iterator[None]:
        """Waits for this thread's turn, and keeps it until the block ends.

        `what` names this work in the errors of those behind; `shared` is work that may be done beside other shared
        work, `brief` work of one transaction. Raises `error` where the turn does not come within `seconds`; the text
        names the thread that has it.
        """
        mine, lines = _Turn(what, shared, brief), self._lines
        try:
            with self._lock:
                line = lines.setdefault(root, _Line())
                line.waiting.append(mine)
                line.advance()
            if not mine.come.wait(seconds) and (in_the_way := self._in_the_way(root, mine)):
                raise error(f"{root} was not free within {seconds:g} s: {in_the_way}")
            yield
        finally:
            self._leave(lines, root, mine)

    def _leave(self, lines: dict[str, _Line], root: str, mine: _Turn) -> None:
        with self._lock:
            line = lines.get(root)
            if line is None:  # an exception was thrown into this thread before it joined
                return
            line.leave(mine)
            if not line.active:
                del lines[root]

    def _in_the_way(self, root: str, mine: _Turn) -> str | None:
        """What the first of the line does, in words; None where it is this thread's turn by now."""
        with self._lock:
            if mine.come.is_set():
                return None
            line = self._lines[root]
            first, before = line.active[0], line.waiting.index(mine)
        return (
            f"thread {first.thread} of this process has been busy for {time.monotonic() - first.since:.1f} s with"
            f" {first.what}, and {before:,} more came before this one; try again, or open with a larger timeout"
        )
