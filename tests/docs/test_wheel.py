"""The wheel has all files, and without extras it decides without Spark, a JDK, rich or numpy."""

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2]
PACKAGES = ("graph", "cypher", "engine", "spark_sync")
DATA = ("*.py", "*.cypher", "*.lock", "*.css", "*.js", "*.html", "*.sql", "policies/*.yaml")
DECIDE = """
from grantpath import Authorizer, GrantpathError, __version__
from grantpath.engine.policy import policy
print(__version__, policy.load("gravitino").reference("table:a.b.c", policy.load("gravitino").root("ml")).text)
"""


def pip(python: str | Path, *arguments: str | Path) -> None:
    ran = subprocess.run([python, "-m", "pip", "--quiet", *arguments], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip(sys.executable, "wheel", "--no-deps", "--wheel-dir", folder, HOUSE)
    return next(folder.glob("*.whl"))


@pytest.mark.slow
def test_wheel_has_every_file_of_the_packages(wheel: Path) -> None:
    expected = {
        f"grantpath/{path.relative_to(HOUSE).as_posix()}"
        for package in PACKAGES
        for pattern in DATA
        for path in (HOUSE / package).rglob(pattern)
    }
    expected = {name.replace("grantpath/engine/front/", "grantpath/") for name in expected}
    inside = set(zipfile.ZipFile(wheel).namelist())
    assert expected - inside == set()
    assert "grantpath/py.typed" in inside


@pytest.mark.slow
def test_base_of_the_wheel_decides_and_names_the_extras_it_lacks(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    pip(python, "install", wheel)
    decided = subprocess.run([python, "-c", DECIDE], cwd=tmp_path, capture_output=True, text=True)
    assert (decided.returncode, decided.stdout) == (0, "0.1.0 table:a.b.c\n"), decided.stderr
    command = subprocess.run([python.parent / "grantpath", "--help"], cwd=tmp_path, capture_output=True, text=True)
    assert (command.returncode, command.stdout) == (2, "")
    assert command.stderr == (
        "error: the command needs the extra `cli` (the package typer is missing): pip install 'grantpath[cli]'\n"
    )
    spark = subprocess.run([python, "-c", "import grantpath.spark_sync.job"], capture_output=True, text=True)
    assert "pip install 'grantpath[replica]'" in spark.stderr
