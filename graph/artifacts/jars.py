"""The jars of the embedded Neo4j: listed in a lock file, downloaded into the cache, checked by sha256."""

import errno
import hashlib
import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from grantpath.graph.artifacts.cache import code_folder
from grantpath.graph.artifacts.folder_lock import lock_folder
from grantpath.graph.artifacts.maven import Repository, fetch, repository
from grantpath.graph.errors import ServerError
from grantpath.graph.progress import ReportLine

PARALLEL = 8
SPARE = 50_000_000  # bytes to leave free on the disk


@dataclass(frozen=True)
class Jar:
    """One line of a lock file."""

    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str
    size: int

    @property
    def name(self) -> str:
        tail = f"-{self.classifier}" if self.classifier else ""
        return f"{self.artifact}-{self.version}{tail}.jar"

    @property
    def path(self) -> str:
        """Its path in a Maven repository and in the cache."""
        return f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}/{self.name}"


def read_lock(lock: Path) -> list[Jar]:
    """The jars of a lock file: lines `group:artifact:version[:classifier] sha256 size`, `#` a comment."""
    jars = []
    for line in lock.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            coordinate, sha256, size = line.split()
            group, artifact, version, classifier = (*coordinate.split(":"), "")[:4]
            jars.append(Jar(group, artifact, version, classifier, sha256, int(size)))
    return jars


def ensure_jars(lock: Path, progress: ReportLine) -> list[Path]:
    """The paths of all jars of `lock`, each verified by sha256; missing and corrupt jars are downloaded.

    A terminal shows a progress bar; otherwise `progress` receives one line. Raises ServerError, which names the jar, if
    a download fails; no partial file is left.
    """
    folder = code_folder("jars")
    jars = read_lock(lock)
    with lock_folder(folder), ThreadPoolExecutor(PARALLEL) as pool:
        sound = pool.map(lambda jar: _is_sound(folder / jar.path, jar), jars)
        missing = [jar for jar, good in zip(jars, sound, strict=True) if not good]
        if missing:
            _download(missing, folder, pool, progress)
    return [folder / jar.path for jar in jars]


def _is_sound(path: Path, jar: Jar) -> bool:
    try:
        if path.stat().st_size != jar.size:
            return False
        with path.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest() == jar.sha256
    except FileNotFoundError:
        return False


def _download(missing: list[Jar], folder: Path, pool: ThreadPoolExecutor, progress: ReportLine) -> None:
    total = sum(jar.size for jar in missing)
    if shutil.disk_usage(folder).free < total + SPARE:
        raise _disk_full(folder, total)
    source = repository()
    with _progress(len(missing), total, progress) as advance:
        tasks: dict[Future[None], Jar] = {
            pool.submit(_download_one, jar, folder, source): jar for jar in sorted(missing, key=lambda jar: -jar.size)
        }
        try:
            for task in as_completed(tasks):
                task.result()
                advance(tasks[task].size)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise _disk_full(folder, total) from error
            raise ServerError(
                f"{folder} cannot be written: {error}; make it writable, or set GRANTPATH_CACHE"
            ) from error
        finally:
            for task in tasks:
                task.cancel()


def _download_one(jar: Jar, folder: Path, source: Repository) -> None:
    target = folder / jar.path
    target.parent.mkdir(parents=True, exist_ok=True)
    content = _fetch_sound(jar, source)
    part = target.with_suffix(".part")
    try:
        part.write_bytes(content)
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _fetch_sound(jar: Jar, source: Repository) -> bytes:
    """The jar's bytes; a corrupt download is repeated once."""
    for _ in range(2):
        content = fetch(source, jar.path, jar.size)
        got = hashlib.sha256(content).hexdigest()
        if got == jar.sha256:
            return content
    raise ServerError(
        f"{jar.name} from {source.address} is corrupt: expected {jar.size} bytes with sha256 {jar.sha256}, "
        f"got {len(content)} bytes with {got}; try again, or name another mirror in GRANTPATH_MAVEN"
    )


def _disk_full(folder: Path, total: int) -> ServerError:
    return ServerError(
        f"no space for Neo4j's jars in {folder}: the download takes {total / 1e6:.0f} MB; "
        "free some space or name another folder in GRANTPATH_CACHE"
    )


@contextmanager
def _progress(count: int, total: int, progress: ReportLine) -> Iterator[Callable[[int], None]]:
    """Shows the progress of the download; the caller passes the bytes of each finished jar."""
    # rich comes with the extra `cli`; a service that starts the embedded server may not have it.
    if not sys.stderr.isatty() or find_spec("rich") is None:
        progress(f"downloading {count} jars of Neo4j ({total / 1e6:.0f} MB)")
        yield lambda size: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(file=sys.stderr)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(f"downloading {count} jars of Neo4j", total=total)
        yield lambda size: bar.advance(task, size)
