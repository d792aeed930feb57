"""Files and folders that only their owner may read, whatever the umask: they contain a company's permissions."""

import os
from pathlib import Path
from typing import IO

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


def create_private(file: Path) -> IO[bytes]:
    """Opens a new file for writing, closed to other users. Raises FileExistsError, OSError."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE)
    os.fchmod(descriptor, FILE)
    return os.fdopen(descriptor, "wb")
