"""What must be made anew in a process that was forked: whatever holds connections, locks, queues or threads."""

import os
from typing import Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """Something that a forked child cannot use as it is."""

    def after_fork(self) -> None:
        """Called in the child, before anything else runs there; must neither wait for a lock nor raise."""


_made: WeakSet[Forkable] = WeakSet()


def remake_in_children(made: Forkable) -> None:
    """From now on a child that is forked calls `made.after_fork()`."""
    _made.add(made)


def _in_child() -> None:
    for made in list(_made):
        made.after_fork()


os.register_at_fork(after_in_child=_in_child)
