"""The versions of an updated snapshot: a link points to the current one, and readers keep the one that they opened.

`OUT/versions/N` has the files of a version, and the link `OUT/current` points to the current one. Each file and table
of the snapshot, e.g. `OUT/objects`, is a link through `current`. So replacing the link `current` switches all of them
at once.
"""

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from grantpath.engine.facts.snapshot.current_folder import CURRENT, VERSIONS, current_version
from grantpath.engine.facts.snapshot.snapshot_reader import POLICY_FILE
from grantpath.graph.errors import InvalidInput
from grantpath.graph.files.remote_path import local_path
from grantpath.spark_sync.versions.snapshot_folders import alone, building

LINKED = ("objects", "subjects", "members", "intervals", "closure", "access", POLICY_FILE, "meta.json")
KEEP_SECONDS = 120.0  # a replaced version is kept for this time, for processes that still read it


@contextlib.contextmanager
def next_version(out: Path) -> Iterator[Path]:
    """A new folder to write the next version of a snapshot into. At the end it becomes the current one.

    The caller holds `alone_with(out)`. The former version is removed later. Raises InvalidInput if `access` is being
    computed from a snapshot that was never updated, GrantpathError if the disk is full.
    """
    with alone(out / "access"):
        former = local_path(current_version(out))
        name = f"{time.time_ns():020}"
        (out / VERSIONS).mkdir(mode=0o700, exist_ok=True)
        with building(out / VERSIONS / name) as fresh:
            yield fresh
        _switch(out, name)
        _link_all(out)
        if former != out and former.exists():
            os.utime(former)  # KEEP_SECONDS are counted from now on
    _remove_old(out, keep={name, former.name})


def _switch(out: Path, name: str) -> None:
    fresh = out / f".{CURRENT}.new"
    fresh.unlink(missing_ok=True)
    try:
        fresh.symlink_to(Path(VERSIONS) / name, target_is_directory=True)
    except OSError as error:
        raise InvalidInput(
            f"{out} cannot be updated, because its file system has no symbolic links ({error.strerror}); write a new "
            "snapshot with `grantpath mirror OUT`"
        ) from error
    fresh.replace(out / CURRENT)


def _link_all(out: Path) -> None:
    """Puts links in place of the files of a snapshot that was never updated, or completes this after a process was
    killed."""
    for name in LINKED:
        path, fresh = out / name, out / f".{name}.new"
        if path.is_symlink():
            continue
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(Path(CURRENT) / name)
        if path.is_dir():
            former = out / VERSIONS / f".{name}.old"
            shutil.rmtree(former, ignore_errors=True)
            path.rename(former)
            fresh.rename(path)
            shutil.rmtree(former)
        else:
            fresh.replace(path)


def _remove_old(out: Path, keep: set[str]) -> None:
    """Removes versions that were replaced more than KEEP_SECONDS ago, unless `access` is being computed from one."""
    for version in (out / VERSIONS).iterdir():
        old = time.time() - version.stat().st_mtime > KEEP_SECONDS
        if version.name in keep or not old:
            continue
        with contextlib.suppress(InvalidInput), alone(version / "access"):
            shutil.rmtree(version)
