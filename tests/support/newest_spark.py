"""Versions of PySpark beside the installed one, each in a folder of its own in the cache."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grantpath.graph.artifacts.folder_lock import lock_folder
from grantpath.graph.files.private_files import cache_folder

CONNECT = ("grpcio>=1.67", "grpcio-status>=1.67", "googleapis-common-protos>=1.65", "zstandard>=0.25")


def pyspark_folder(line: str) -> Path:
    """The folder with the newest release of a line, e.g. `4.0`, for PYTHONPATH."""
    return _fetched(f"spark-{line}", f"pyspark=={line}.*")


def connect_folders(line: str) -> list[Path]:
    """The same, with the packages that only Spark Connect needs, for PYTHONPATH."""
    return [pyspark_folder(line), _fetched("spark-connect", *CONNECT)]


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
