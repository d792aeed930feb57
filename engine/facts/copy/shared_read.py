"""A read that several threads share: each of them asked before the read began.

A thread that asks while a read is in progress waits for the next one, because what the read in progress returns may be
older than the question. So it waits for at most two reads, however many threads ask.
"""

from collections.abc import Callable
from copy import copy
from threading import Condition, Lock
from typing import Generic, TypeVar

from grantpath.graph.errors import GrantpathError

Result = TypeVar("Result")
Read = Callable[[Callable[[], None] | None], Result]
"""A read. It calls its argument, if that is not None, while the server works."""
PATIENCE = 0.1  # the part of the timeout for which a thread waits until a read that began before its question ends
LOST = 1.5  # how many timeouts a read may take, with a second try, before a thread takes it to be lost


class _Turn(Generic[Result]):
    """One read, for the threads that joined before it began."""

    def __init__(self, lock: Lock) -> None:
        self.changed = Condition(lock)
        self.begun = self.ended = False
        self.results: list[Result] = []  # one, or none if the read failed
        self.error: GrantpathError | None = None


class SharedRead(Generic[Result]):
    """Makes one read for all threads that wait for one. Must be replaced in a forked child, where these threads are
    gone.

    The server of a read in progress may hang. So a thread waits only for a part of `timeout` until such a read ends,
    and then makes the next read beside it.
    """

    def __init__(self, timeout: float) -> None:
        """`timeout`: the seconds that a single try of a read takes at most."""
        self._timeout = timeout
        self._lock = Lock()
        self._next = _Turn[Result](self._lock)
        self._running: _Turn[Result] | None = None

    def run(self, read: Read[Result], meanwhile: Callable[[], None] | None = None) -> Result:
        """The result of a read that began after this call, in this thread or in another one.

        `meanwhile` is called once, while this thread waits for the read. If the read of another thread fails with a
        GrantpathError, this error is raised here too. If the other thread is interrupted, this thread reads.
        """
        while True:
            turn, leads = self._join()
            if not leads:
                if meanwhile is not None:
                    meanwhile()
                    meanwhile = None
                leads = self._wait(turn)
            if leads:
                return self._lead(turn, read, meanwhile)
            if turn.error is not None:
                raise copy(turn.error) from None  # callers add their own question to an error
            if turn.results:
                return turn.results[0]

    def _join(self) -> tuple[_Turn[Result], bool]:
        """The next turn, and whether this thread must read for it."""
        with self._lock:
            turn = self._next
            return turn, self._begun(turn, self._running is None)

    def _wait(self, turn: _Turn[Result]) -> bool:
        """Waits until a turn has ended, or takes too long. Returns whether this thread must read for it."""
        with self._lock:
            while not turn.ended:
                if self._begun(turn, self._running is None):
                    return True
                begun = turn.begun
                seconds = self._timeout * (LOST if begun else PATIENCE)
                if not turn.changed.wait(seconds) and turn.begun == begun:
                    return self._begun(turn, not begun)
            return False

    def _begun(self, turn: _Turn[Result], wanted: bool) -> bool:
        """Begins a turn if this is wanted, unless it has begun. Returns whether it did."""
        if not wanted or turn.begun:
            return False
        turn.begun = True
        self._running, self._next = turn, _Turn(self._lock)
        return True

    def _lead(self, turn: _Turn[Result], read: Read[Result], meanwhile: Callable[[], None] | None) -> Result:
        try:
            result = read(meanwhile)
            turn.results.append(result)
            return result
        except GrantpathError as error:
            turn.error = copy(error)
            raise
        finally:
            with self._lock:
                turn.ended = True
                if self._running is turn:
                    self._running = None
                turn.changed.notify_all()
                self._next.changed.notify()
