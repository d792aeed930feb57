"""The command doctor: what it finds, and what it says about a set-up that is not fine."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from grantpath.engine.cli.admin import setup_findings
from grantpath.engine.cli.admin.setup_findings import (
    Finding,
    driver_finding,
    heap_finding,
    java_finding,
    language_finding,
    line_of,
    page_cache_finding,
    version_finding,
)
from grantpath.graph.embedded.home import RELEASES
from grantpath.graph.guard.store import Store

from ...support.command_line import Run, run

__all__ = ["run"]

MIB = setup_findings.MIB
NOT_FINE = [
    (
        version_finding("4.4.9", "community, embedded"),
        "Neo4j 4.4.9, community, embedded; not tested",
        "5.26.x or 2026.x",
    ),
    (version_finding("5.260.1", "community, embedded"), "not tested", "use Neo4j 5.26.x or 2026.x"),
    (language_finding("CYPHER_30"), "CYPHER_30", "set db.query.default_language=CYPHER_5 in neo4j.conf"),
    (java_finding("11", "5.26"), "Java 11", "run it on Java 17 or 21: set JAVA_HOME"),
    (java_finding("17", "2026"), "Java 17", "run it on Java 21 or newer: set JAVA_HOME"),
    (heap_finding(256 * MIB, True), "256 MiB", "set GRANTPATH_HEAP=1g, then run `grantpath down` and `grantpath up`"),
    (heap_finding(256 * MIB, False), "256 MiB", "set server.memory.heap.max_size=1g in neo4j.conf, and restart"),
    (
        page_cache_finding("64.00MiB", MIB, 0, True),
        "64 MiB for 1,048,576 nodes and 0 relationships, about ",
        "GRANTPATH_PAGECACHE=",
    ),
    (
        page_cache_finding("64.00MiB", 0, MIB, False),
        "it should hold the whole graph",
        "set server.memory.pagecache.size=",
    ),
    (driver_finding("5.28.1", ">=6,<7"), "neo4j 5.28.1; allowed are >=6,<7", "pip install 'neo4j>=6,<7'"),
    (driver_finding("7.0.0", ">=6,<7"), "neo4j 7.0.0", "pip install 'neo4j>=6,<7'"),
]
FINE = [
    version_finding("5.26.0", ""),
    version_finding("5.26-aura", ""),
    version_finding("2026.01.2+1234", ""),
    *map(language_finding, (None, "CYPHER_25")),
    *(java_finding(*each) for each in (("17", "5.26"), ("25", "2026"), ("8", None))),
    heap_finding(496 * MIB, False),
    *(page_cache_finding(each, 0, MIB, False) for each in ("110.00MiB", "1.5GiB", "256m", None)),
    driver_finding("6.0.2", ">=6,<7"),
]


@pytest.mark.parametrize(("finding", "found", "remedy"), NOT_FINE, ids=lambda each: getattr(each, "about", None))
def test_what_is_not_fine_has_a_remedy(finding: Finding, found: str, remedy: str) -> None:
    assert finding.remedy and found in finding.found and remedy in finding.remedy


def test_what_is_fine_has_none() -> None:
    assert [each for each in FINE if each.remedy] == []


def test_each_supported_line_has_a_java() -> None:
    assert {line: line_of(release.number) for line, release in RELEASES.items()} == {line: line for line in RELEASES}


def test_doctor_finds_the_server_and_this_environment(run: Run, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = run("doctor", "--json", "--timeout", "60")
    found = {each["about"]: each for each in ran.json["findings"]}
    assert (ran.code, ran.json["fine"]) == (0, True), found
    assert [*found] == ["server", "cypher", "page cache", "java", "heap", "driver", *setup_findings.OPTIONAL]
    [kernel] = store.execute("CALL dbms.components() YIELD versions, edition RETURN versions[0] AS version, edition")
    assert found["server"]["found"].startswith(f"Neo4j {kernel['version']}, {kernel['edition']}, ")
    assert not any("not read" in each["found"] for each in found.values())
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    [driver] = [need.removeprefix("neo4j") for need in project["dependencies"] if need.startswith("neo4j>")]
    assert found["driver"]["found"] == f"neo4j {metadata.version('neo4j')}; allowed are {driver}"
    monkeypatch.setattr(setup_findings, "LEAST_HEAP", 2**50)
    monkeypatch.setitem(setup_findings.OPTIONAL, "no-such-package", "review")
    shown = run("doctor", "--timeout", "60")
    lines = dict(re.split("  +", line, maxsplit=1) for line in shown.out.splitlines())
    assert shown.code == 1
    assert lines["heap"].startswith("act   ") and "GRANTPATH_HEAP=1g" in lines["heap"]
    assert lines["driver"].startswith("fine  ")
    assert lines["no-such-package"] == "fine  not installed; for what needs it: pip install 'grantpath[review]'"


def test_server_that_cannot_be_used_is_a_line(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", "x")
    ran = run("doctor", "--uri", "bolt://127.0.0.1:1")
    first, *others = ran.out.splitlines()
    assert (ran.code, ran.err) == (1, "")
    assert first.startswith("server          act   cannot be used: bolt://127.0.0.1:1 cannot be reached: ")
    assert [line.split()[0] for line in others] == ["driver", *setup_findings.OPTIONAL]
    monkeypatch.delenv("NEO4J_URI", raising=False)
    monkeypatch.setenv("GRANTPATH_HOME", str(tmp_path))
    assert "the embedded server is not running; `grantpath up` starts it" in run("doctor").out
    assert not list(tmp_path.iterdir())
