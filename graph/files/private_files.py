"""Files and folders that only their owner may read, whatever the umask: they contain a company's permissions."""

import os
import stat
from pathlib import Path
from typing import IO

from grantpath.graph.errors import InvalidInput
from grantpath.graph.language.inputs import require_not_named_pipe

FILE, FOLDER = 0o600, 0o700


def make_private(folder: Path) -> None:
    """Creates a folder that is closed to other users; an existing folder is not changed. Raises OSError."""
    try:
        folder.mkdir(mode=FOLDER, parents=True)
    except FileExistsError:
        if not folder.is_dir():
            raise
        return
    folder.chmod(FOLDER)


def not_created(folder: Path, error: OSError) -> InvalidInput:
    """The error for a folder that cannot be created. A file in the path is named: the words of the system, such as
    `File exists`, would not say which."""
    for each in (*reversed(folder.parents), folder):
        if os.path.lexists(each) and not os.path.isdir(each):
            what = "exists and" if each == folder else f"cannot be created: {each}"
            return InvalidInput(f"{folder} {what} is not a folder; name another folder")
    return InvalidInput(f"{folder} cannot be created ({error.strerror}); name another folder")


def create_private(file: Path) -> IO[bytes]:
    """Opens a new file for writing, closed to other users. Raises FileExistsError, OSError."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE)
    os.fchmod(descriptor, FILE)
    return os.fdopen(descriptor, "wb")


def require_private(what: str, file: Path) -> None:
    """Raises InvalidInput, which begins with `what`, unless `file` is closed to other users and not a named pipe.

    A file of root may be readable for its group if this process is not root's: Kubernetes mounts secrets so, with
    `fsGroup`, and libpq has the same rule.
    """
    try:
        require_not_named_pipe(what, file)
        status = file.stat()
    except OSError as error:
        raise _unreadable(what, file, error) from None
    mode, closed = status.st_mode, stat.S_IRWXG | stat.S_IRWXO
    if status.st_uid == 0 and os.geteuid() != 0:
        closed &= ~stat.S_IRGRP
    if mode & closed:
        raise InvalidInput(
            f"{what}: {file} is open to other users (mode {stat.S_IMODE(mode):04o}), but it contains a password; run "
            f"chmod 600 {file}"
        )


def private_line(what: str, file: Path) -> str:
    """The secret in a file, without the line break at its end. Raises InvalidInput as `require_private`."""
    require_private(what, file)
    try:
        return file.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(what, file, error) from None


def _unreadable(what: str, file: Path, error: Exception) -> InvalidInput:
    why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
    return InvalidInput(f"{what}: {file} cannot be read ({why}); name a readable file with the password")


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
