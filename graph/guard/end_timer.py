"""Removes facts about when they end, ahead of the first question: one thread of a process, for all its stores.

The thread asks the database when the next fact of a root ends, and waits until then; at most for LOOK seconds, because
a client may meanwhile write a fact with an earlier end.

Nothing depends on the thread: a question or a change that comes first removes what has ended. So the thread drops
errors, and looks again later.
"""

import logging
import sys
import time
from threading import Condition, Thread, current_thread
from typing import Protocol
from weakref import ReferenceType, ref

from grantpath.graph.errors import GrantpathError
from grantpath.graph.forks import remake_in_children

log = logging.getLogger("grantpath.change")
FIRST = 1.0  # seconds until the first look, so that a short command never looks
LOOK = 30.0  # seconds between two looks, at most
AFTER_ERROR = 60.0  # seconds until the next look; while a server hangs, each look keeps the other roots waiting
PATIENCE = 5.0  # seconds for which a store that is closed waits for a look in progress


class Ending(Protocol):
    """A store in which facts end."""

    def end_next(self, root: str) -> float | None:
        """Removes what has ended, or a part of it. Returns the seconds until the next look; None if the store is
        closed. Raises GrantpathError."""


Watched = tuple["ReferenceType[Ending]", str]  # a store, which the thread does not keep alive, and a root


class EndTimer:
    """The thread, and when it looks at which root. May be shared by threads; a forked child starts without any."""

    def __init__(self) -> None:
        self.after_fork()
        remake_in_children(self)

    def after_fork(self) -> None:
        """The thread is gone; that of the parent goes on."""
        self._changed = Condition()
        self._next: dict[Watched, float] = {}  # by time.monotonic
        self._looks_at: Watched | None = None
        self._thread: Thread | None = None

    def watch(self, store: Ending, root: str) -> None:
        """From now on, the thread removes what ends in this root."""
        with self._changed:
            self._next[ref(store), root] = time.monotonic() + FIRST
            if self._thread is None:
                thread = Thread(target=self._run, name="grantpath-ends", daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:  # too many threads, or the process is ending
                    log.debug("%s: what ends is left to the questions: %s", root, error)
                    return
                self._thread = thread
            self._changed.notify_all()

    def forget(self, store: Ending) -> None:
        """Ends the looks at the roots of a store, and waits a moment for one in progress. Then the store can close its
        connections: one that is closed while a thread reads from it may give this thread what is meant for another."""
        deadline = time.monotonic() + PATIENCE
        with self._changed:
            while True:
                for watched in [each for each in self._next if each[0]() is store]:
                    del self._next[watched]
                self._changed.notify_all()
                left = deadline - time.monotonic()
                in_progress = self._looks_at is not None and self._looks_at[0]() is store
                # a finalizer can close a store in the thread itself, or when no other thread runs any more
                if not in_progress or left <= 0 or current_thread() is self._thread or sys.is_finalizing():
                    return
                self._changed.wait(min(left, 0.1))

    def _run(self) -> None:
        while (watched := self._wait()) is not None:
            seconds = _end_next(watched)
            with self._changed:
                self._looks_at = None
                if seconds is not None:
                    self._next.setdefault(watched, time.monotonic() + seconds)
                self._changed.notify_all()

    def _wait(self) -> Watched | None:
        """Waits for the next look, and returns what to look at; None, and the thread must end, if nothing is left."""
        with self._changed:
            while self._next:
                watched, at = min(self._next.items(), key=lambda each: each[1])
                if (left := at - time.monotonic()) <= 0:
                    del self._next[watched]
                    self._looks_at = watched
                    return watched
                self._changed.wait(left)
            self._thread = None
            return None


def _end_next(watched: Watched) -> float | None:
    """Looks at a root. Returns the seconds until the next look; None if there is none."""
    store, root = watched[0](), watched[1]
    try:
        seconds = None if store is None else store.end_next(root)
    except GrantpathError as error:
        log.debug("%s: what has ended is left to the next question: %s", root, error)
        return AFTER_ERROR
    except Exception:  # the other roots must be looked at
        log.warning("%s: what has ended is left to the next question", root, exc_info=True)
        return AFTER_ERROR
    return None if seconds is None else min(seconds, LOOK)


timer = EndTimer()
