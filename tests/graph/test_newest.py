"""Other versions answer like the default ones: Neo4j 2026.x, whose own language is Cypher 25, newer lines of Spark, and
the lowest packages that are allowed."""

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import neo4j
import pytest

from grantpath.engine import Authorizer
from grantpath.graph.client.connection import Connection
from grantpath.graph.embedded.connect import connection
from grantpath.graph.embedded.home import SETTINGS
from grantpath.graph.embedded.server import down, up

from ..conftest import SERVER
from ..support.newest_spark import packages_folder, pyspark_folder
from ..support.notices import DEPRECATED, DEPRECATION, WARNINGS, every_text, languages, notices
from ..support.sizes import size

pytestmark = [pytest.mark.newest, pytest.mark.slow, pytest.mark.trust]

LOWEST = {"neo4j": "6.0.0", "neo4j-rust-ext": "6.0.0.0", "numpy": "1.26.0", "pandas": "2.2.0", "pyarrow": "15.0.0"}
ONLY_CYPHER_25 = "UNWIND [1, 2] AS kept FILTER kept > 1 RETURN kept"
AGREEMENT = Path(__file__).parents[1] / "agreement"
SCENARIOS = Path(__file__).parents[1] / "scenarios"
PART = [SCENARIOS / name for name in ("gravitino/worked-example.yaml", "deltastream/04_active_role.yaml", "cdap")]


@pytest.fixture
def newest_server(tmp_path: Path) -> Iterator[Connection]:
    """A Neo4j 2026.x for this test only. It reads queries as Cypher 25, as a new server of this line does."""
    home = os.environ["GRANTPATH_HOME"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("grantpath.graph.embedded.home.SETTINGS", SETTINGS + "db.query.default_language=CYPHER_25\n")
        patch.setenv("GRANTPATH_NEO4J", "2026")
        patch.setenv("GRANTPATH_HOME", str(tmp_path))
        up()
        yield connection()
        down()
    assert os.environ["GRANTPATH_HOME"] == home


PATIENT = ("--timeout", "120")  # a newly started server plans its first queries slowly


def run(files: list[Path], engine: str, server: Connection, extra: dict[str, str]) -> dict[str, Any]:
    """The output of `grantpath test --json`."""
    login = {"NEO4J_URI": server.uri, "NEO4J_USER": server.user, "NEO4J_PASSWORD": server.password}
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "grantpath.engine.cli",
            "test",
            *map(str, files),
            "--engine",
            engine,
            "--json",
            *PATIENT,
        ],
        env={**os.environ, **login, **extra},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert ran.stdout, ran.stderr
    report: dict[str, Any] = json.loads(ran.stdout)
    return report


def test_no_query_warns_and_scenarios_pass_on_the_newest_neo4j(
    newest_server: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    """The queries are planned in both versions of Cypher, on a database that has only one new root: the server warns of
    each label, relationship type and property that it has never stored, and `schema.cypher` makes all of them known."""
    caplog.set_level(logging.ERROR, "neo4j")  # each warning would be logged with its whole query
    with neo4j.GraphDatabase.driver(newest_server.uri, auth=(newest_server.user, newest_server.password)) as driver:
        assert driver.execute_query(ONLY_CYPHER_25).records[0]["kept"] == 2
        with pytest.raises(neo4j.exceptions.CypherSyntaxError):
            driver.execute_query(f"CYPHER 5 {ONLY_CYPHER_25}")
        Authorizer.open("metalake:ml", "gravitino", create=True, timeout=60).close()
        assert languages(driver) == ["5", "25"]
        for language in languages(driver):
            assert notices(driver, language, every_text(), WARNINGS) == {}
            assert notices(driver, language, {"old": DEPRECATED}, [DEPRECATION]).keys() == {"old"}
    whole = bool(size(full=1, short=0))
    report = run([SCENARIOS] if whole else PART, "cypher", newest_server, {})
    assert report["failed"] == 0
    assert report["passed"] >= (790 if whole else 40)


def test_decisions_on_the_newest_neo4j_are_those_of_the_oracle(newest_server: Connection) -> None:
    login = {"NEO4J_URI": newest_server.uri, "NEO4J_USER": newest_server.user, "NEO4J_PASSWORD": newest_server.password}
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(AGREEMENT / "test_decisions.py")],
        env={**os.environ, **login, SERVER: "uri", "GRANTPATH_TRUST": ""},  # the long form is for the default server
        cwd=AGREEMENT.parents[1],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-4000:]
    assert re.search(r"agreement, gravitino: .* 0 worlds different", ran.stdout)


@pytest.mark.parametrize("line", ["4.0", "4.1", "4.3"])
def test_scenarios_pass_on_a_newer_spark(server: Connection, line: str) -> None:
    folder = pyspark_folder(line)
    assert printed_version("pyspark", folder).startswith(f"{line}.")
    report = run(PART, "spark", server, {"PYTHONPATH": str(folder)})
    asked = [result for result in report["results"] if result["engine"] == "spark"]
    assert report["failed"] == 0
    assert len(asked) >= 40


def test_scenarios_pass_with_the_lowest_packages(server: Connection) -> None:
    folder = packages_folder(LOWEST)
    for package in ("neo4j", "numpy", "pandas", "pyarrow"):
        assert printed_version(package, folder) == LOWEST[package]
    for engine, least in (("both", 80), ("memory", 40)):
        report = run(PART, engine, server, {"PYTHONPATH": str(folder)})
        assert report["failed"] == 0
        assert len(report["results"]) >= least


def printed_version(package: str, folder: Path) -> str:
    """The version that a process has which finds this folder first."""
    ran = subprocess.run(
        [sys.executable, "-c", f"import {package}; print({package}.__version__)"],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.strip()
