"""The subfolders of the user's cache folder for executable code."""

import grp
import os
import pwd
import stat
from pathlib import Path

from grantpath.graph.errors import ServerError
from grantpath.graph.files.private_files import cache_folder


def code_folder(name: str) -> Path:
    """A subfolder of the cache for executable code (jars, a Java runtime); created if missing, closed to other users.

    Raises ServerError if another user may write to it or to the cache, and so could replace the code that is run.
    """
    cache = cache_folder()
    try:
        for folder in (cache, cache / name):
            folder.mkdir(mode=0o700, parents=folder == cache, exist_ok=True)
            _check_private(folder)
    except OSError as error:
        raise ServerError(
            f"{cache / name} cannot be written ({error.strerror}); make it writable, or set GRANTPATH_CACHE"
        ) from error
    return cache / name


def _check_private(folder: Path) -> None:
    found = folder.stat()
    if found.st_uid not in (os.geteuid(), 0):
        why = "belongs to another user"
    elif found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and _has_others(found.st_gid)):
        why = "is writable by other users"
    else:
        return
    raise ServerError(
        f"{folder} {why}, and grantpath runs the code in it: empty the folder and make it private (chmod go-w), or "
        "name another one in GRANTPATH_CACHE"
    )


def _has_others(group: int) -> bool:
    """Does the group have members other than this user? Many systems give each user a private group."""
    me = os.geteuid()
    try:
        members = {pwd.getpwnam(name).pw_uid for name in grp.getgrgid(group).gr_mem}
    except KeyError:
        return True
    return bool((members | {each.pw_uid for each in pwd.getpwall() if each.pw_gid == group}) - {me})
