"""A lock that one process at a time holds on a folder; an error names the process that is in the way."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from grantpath.graph.errors import ServerError
from grantpath.graph.messages import short

LOCK_SECONDS = 900.0  # longer than the first start of a server takes, its download included
SUSPENDED_SECONDS = 5.0  # a holder that is suspended for so long is not waited for any longer
POLL_SECONDS = 0.1


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Make `folder` (and its parents) and hold its lock; others wait; a dead holder's lock is free.

    Raises ServerError if the folder cannot be made or written, or its lock was not free within LOCK_SECONDS, or its
    holder is suspended; the text names the holder.
    """
    from filelock import FileLock, Timeout

    file = folder / ".lock"
    holder = _LockHolder(file)
    start = time.monotonic()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # A link in the place of the file is not followed: the file that it names is not ours to write.
        lock = FileLock(file, mode=0o600, fallback_to_soft=False, on_acquired=_write_pid)
        lock.acquire(LOCK_SECONDS, POLL_SECONDS, cancel_check=holder.is_suspended)
    except Timeout as error:
        if holder.is_suspended():
            raise ServerError(
                f"{folder} is locked by {holder.name}, which is suspended; continue it (`fg`), or end it"
            ) from error
        raise ServerError(
            f"{folder} has been locked for {time.monotonic() - start:.0f} s by {holder.name}; wait until it has ended, "
            "or end it"
        ) from error
    except OSError as error:
        raise ServerError(f"{folder} cannot be written ({error.strerror}); free it or name another") from error
    try:
        yield
    finally:
        lock.release()


def _write_pid(descriptor: int) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)


class _LockHolder:
    """The process that has the lock, by the pid in the file."""

    def __init__(self, file: Path) -> None:
        self.name = "another process"
        self._file = file
        self._awake = time.monotonic()  # when it was last seen to be running

    def is_suspended(self) -> bool:
        """Has it been suspended for SUSPENDED_SECONDS?"""
        now = time.monotonic()
        if not self._look():
            self._awake = now
        return now - self._awake > SUSPENDED_SECONDS

    def _look(self) -> bool:
        """Is it suspended now? Notes its name."""
        try:
            pid = int(self._file.read_text())
            process = psutil.Process(pid)
            self.name = f"process {pid} ({short(' '.join(process.cmdline()))})"
            return process.status() == psutil.STATUS_STOPPED
        except (OSError, ValueError, psutil.Error):
            self.name = "another process"
            return False
