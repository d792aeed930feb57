"""The folder of the embedded server that all worker processes of a run share.

Each server plans every query anew and warms up anew, which costs more than all the questions of the tests.
"""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from grantpath.graph.embedded.server import down

HOME = "GRANTPATH_TESTS_HOME"


def begin(config: pytest.Config) -> None:
    """In the main process: creates the folder. Worker processes inherit its name."""
    if not _is_worker(config):
        os.environ[HOME] = tempfile.mkdtemp(prefix="grantpath-tests-")


def folder() -> Path:
    """The folder of this run."""
    return Path(os.environ[HOME])


def end(config: pytest.Config) -> None:
    """In the main process: stops the server, if a test has started it, and removes the folder."""
    if not _is_worker(config) and HOME in os.environ:
        home = Path(os.environ.pop(HOME))
        down(home=home)
        shutil.rmtree(home, ignore_errors=True)


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")
