"""The user's cache folder, and a lock that one process at a time holds on a folder."""

import contextlib
import fcntl
import grp
import os
import pwd
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import psutil

from grantpath.graph.errors import ServerError
from grantpath.graph.messages import short

LOCK_SECONDS = 900.0  # longer than the first start of a server takes, its download included
SUSPENDED_SECONDS = 5.0  # a holder that is suspended for so long is not waited for any longer
POLL_SECONDS = 0.1


def cache_folder() -> Path:
    """GRANTPATH_CACHE, else $XDG_CACHE_HOME/grantpath, else ~/.cache/grantpath (not created here)."""
    if named := os.environ.get("GRANTPATH_CACHE"):
        return Path(named).expanduser().resolve()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser().resolve() / "grantpath"


def code_folder(name: str) -> Path:
    """A folder of the cache for what will be run: jars, a Java. It is created, closed to other users.

    Raises ServerError where another user may write it, or the cache, and so decide what is run.
    """
    cache = cache_folder()
    try:
        for folder in (cache, cache / name):
            folder.mkdir(mode=0o700, parents=folder == cache, exist_ok=True)
            _check_private(folder)
    except OSError as error:
        raise ServerError(f"{cache / name} cannot be written ({error.strerror}); free it or name another") from error
    return cache / name


def _check_private(folder: Path) -> None:
    found = folder.stat()
    if found.st_uid not in (os.geteuid(), 0):
        why = "belongs to another user"
    elif found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and _has_others(found.st_gid)):
        why = "may be written by other users"
    else:
        return
    raise ServerError(
        f"{folder} {why}, and what is in it is run: close it (chmod go-w), after you have emptied it, or name another "
        "folder in GRANTPATH_CACHE"
    )


def _has_others(group: int) -> bool:
    """Has a group members beside this user? Many systems give each user a group of his own."""
    me = os.geteuid()
    try:
        members = {pwd.getpwnam(name).pw_uid for name in grp.getgrgid(group).gr_mem}
    except KeyError:
        return True
    return bool((members | {each.pw_uid for each in pwd.getpwall() if each.pw_gid == group}) - {me})


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Make `folder` (and its parents) and hold its lock; others wait; a dead holder's lock is free.

    Raises ServerError if the folder cannot be made or written, or its lock was not free within LOCK_SECONDS, or its
    holder is suspended; the text names the holder.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # A link in the place of the file is not followed: what it names is not ours to write.
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        handle = os.fdopen(os.open(folder / ".lock", flags, 0o600), "r+")
    except OSError as error:
        raise ServerError(f"{folder} cannot be written ({error.strerror}); free it or name another") from error
    with handle:
        _acquire(handle, folder)
        handle.truncate(0)
        print(os.getpid(), file=handle, flush=True)
        yield


def _acquire(handle: TextIO, folder: Path) -> None:
    start = time.monotonic()
    awake = start  # when the holder was last seen to be running
    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        now, (holder, suspended) = time.monotonic(), _holder(handle)
        if not suspended:
            awake = now
        if now - awake > SUSPENDED_SECONDS:
            raise ServerError(f"{folder} is locked by {holder}, which is suspended; continue it (`fg`), or end it")
        if now - start > LOCK_SECONDS:
            raise ServerError(
                f"{folder} has been locked for {now - start:.0f} s by {holder}; wait until it has ended, or end it"
            )
        time.sleep(POLL_SECONDS)


def _holder(handle: TextIO) -> tuple[str, bool]:
    """The process that has the lock, in words, and whether it is suspended."""
    handle.seek(0)
    said = handle.read().strip()
    try:
        process = psutil.Process(int(said))
        return f"process {said} ({short(' '.join(process.cmdline()))})", process.status() == psutil.STATUS_STOPPED
    except (ValueError, psutil.Error):
        return "another process", False
