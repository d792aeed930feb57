"""A lock on a folder, held by one process at a time; its errors name the process that holds it."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from grantpath.graph.errors import ServerError
from grantpath.graph.messages import short

LOCK_SECONDS = 900.0  # longer than the first start of a server takes, its download included
SUSPENDED_SECONDS = 5.0  # the wait ends when the holder has been suspended for this long
POLL_SECONDS = 0.1


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Creates `folder` (and its parents) and holds its lock while the block runs.

    A process that dies releases the lock.

    Raises ServerError if the folder cannot be created or written, if its lock was not free within LOCK_SECONDS, or if
    its holder is suspended; the text names the holder.
    """
    from filelock import FileLock, Timeout

    file = folder / ".lock"
    holder = _LockHolder(file)
    start = time.monotonic()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # FileLock does not follow a symbolic link here: another user could have pointed it at any file of ours.
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
        raise ServerError(
            f"{folder} cannot be written ({error.strerror}); make it writable, or name another"
        ) from error
    try:
        yield
    finally:
        lock.release()


def _write_pid(descriptor: int) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)


class _LockHolder:
    """The process that holds the lock, found by the pid in the lock file."""

    def __init__(self, file: Path) -> None:
        self.name = "another process"
        self._file = file
        self._awake = time.monotonic()  # when it was last seen running

    def is_suspended(self) -> bool:
        """Has it been suspended for SUSPENDED_SECONDS?"""
        now = time.monotonic()
        if not self._look():
            self._awake = now
        return now - self._awake > SUSPENDED_SECONDS

    def _look(self) -> bool:
        """Is it suspended now? Also updates `name`."""
        try:
            pid = int(self._file.read_text(encoding="utf-8"))
            process = psutil.Process(pid)
            self.name = f"process {pid} ({short(' '.join(process.cmdline()))})"
            return process.status() == psutil.STATUS_STOPPED
        except (OSError, ValueError, psutil.Error):
            self.name = "another process"
            return False
