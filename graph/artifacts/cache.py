"""The user's cache folder, and its subfolders for executable code."""

import grp
import os
import pwd
import stat
from pathlib import Path

from grantpath.graph.errors import ServerError


def cache_folder() -> Path:
    """GRANTPATH_CACHE, else $XDG_CACHE_HOME/grantpath, else the system's folder for caches (not created here).

    On Linux that is ~/.cache/grantpath.
    """
    if named := os.environ.get("GRANTPATH_CACHE"):
        return Path(named).expanduser().resolve()
    if named := os.environ.get("XDG_CACHE_HOME"):
        return Path(named).expanduser().resolve() / "grantpath"
    import platformdirs

    return platformdirs.user_cache_path("grantpath").resolve()


def code_folder(name: str) -> Path:
    """A subfolder of the cache for executable code (jars, a Java runtime); created if missing, closed to other users.

    Raises ServerError if another user may write to it or to the cache, and could so replace the code that is run.
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
