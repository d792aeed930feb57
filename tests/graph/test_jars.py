"""Downloads: the right bytes or one clear error, for every state of the cache, the repository and the disk."""

import errno
import hashlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from grantpath.graph.artifacts import jars, maven
from grantpath.graph.errors import ServerError
from grantpath.graph.files.private_files import cache_folder

from ..support.maven_mirror import Mirror, maven_mirror

GOOD = {f"org/demo/part{n}/1.0/part{n}-1.0.jar": f"jar number {n} ".encode() * 1000 for n in range(12)}
FIRST = "org/demo/part0/1.0/part0-1.0.jar"


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Mirror]:
    with maven_mirror(monkeypatch, tmp_path / "cache", GOOD) as running:
        yield running


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    lines = ["# a small lock"]
    for path, content in GOOD.items():
        artifact = path.split("/")[2]
        lines.append(f"org.demo:{artifact}:1.0 {hashlib.sha256(content).hexdigest()} {len(content)}")
    file = tmp_path / "small.lock"
    file.write_text("\n".join(lines) + "\n")
    return file


def ensure(lock: Path) -> list[str]:
    """Ensures the jars of `lock`, and that each has its own bytes afterwards; returns the lines of progress."""
    progress: list[str] = []
    paths = jars.ensure_jars(lock, progress.append)
    assert [path.read_bytes() for path in paths] == list(GOOD.values())
    return progress


def leftovers(tmp_path: Path) -> list[Path]:
    """Files in the cache other than jars and the lock."""
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    return [path for path in files if path.suffix != ".jar" and path.name != ".lock"]


def test_jars_are_downloaded_once(mirror: Mirror, lock: Path) -> None:
    assert ensure(lock) == ["downloading 12 jars of Neo4j (0 MB)"]
    assert ensure(lock) == []
    assert set(mirror.asked.values()) == {1} and len(mirror.asked) == 12


@pytest.mark.parametrize("spoil", [lambda content: content[:-7], lambda content: b"X" + content[1:]])
def test_corrupt_jar_in_the_cache_is_downloaded_again(mirror: Mirror, lock: Path, spoil: object) -> None:
    ensure(lock)
    broken = cache_folder() / "jars" / FIRST
    assert callable(spoil)
    broken.write_bytes(spoil(broken.read_bytes()))
    assert ensure(lock) == ["downloading 1 jars of Neo4j (0 MB)"]
    assert mirror.asked[FIRST] == 2 and mirror.asked.total() == 13


def test_corrupt_download_is_repeated(mirror: Mirror, lock: Path) -> None:
    mirror.once[FIRST] = b"<html>try later</html>"
    ensure(lock)
    assert mirror.asked[FIRST] == 2


def test_jar_that_is_corrupt_twice_is_named(mirror: Mirror, lock: Path, tmp_path: Path) -> None:
    expected = hashlib.sha256(GOOD[FIRST]).hexdigest()
    mirror.files[FIRST] = GOOD[FIRST][:100]
    got = hashlib.sha256(mirror.files[FIRST]).hexdigest()
    with pytest.raises(ServerError) as caught:
        jars.ensure_jars(lock, lambda line: None)
    text = str(caught.value)
    assert "part0-1.0.jar" in text and expected in text and got in text and "\n" not in text
    assert not (cache_folder() / "jars" / FIRST).exists()
    assert leftovers(tmp_path) == []
    mirror.files[FIRST] = GOOD[FIRST]
    ensure(lock)


def test_missing_jar_is_named(mirror: Mirror, lock: Path) -> None:
    del mirror.files[FIRST]
    with pytest.raises(ServerError, match=r"part0-1\.0\.jar could not be downloaded .*HTTP 404.*GRANTPATH_MAVEN"):
        jars.ensure_jars(lock, lambda line: None)


def test_missing_repository_gives_a_one_line_error(mirror: Mirror, lock: Path) -> None:
    mirror.stop()
    with pytest.raises(ServerError, match=r"could not be downloaded .*refused.*the proxy") as caught:
        jars.ensure_jars(lock, lambda line: None)
    assert "\n" not in str(caught.value)


def test_login_is_sent_and_never_shown(mirror: Mirror, lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANTPATH_MAVEN", f"http://ann:s%40cret@{mirror.place}/")
    ensure(lock)
    assert mirror.logins == {"Basic YW5uOnNAY3JldA=="}
    mirror.files.clear()
    shutil.rmtree(cache_folder())
    with pytest.raises(ServerError) as caught:
        jars.ensure_jars(lock, lambda line: None)
    assert "cret" not in str(caught.value) and mirror.place in str(caught.value)
    assert "YW5u" not in repr(maven.repository())


def test_proxy_of_the_environment_is_used(mirror: Mirror, lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANTPATH_MAVEN", "http://127.0.0.1:9/maven2")
    monkeypatch.setenv("http_proxy", f"http://{mirror.place.partition('/')[0]}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    ensure(lock)
    assert len(mirror.asked) == 12


SETTINGS = """<settings xmlns="http://maven.apache.org/SETTINGS/1.0.0">
<servers><server><id>house</id><username>ann</username><password>${{env.HOUSE_PASSWORD}}</password></server></servers>
<mirrors><mirror><id>house</id><url>http://{place}</url><mirrorOf>{of}</mirrorOf></mirror></mirrors></settings>"""


def test_mirror_of_maven_settings_is_used(
    mirror: Mirror, lock: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("GRANTPATH_MAVEN")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HOUSE_PASSWORD", "s@cret")
    settings = tmp_path / ".m2" / "settings.xml"
    settings.parent.mkdir()
    settings.write_text(SETTINGS.format(place=mirror.place, of="external:*"))
    ensure(lock)
    assert mirror.logins == {"Basic YW5uOnNAY3JldA=="}
    settings.write_text(SETTINGS.format(place=mirror.place, of="*,!central"))
    assert mirror.place not in maven.repository().address
    settings.write_text("<settings>")
    with pytest.raises(ServerError, match=r"settings\.xml is not XML"):
        maven.repository()


def test_invalid_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANTPATH_MAVEN", "/srv/maven")
    with pytest.raises(ServerError, match="not an https"):
        maven.repository()


def test_address_without_tls_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANTPATH_MAVEN", "http://ann:s3cret@repository.example/maven2")
    with pytest.raises(ServerError, match=r"repository\.example .* has an http address.*write https") as caught:
        maven.repository()
    assert "s3cret" not in str(caught.value)


def test_download_stops_at_the_size_in_the_lock_file(mirror: Mirror, lock: Path) -> None:
    mirror.files[FIRST] = GOOD[FIRST] + b"x" * 10_000_000
    assert len(maven.fetch(maven.repository(), FIRST, len(GOOD[FIRST]))) == len(GOOD[FIRST]) + 1
    with pytest.raises(ServerError, match=r"part0-1\.0\.jar .* is corrupt"):
        jars.ensure_jars(lock, lambda line: None)


def test_cache_that_others_may_write_is_refused(mirror: Mirror, lock: Path) -> None:
    ensure(lock)
    for folder in (cache_folder(), cache_folder() / "jars"):
        assert folder.stat().st_mode & 0o777 == 0o700
        folder.chmod(0o777)
        with pytest.raises(ServerError, match=rf"{folder} is writable by other users.*GRANTPATH_CACHE"):
            jars.ensure_jars(lock, lambda line: None)
        folder.chmod(0o755)
    assert ensure(lock) == []


def test_cache_of_another_user_is_refused(mirror: Mirror, lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure(lock)
    monkeypatch.setattr("grantpath.graph.artifacts.cache.os.geteuid", lambda: 4711)
    if cache_folder().stat().st_uid:
        with pytest.raises(ServerError, match="belongs to another user"):
            jars.ensure_jars(lock, lambda line: None)


def test_full_disk_is_detected_before_the_download(mirror: Mirror, lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grantpath.graph.artifacts.jars.shutil.disk_usage", lambda folder: SimpleNamespace(free=1000))
    with pytest.raises(ServerError, match=r"no space .*GRANTPATH_CACHE"):
        jars.ensure_jars(lock, lambda line: None)
    assert not mirror.asked


def test_disk_that_fills_up_leaves_no_partial_file(
    mirror: Mirror, lock: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def write_half(path: Path, content: bytes) -> int:
        with path.open("wb") as handle:
            handle.write(content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", write_half)
        with pytest.raises(ServerError, match=r"no space .*GRANTPATH_CACHE"):
            jars.ensure_jars(lock, lambda line: None)
    assert not list((tmp_path / "cache").rglob("*.jar")) and leftovers(tmp_path) == []
    ensure(lock)


def test_unwritable_cache_is_refused(mirror: Mirror, lock: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(ServerError, match="cache/jars cannot be written"):
        jars.ensure_jars(lock, lambda line: None)


@pytest.mark.parametrize("line, release", [("5.26", r"5\.26\.\d+"), ("2026", r"2026\.\d\d\.\d+")])
def test_shipped_lock_files_are_complete(line: str, release: str) -> None:
    lock = Path(jars.__file__).parent / f"neo4j-{line}.lock"
    listed = jars.read_lock(lock)
    assert len({jar.path for jar in listed}) == len(listed) > 200
    assert all(len(bytes.fromhex(jar.sha256)) == 32 and jar.size > 0 for jar in listed)
    versions = {f"{jar.group}:{jar.artifact}": jar.version for jar in listed}
    assert versions["org.neo4j:neo4j"] == versions["org.neo4j.app:neo4j-server"]
    assert re.fullmatch(release, versions["org.neo4j:neo4j"])
    assert "org.neo4j.client:neo4j-browser" in versions
    assert "//" not in lock.read_text()
