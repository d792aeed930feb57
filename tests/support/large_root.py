"""Roots from the generator of the benchmarks: of any size, and one that a mirror reads in several processes."""

import subprocess
import sys
from pathlib import Path

from grantpath.engine import Authorizer
from grantpath.engine.transfer import importer

GENERATOR = Path(__file__).parents[2] / "benchmarks" / "generate.py"
POLICY = "lakehouse"
SIZE = {"users": 30_000, "groups": 1_000, "roles": 2_000, "catalogs": 5, "schemas": 10, "tables": 100, "grants": 90_000}


def load_large_root(auth: Authorizer, folder: Path) -> None:
    """Loads about 230,000 entities and facts with nested groups and roles into a root with the policy POLICY."""
    load_generated(auth, folder, SIZE)


def load_generated(auth: Authorizer, folder: Path, size: dict[str, int]) -> None:
    """Loads a generated estate of this size into a root with the policy POLICY; its tables are written to `folder`."""
    sizes = [word for name, number in size.items() for word in (f"--{name}", str(number))]
    command = [sys.executable, str(GENERATOR), *sizes, "--policy", POLICY, "--nested", "--out", str(folder / "tables")]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    importer.load(auth, folder / "tables")
