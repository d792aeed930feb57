"""Files that no lock file lists: the bytes that the repository has a checksum of, with what they need, or one clear
error."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from grantpath.graph.artifacts.maven import NotFetched, repository
from grantpath.graph.artifacts.published import Coordinate, fetch_with_needed
from grantpath.graph.errors import ServerError

from ..support.maven_mirror import Mirror, maven_mirror

MAIN, NEEDED = Coordinate("org.demo", "main_2.13", "1.2"), Coordinate("org.demo", "part_2.13", "1.1")
POM = """<?xml version="1.0"?><project xmlns="http://maven.apache.org/POM/4.0.0"><dependencies>
<dependency><groupId>org.scala-lang</groupId><artifactId>scala-library</artifactId><version>2.13</version></dependency>
<dependency><groupId>org.demo</groupId><artifactId>part_2.13</artifactId><version>1.1</version></dependency>
<dependency><groupId>org.demo</groupId><artifactId>test</artifactId><version>9</version><scope>test</scope></dependency>
</dependencies></project>"""
FILES = {
    MAIN.path("pom"): POM.encode(),
    MAIN.path("jar"): b"main" * 1000,
    NEEDED.path("pom"): b"<project/>",
    NEEDED.path("jar"): b"part" * 1000,
}
JAR = MAIN.path("jar")


def checksum(content: bytes, algorithm: str) -> bytes:
    return hashlib.new(algorithm, content).hexdigest().encode()


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Mirror]:
    """Like Maven Central: a SHA-1 of each file."""
    sums = {f"{path}.sha1": checksum(content, "sha1") for path, content in FILES.items()}
    with maven_mirror(monkeypatch, tmp_path / "cache", FILES | sums) as running:
        yield running


def fetched() -> dict[str, bytes]:
    return {str(each): content for each, content in fetch_with_needed(repository(), MAIN).items()}


def test_jar_comes_with_those_that_it_needs(mirror: Mirror) -> None:
    assert fetched() == {"org.demo:main_2.13:1.2": b"main" * 1000, "org.demo:part_2.13:1.1": b"part" * 1000}
    assert {mirror.asked[path] for path in FILES} == {1}


def test_sha256_is_preferred_and_may_be_followed_by_the_name(mirror: Mirror) -> None:
    mirror.files[f"{JAR}.sha256"] = checksum(FILES[JAR], "sha256").upper() + b"  main.jar\n"
    mirror.files[f"{JAR}.sha1"] = b"0" * 40
    assert fetched()[str(MAIN)] == FILES[JAR]


def test_damaged_download_is_repeated(mirror: Mirror) -> None:
    mirror.once[JAR] = b"half"
    assert fetched()[str(MAIN)] == FILES[JAR]
    assert mirror.asked[JAR] == 2


@pytest.mark.parametrize("algorithm", ["sha256", "sha1"])
def test_other_file_than_that_of_the_checksum_is_refused(mirror: Mirror, algorithm: str) -> None:
    mirror.files[f"{JAR}.{algorithm}"] = checksum(b"another", algorithm)
    with pytest.raises(ServerError) as caught:
        fetched()
    text = str(caught.value)
    assert text.startswith(f"org.demo:main_2.13:1.2: main_2.13-1.2.jar from http://{mirror.place} is not the file")
    assert f"expected {algorithm} {checksum(b'another', algorithm).decode()}" in text
    assert checksum(FILES[JAR], algorithm).decode() in text
    assert "GRANTPATH_MAVEN" in text


@pytest.mark.parametrize(
    ("path", "content", "cause"),
    [
        (MAIN.path("pom"), b"", r"HTTP 404"),
        (NEEDED.path("jar"), b"", r"HTTP 404"),
        (f"{JAR}.sha1", b"", r"no checksum of main_2\.13-1\.2\.jar"),
        (f"{JAR}.sha1", b"<html>", r"main_2\.13-1\.2\.jar\.sha1 is not a checksum"),
        (f"{JAR}.sha1", b"0" * 64, r"main_2\.13-1\.2\.jar\.sha1 is not a checksum"),
        (MAIN.path("pom"), b"<project>", r"the pom of org\.demo:main_2\.13:1\.2 is not XML"),
        (MAIN.path("pom"), POM.replace(">1.1<", ">${other}<").encode(), r"names no version of part_2\.13"),
        (MAIN.path("pom"), POM.replace(">part_2.13<", ">../../part<").encode(), r"names no version of \.\./"),
    ],
)
def test_file_that_cannot_be_checked_is_not_used(mirror: Mirror, path: str, content: bytes, cause: str) -> None:
    mirror.files[path] = content
    if path.endswith("pom"):
        mirror.files[f"{path}.sha1"] = checksum(content, "sha1")
    with pytest.raises(NotFetched, match=cause):
        fetched()


def test_repository_that_does_not_answer_is_asked_once(mirror: Mirror) -> None:
    mirror.stop()
    with pytest.raises(NotFetched, match="refused"):
        fetched()
