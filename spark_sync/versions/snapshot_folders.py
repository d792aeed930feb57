"""Folders that are complete or absent, private, and written by one process at a time."""

import contextlib
import errno
import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from secrets import token_hex

from grantpath.engine.facts.snapshot.current_folder import CURRENT
from grantpath.graph.errors import GrantpathError, InvalidInput
from grantpath.graph.files.private_files import not_created
from grantpath.graph.forks import remake_in_children

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def building(target: Path, replace: bool = False) -> Iterator[Path]:
    """A new folder to write into. It is renamed to the target at the end, so the target is complete or absent.

    It is private: folders have the mode 0700 and files 0600, independent of the umask. A folder that a killed process
    left is removed first. Each new folder has another name, because Spark's tasks go on for a while after their job has
    failed, and would write into the folder of the next run. Raises InvalidInput if the target already exists or cannot
    be created, if another process is writing it, if the disk has no locks, or if it is in a snapshot that has versions,
    and GrantpathError if the disk is full.
    """
    if os.path.lexists(target) and not replace:
        raise _exists(target)
    with alone(target):
        fresh, former = (target.with_name(f".{target.name}.{which}") for which in (f"{token_hex(4)}.new", "old"))
        try:
            _remove_remains(target)
            if replace:
                _put_back(former, target, fresh)  # a process was killed between its two renames
            if os.path.lexists(target) and not replace:
                raise _exists(target)
            if replace and (target.parent / CURRENT).is_symlink():
                raise InvalidInput(f"{target.parent} was updated meanwhile; run the command again")
            _make(fresh, target)
            yield fresh
            _make_private(fresh)
            if replace and target.exists():
                target.rename(former)
            fresh.rename(target)
        except Exception as error:
            if reason := _disk_full(error):
                raise GrantpathError(
                    f"{target}: the disk is full, and nothing was written ({reason}); free some space there and in "
                    "Spark's local folders, or name another folder"
                ) from error
            raise
        finally:
            if replace:
                _put_back(former, target, fresh)
            shutil.rmtree(fresh, ignore_errors=True)


def _remove_remains(target: Path) -> None:
    """Removes new folders of the target that were left, also those of older releases of grantpath, which gave all of
    them one name."""
    ours = re.compile(rf"\.{re.escape(target.name)}\.([0-9a-f]{{8}}\.)?new")
    for each in [*target.parent.iterdir()]:
        if ours.fullmatch(each.name):
            shutil.rmtree(each, ignore_errors=True)


def _put_back(former: Path, target: Path, fresh: Path) -> None:
    """After a failed replacement, gives the old folder its name back. After a successful one, renames the old folder to
    a temporary name and deletes it: if this is interrupted, the rest is not taken for a whole folder."""
    if former.exists():
        former.rename(fresh if target.exists() else target)
        shutil.rmtree(fresh, ignore_errors=True)


def _exists(target: Path) -> InvalidInput:
    return InvalidInput(f"{target} already exists; name a new folder, or remove it")


def _make(fresh: Path, target: Path) -> None:
    try:
        if fresh.exists():
            shutil.rmtree(fresh)
        fresh.mkdir(mode=0o700)
    except OSError as error:
        raise not_created(target, error) from error


@contextlib.contextmanager
def alone(target: Path) -> Iterator[None]:
    """Locks the target by a lock file next to it.

    A link in the place of the target is not followed: in a snapshot it points to another version after each update.
    Raises InvalidInput if another process has the lock, or the disk has no locks. The lock ends with the process; its
    forked children do not have the lock.
    """
    path = Path(os.path.realpath(target.parent)) / f".{target.name}.lock"
    handle = None
    while handle is None:
        handle = _locked(path, target)
    lock = _Lock(handle)
    try:
        yield
    finally:
        lock.end(path)


def alone_with(snapshot: Path) -> AbstractContextManager[None]:
    """Locks a snapshot, which has one lock under all names that links give it. Otherwise like `alone`."""
    return alone(Path(os.path.realpath(snapshot)))


class _Lock:
    """An open and locked lock file. Forked children close it; otherwise the lock would last until they end, too."""

    def __init__(self, handle: int) -> None:
        self._handle: int | None = handle
        remake_in_children(self)

    def after_fork(self) -> None:
        self._close()

    def end(self, path: Path) -> None:
        """Removes the file and ends the lock; in a forked child, does nothing."""
        if self._handle is not None:
            try:
                path.unlink(missing_ok=True)
            finally:
                self._close()

    def _close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


def _locked(path: Path, target: Path) -> int | None:
    """The open lock file; None if the process that had the lock removed the file before this process got it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise not_created(target, error) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is(handle, path):
            return handle
    except BlockingIOError:
        os.close(handle)
        raise InvalidInput(
            f"{target} is being written by another process; wait until it ends, then run the command again"
        ) from None
    except OSError as error:  # e.g. NFS without a service for locks
        os.close(handle)
        raise InvalidInput(f"{path} cannot be locked ({error.strerror}); name a folder on another disk") from error
    os.close(handle)
    return None


def _is(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _make_private(folder: Path) -> None:
    """Sets private modes, because Spark writes files with the umask of its JVM."""
    for path, _, files in os.walk(folder):
        os.chmod(path, 0o700)
        for name in files:
            os.chmod(os.path.join(path, name), 0o600)


def _disk_full(error: Exception) -> str | None:
    """The system's message for a full disk, an exhausted quota or a too large file; None for other errors.

    If a worker failed, the message is part of the text of the error.
    """
    for number in FULL:
        if getattr(error, "errno", None) == number or os.strerror(number) in str(error):
            return os.strerror(number)
    return None
