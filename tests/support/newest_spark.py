"""Versions of PySpark beside the installed one, each in a folder of its own in the cache."""

import subprocess
import sys
from pathlib import Path

from grantpath.graph.artifacts.folder_lock import lock_folder
from grantpath.graph.private_files import cache_folder

CONNECT = ("grpcio>=1.67", "grpcio-status>=1.67", "googleapis-common-protos>=1.65", "zstandard>=0.25")


def pyspark_folder(line: str) -> Path:
    """The folder with the newest release of a line, e.g. `4.0`, for PYTHONPATH."""
    return _fetched(f"spark-{line}", f"pyspark=={line}.*")


def connect_folders(line: str) -> list[Path]:
    """The same, with the packages that only Spark Connect needs, for PYTHONPATH."""
    return [pyspark_folder(line), _fetched("spark-connect", *CONNECT)]


def _fetched(name: str, *packages: str) -> Path:
    """A folder in the cache with these packages, which pip fetches once."""
    folder = cache_folder() / name
    with lock_folder(folder):
        done = folder / ".complete"
        if not done.exists():
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, "--target", str(folder), *packages], check=True, timeout=900)
            done.touch()
    return folder
