"""Roots of any size from the generator of the benchmarks."""

import subprocess
import sys
from pathlib import Path

from grantpath.engine import Authorizer
from grantpath.engine.transfer import importer

GENERATOR = Path(__file__).parents[2] / "benchmarks" / "generate.py"
POLICY = "lakehouse"


def load_generated(auth: Authorizer, folder: Path, size: dict[str, int]) -> None:
    """Loads a generated estate of this size into a root with the policy POLICY; its tables are written to `folder`."""
    sizes = [word for name, number in size.items() for word in (f"--{name}", str(number))]
    command = [sys.executable, str(GENERATOR), *sizes, "--policy", POLICY, "--nested", "--out", str(folder / "tables")]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    importer.load(auth, folder / "tables")
