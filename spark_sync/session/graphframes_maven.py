"""Fetches the GraphFrames jar from the Maven repository into the cache, for the Python package that is installed.

Before each use the jars are compared with the SHA-256 that they had when they were checked against the repository.
"""

import hashlib
import shutil
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import urlsplit

from grantpath.graph.artifacts.cache import code_folder
from grantpath.graph.artifacts.folder_lock import lock_folder
from grantpath.graph.artifacts.maven import NotFetched, Repository, repository
from grantpath.graph.artifacts.published import Coordinate, fetch_with_needed
from grantpath.graph.progress import ReportLine

GROUP = "io.graphframes"
SUMS = "sha256"  # the file with the checksums of a folder of jars
AGAIN = 3600.0  # seconds after which a repository that did not have the jar is asked again


def coordinate(spark_version: str) -> str:
    """The Maven coordinate of the jar for a version of Spark, as old or new as the Python package that is installed."""
    return str(_wanted(spark_version) or Coordinate(GROUP, _artifact(spark_version), "VERSION"))


def from_repository(spark_version: str, instead: str, progress: ReportLine) -> list[Path]:
    """The jar with that coordinate, and the jars that it needs: those in the cache, else those of the repository.

    No paths if the Python package is not installed, or if the repository does not give them; `progress` receives the
    reason, and `instead`, what is used then. Within AGAIN, the same repository is not asked again.

    Raises ServerError if a file is not the one that its checksum is of, if the repository's address cannot be used, or
    if other users can write to the cache.
    """
    wanted = _wanted(spark_version)
    if wanted is None:
        return []
    folder = code_folder("graphframes") / f"{wanted.artifact}-{wanted.version}"
    absent = folder.with_name(f"{folder.name}.absent")
    with lock_folder(folder.parent):
        if jars := _sound(folder):
            return jars
        source = repository()
        if _was_asked(absent, source):
            return []
        progress(f"fetching GraphFrames ({wanted}) from {urlsplit(source.address).hostname}")
        try:
            found = fetch_with_needed(source, wanted)
        except NotFetched as error:
            absent.write_text(source.address, encoding="utf-8")
            progress(
                f"{wanted} could not be fetched from {urlsplit(source.address).hostname}: {error}; "
                f"{instead} will do. For this jar, check the network and the proxy, name a mirror in GRANTPATH_MAVEN, "
                "or name the jar in GRANTPATH_GRAPHFRAMES_JAR"
            )
            return []
        _store(found, folder)
        absent.unlink(missing_ok=True)
        return _sound(folder)


def _wanted(spark_version: str) -> Coordinate | None:
    """None if the Python package is not installed: without it the jar is of no use."""
    try:
        return Coordinate(GROUP, _artifact(spark_version), version("graphframes-py"))
    except PackageNotFoundError:
        return None


def _artifact(spark_version: str) -> str:
    return "graphframes-spark3_2.12" if spark_version.startswith("3.") else "graphframes-spark4_2.13"


def _was_asked(absent: Path, source: Repository) -> bool:
    try:
        return (
            absent.read_text(encoding="utf-8") == source.address and 0 <= time.time() - absent.stat().st_mtime < AGAIN
        )
    except FileNotFoundError:
        return False


def _store(found: dict[Coordinate, bytes], folder: Path) -> None:
    """Writes the jars and their checksums. The folder appears when it is complete."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        fresh = Path(scratch) / folder.name
        fresh.mkdir()
        sums = []
        for each, content in found.items():
            name = Path(each.path("jar")).name
            (fresh / name).write_bytes(content)
            sums.append(f"{hashlib.sha256(content).hexdigest()}  {name}\n")
        (fresh / SUMS).write_text("".join(sums), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)


def _sound(folder: Path) -> list[Path]:
    """The jars of this folder; none if one is missing or has been changed."""
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
        jars = [(folder / name, expected) for expected, _, name in (line.partition("  ") for line in lines)]
        sound = all(hashlib.sha256(jar.read_bytes()).hexdigest() == expected for jar, expected in jars)
    except FileNotFoundError:
        return []
    return [jar for jar, _ in jars] if sound else []
