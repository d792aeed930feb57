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
    thread: str = field(default_factory=lambda: threading.current_thread().name)
    come: threading.Event = field(default_factory=threading.Event)
    since: float | None = None

    def begin(self) -> None:
        self.since = time.monotonic()
        self.come.set()


class Turns:
    """The lines of one process, one for each root. They stand before the lock in the database.

    Only the first of a line waits there, so that the others hold no connection while they wait, and none is overtaken.
    """

    def __init__(self) -> None:
        self._begin_anew()
        remake_in_children(self)

    def after_fork(self) -> None:
        """The threads that stand in the lines are the parent's."""
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._lock = threading.Lock()
        self._lines: dict[str, deque[_Turn]] = {}

    @contextmanager
    def turn(self, root: str, what: str, seconds: float, error: type[GrantpathError] = Unavailable) -> Iterator[None]:
        """Waits until every earlier thread of the line has left it, and stays its first until the block ends.

        `what` names this work in the errors of those behind. Raises `error` where the turn does not come within
        `seconds`; the text names the thread that has it.
        """
        mine, lines = _Turn(what), self._lines
        try:
            with self._lock:
                line = lines.setdefault(root, deque())
                line.append(mine)
                if line[0] is mine:
                    mine.begin()
            if not mine.come.wait(seconds) and (in_the_way := self._in_the_way(root, mine)):
                raise error(f"{root} was not free within {seconds:g} s: {in_the_way}")
            yield
        finally:
            self._leave(lines, root, mine)

    def _leave(self, lines: dict[str, deque[_Turn]], root: str, mine: _Turn) -> None:
        with self._lock:
            line = lines.get(root, deque())
            if mine not in line:  # an exception was thrown into this thread before it joined
                return
            first = line[0] is mine
            line.remove(mine)
            if not line:
                del lines[root]
            elif first:
                line[0].begin()

    def _in_the_way(self, root: str, mine: _Turn) -> str | None:
        """What the first of the line does, in words; None where it is this thread's turn by now."""
        with self._lock:
            line = self._lines[root]
            first, before = line[0], line.index(mine)
        if first is mine:
            return None
        held = time.monotonic() - (first.since or time.monotonic())
        return (
            f"thread {first.thread} of this process has been busy for {held:.1f} s with {first.what}, and"
            f" {before - 1:,} more came before this one; try again, or open with a larger timeout"
        )
