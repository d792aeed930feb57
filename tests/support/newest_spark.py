"""Versions of PySpark and of other packages beside the installed ones, in folders of their own in the cache."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grantpath.graph.artifacts.folder_lock import lock_folder
from grantpath.graph.files.private_files import cache_folder

CONNECT = ("grpcio>=1.67", "grpcio-status>=1.67", "googleapis-common-protos>=1.65", "zstandard>=0.25")


def pyspark_folder(line: str) -> Path:
    """The folder with the newest release of a line, e.g. `4.0`, for PYTHONPATH.

    The files are taken from the source archive. To install it, pip would first pack all of Spark into a wheel, which
    takes longer than the tests.
    """
    folder = cache_folder() / f"spark-{line}"
    with lock_folder(folder):
        if not (folder / "pyspark").exists():
            with tempfile.TemporaryDirectory(dir=folder) as name:
                _pip("download", "--no-deps", "--no-binary", "pyspark", "--dest", name, f"pyspark=={line}.*")
                source = _unpacked(Path(name))
                [py4j] = (source / "lib").glob("py4j-*-src.zip")
                shutil.unpack_archive(py4j, folder)
                # the folders that Spark's setup.py puts into the package
                for part, inside in (("deps/jars", "jars"), ("deps/bin", "bin"), ("lib", "python/lib")):
                    (source / part).rename(source / "pyspark" / inside)
                (source / "pyspark").rename(folder / "pyspark")
    return folder


def connect_folders(line: str) -> list[Path]:
    """The same, with the packages that only Spark Connect needs, for PYTHONPATH."""
    return [pyspark_folder(line), _fetched("spark-connect", *CONNECT)]


def packages_folder(versions: Mapping[str, str]) -> Path:
    """A folder with these versions of packages, for PYTHONPATH."""
    pinned = [f"{name}=={version}" for name, version in versions.items()]
    return _fetched("-".join(pinned).replace("==", "-"), *pinned)


def printed(program: str, packages: Sequence[Path], *arguments: str) -> dict[str, Any]:
    """What a program prints as JSON in its last line, in a process that finds these packages first."""
    ran = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, packages)), "GRANTPATH_CLOSURE": "joins"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[:4000]
    answer: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return answer


def _unpacked(folder: Path) -> Path:
    """The content of the one archive in this folder."""
    [archive] = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def _fetched(name: str, *packages: str) -> Path:
    """A folder in the cache with these packages, which pip fetches once."""
    folder = cache_folder() / name
    with lock_folder(folder):
        done = folder / ".complete"
        if not done.exists():
            _pip("install", "--target", str(folder), *packages)
            done.touch()
    return folder


def _pip(command: str, *arguments: str) -> None:
    pip = [sys.executable, "-m", "pip", command, "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *arguments], check=True, timeout=900)
