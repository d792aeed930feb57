"""Finds the current version of a snapshot's folder, and reads small files of a snapshot."""

import os
import re
from pathlib import Path

from grantpath.graph.errors import InvalidInput
from grantpath.graph.files.remote_path import AnyPath, reason_of, size_of
from grantpath.graph.messages import short

VERSIONS = "versions"  # the versions of a folder that others may be reading while it is replaced
CURRENT = "current"  # the link to the current version; where there are no links, a file with the name of the version
_VERSION = re.compile(rf"{VERSIONS}/[0-9A-Za-z-]+\n")
MAX_BYTES = 10_000_000  # of a small file


def current_version(folder: AnyPath) -> AnyPath:
    """The folder that contains the files of `folder`: its current version, or `folder` itself if it has no versions."""
    try:
        if isinstance(folder, Path) and (folder / CURRENT).is_symlink():
            return folder / os.readlink(folder / CURRENT)
        named = read_small(folder / CURRENT)
    except (OSError, ValueError) as error:  # ValueError: a null byte in the path, or not a file
        if problem := unreachable(folder, error):
            raise problem from None
        return folder
    return folder / named.strip() if _VERSION.fullmatch(named) else folder


def kept_folder(folder: AnyPath) -> AnyPath:
    """The folder itself. If it is a link, the folder to which it points now: a reader keeps it, also if the link then
    points to another one."""
    # os.path.islink is false for a path that is none, for which Path.is_symlink raises
    return Path(os.path.realpath(folder)) if isinstance(folder, Path) and os.path.islink(folder) else folder


def unreachable(folder: AnyPath, error: Exception) -> InvalidInput | None:
    """The error for a file of a remote file system that may exist, but cannot be read now; None for other errors."""
    if isinstance(folder, Path) or isinstance(error, FileNotFoundError) or not isinstance(error, OSError):
        return None
    return InvalidInput(
        f"{short(str(folder))} cannot be read ({reason_of(error)}); check its name, the login and the endpoint"
    )


def read_small(path: AnyPath) -> str:
    """A small file of a snapshot. Raises OSError, ValueError."""
    if size_of(path) > MAX_BYTES or (isinstance(path, Path) and not path.is_file()):
        raise ValueError("not a regular file, or too large")
    return path.read_text(encoding="utf-8")
