"""The lock of a folder: the wait for it is limited, and the error names the process that holds it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grantpath.graph.artifacts import folder_lock
from grantpath.graph.artifacts.folder_lock import lock_folder
from grantpath.graph.errors import ServerError

from ..support.suspended import suspend

HOLD = """
import sys, time
from pathlib import Path
from grantpath.graph.artifacts.folder_lock import lock_folder
with lock_folder(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(120)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_suspended_holder_is_not_awaited(
    holder: subprocess.Popen[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_lock, "SUSPENDED_SECONDS", 0.5)
    suspend(holder.pid)
    began = time.monotonic()
    with pytest.raises(ServerError, match=rf"is locked by process {holder.pid} \(.*python.*\), which is suspended"):
        hold(tmp_path)
    assert time.monotonic() - began < 60
    os.kill(holder.pid, signal.SIGCONT)


def test_running_holder_is_awaited_up_to_the_limit(
    holder: subprocess.Popen[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_lock, "LOCK_SECONDS", 0.5)
    with pytest.raises(ServerError, match=rf"has been locked for 1 s by process {holder.pid} .*or end it"):
        hold(tmp_path)


def test_lock_of_a_dead_holder_is_free(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    holder.kill()
    hold(tmp_path)


def test_symbolic_link_as_lock_file_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    (tmp_path / ".lock").symlink_to(precious)
    with pytest.raises(ServerError, match="cannot be written"):
        hold(tmp_path)
    assert precious.read_text() == "kept"


def hold(folder: Path) -> None:
    with lock_folder(folder):
        pass
