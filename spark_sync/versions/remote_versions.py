"""Folders in object stores that are complete or absent: each writer writes a version, one file names the current one.

An object store cannot rename a folder, and has no locks. So each writer has a folder of its own, OUT/versions/ID, and
the tables of two writers never mix. Writing the small file OUT/current makes a version the current one, at once.
"""

import contextlib
import re
import secrets
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from grantpath.engine.facts.snapshot.current_folder import CURRENT, VERSIONS, current_version
from grantpath.graph.errors import GrantpathError, InvalidInput
from grantpath.graph.files.remote_path import AnyPath, RemotePath, reason_of, remove_tree
from grantpath.spark_sync.versions.snapshot_folders import building

# The first file of a version, so that a missing permission or a wrong endpoint is noticed at once. It is also removed
# first: a writer that was wrongly considered dead then does not make its incomplete version the current one.
STARTED = "_started"
KEEP = timedelta(days=1)  # a version that is not current is kept this long after its last write: it may be in use
_VERSION = re.compile(r"\d{20}-[0-9a-f]{8}")


@contextlib.contextmanager
def writing(target: AnyPath, replace: bool = False) -> Iterator[AnyPath]:
    """A new folder to write into. At the end it becomes the target, which is complete or absent.

    Raises InvalidInput if the target already exists (unless `replace`) or cannot be created, or if another process is
    writing it (noticed only on a local file system); GrantpathError if the disk is full.
    """
    made = building(target, replace) if isinstance(target, Path) else _next_version(target, replace)
    with made as fresh:
        yield fresh


@contextlib.contextmanager
def _next_version(target: RemotePath, replace: bool) -> Iterator[RemotePath]:
    """A new folder to write the next version of `target` into. At the end it becomes the current one."""
    try:
        _require_absent(target, replace)
        fresh = target / VERSIONS / f"{time.time_ns():020}-{secrets.token_hex(4)}"
        fresh.mkdir()
        (fresh / STARTED).write_text("")
    except OSError as error:
        raise InvalidInput(
            f"{target} cannot be written ({reason_of(error)}); check its name, the login and the endpoint, or name "
            "another place"
        ) from error
    try:
        yield fresh
        if not (fresh / STARTED).exists():
            raise GrantpathError(f"{target}: another process removed what this one had written; run the command again")
        _require_absent(target, replace)  # another process may have been faster
        former = current_version(target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            remove_tree(fresh)
        if isinstance(error, OSError):
            raise GrantpathError(
                f"{target} could not be written ({reason_of(error)}); nothing was changed there; run the command again"
            ) from error
        raise
    try:
        (target / CURRENT).write_text(f"{VERSIONS}/{fresh.name}\n")
    except OSError as error:
        raise GrantpathError(
            f"{target}: it is not known whether its last file was written ({reason_of(error)}); try to read the "
            "folder, and run the command again if that fails"
        ) from error
    with contextlib.suppress(OSError):  # the next writer does it
        _remove_old(target, {fresh.name, former.name})


def _require_absent(target: RemotePath, replace: bool) -> None:
    """Raises InvalidInput if the target exists, unless `replace`. A killed writer leaves only versions."""
    if not replace and any(each.name != VERSIONS for each in target.glob("*")):
        raise InvalidInput(f"{target} already exists; name a new folder, or remove it")


def _remove_old(target: RemotePath, keep: set[str]) -> None:
    """Removes versions that were replaced, or that a killed writer left, if they are old."""
    now = datetime.now(UTC)
    for version in (target / VERSIONS).glob("*"):
        if version.name in keep or not _VERSION.fullmatch(version.name):
            continue
        files = version.files()
        if files and all(now - each.mtime > KEEP for each in files):
            if (version / STARTED).exists():
                (version / STARTED).unlink()
            remove_tree(version)
