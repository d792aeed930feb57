"""A virtual environment with grantpath for executors, packed into an archive as docs/guides/spark-cluster.md says."""

import subprocess
import sys
import venv
from pathlib import Path

HOUSE = Path(__file__).parents[2]


def packed_environment(folder: Path) -> Path:
    """Builds the wheel of this checkout, installs it into a new environment, and packs that. Returns the archive."""
    made, archive = folder / "environment", folder / "environment.tar.gz"
    _run(sys.executable, "-m", "pip", "--quiet", "wheel", "--no-deps", "--wheel-dir", folder, HOUSE)
    wheel = next(folder.glob("*.whl"))
    venv.create(made)
    # the executors compile what they import, which is little of it
    pip = [sys.executable, "-m", "pip", "--python", str(made / "bin" / "python"), "--quiet", "install", "--no-compile"]
    _run(*pip, f"{wheel}[server,replica]", "pandas", "venv-pack")
    _run(made / "bin" / "venv-pack", "--prefix", made, "--compress-level", "1", "--output", archive)
    return archive


def _run(*command: str | Path) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
