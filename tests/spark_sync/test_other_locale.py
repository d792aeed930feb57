"""The files of a snapshot are UTF-8 in each locale."""

import os
import subprocess
import sys
from pathlib import Path

from grantpath.spark_sync.session.snapshot import Snapshot

HERE = Path(__file__).resolve().parents[2]  # where `tests` can be imported
WRITING = """
import locale, sys
from pathlib import Path
from tests.oracle import oracle
from tests.support.plain_access import write_snapshot

print(locale.getpreferredencoding())
write_snapshot(oracle("gravitino", "gr\\u00f6\\u00dfe"), Path(sys.argv[1]))
"""
READING = """
import sys
from grantpath.spark_sync.session.snapshot import Snapshot

source = Snapshot(sys.argv[1])
print(ascii(source.meta.root), source.policy.name)
"""


def run(script: str, snapshot: Path) -> list[str]:
    """The words that a Python process prints in a locale whose texts are ASCII."""
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-c", script, str(snapshot)]
    ran = subprocess.run(command, capture_output=True, cwd=HERE, env={**os.environ, **plain})
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.decode().split()


def test_snapshot_of_a_root_with_other_letters_is_written_and_read(tmp_path: Path) -> None:
    out = tmp_path / "snapshot"
    assert run(WRITING, out)[0] != "UTF-8"
    assert Snapshot(out).meta.root == "metalake:`größe`"
    assert run(READING, out) == [r"'metalake:`gr\xf6\xdfe`'", "gravitino"]
