"""The user's cache folder, and a lock that one process at a time holds on a folder."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from grantpath.graph.errors import ServerError


def cache_folder() -> Path:
    """GRANTPATH_CACHE, else $XDG_CACHE_HOME/grantpath, else ~/.cache/grantpath (not created here)."""
    if named := os.environ.get("GRANTPATH_CACHE"):
        return Path(named).expanduser().resolve()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser().resolve() / "grantpath"


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Make `folder` (and its parents) and hold its lock; others wait; a dead holder's lock is free.

    Raises ServerError if the folder cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = (folder / ".lock").open("w")
    except OSError as error:
        raise ServerError(f"{folder} cannot be written ({error.strerror}); free it or name another") from error
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
