"""Resets objects that hold connections, locks, queues or threads in a forked child process."""

import os
from typing import Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """An object that a forked child must reset before use."""

    def after_fork(self) -> None:
        """Called in the child, before anything else runs there; must neither wait for a lock nor raise."""


_made: WeakSet[Forkable] = WeakSet()


def remake_in_children(made: Forkable) -> None:
    """Makes every child that is forked from now on call `made.after_fork()`."""
    _made.add(made)


def _in_child() -> None:
    for made in list(_made):
        made.after_fork()


os.register_at_fork(after_in_child=_in_child)
