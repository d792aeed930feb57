"""The scenario files: every line, by Cypher in a real Neo4j, from a copy of the facts in memory, and by Spark."""

from pathlib import Path
from typing import Any

import pytest

from grantpath.engine import Authorizer
from grantpath.engine.scenarios import runner
from grantpath.graph.guard.store import Store

from ..conftest import Closing
from ..support.with_replica import replica_of, with_replica

SCENARIOS = Path(__file__).parents[1] / "scenarios"
POLICIES = sorted(folder.name for folder in SCENARIOS.iterdir() if folder.is_dir())
EXAMPLES = [
    Path(__file__).parents[2] / "docs" / "examples" / f"{name}.scenarios.yaml"
    for name in ("github", "unity_catalog", "polaris")
]


def wrong(report: runner.Report) -> list[str]:
    """The failures, one per line."""
    return [
        f"{each.file}:{each.line} {each.statement}: expected {each.expected}, got {each.got} ({each.engine})"
        for each in report.results
        if not each.passed
    ]


@pytest.mark.usefixtures("schema")
@pytest.mark.parametrize("policy", POLICIES)
def test_cypher_gives_the_expected_answers(store: Store, policy: str) -> None:
    report = runner.run(runner.read_files([SCENARIOS / policy]), store)
    assert wrong(report) == []
    assert report.passed >= 8


@pytest.mark.usefixtures("schema")
@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_cypher_gives_the_expected_answers_of_an_example(store: Store, file: Path) -> None:
    report = runner.run(runner.read_files([file]), store)
    assert wrong(report) == []
    assert report.passed >= 36


@pytest.mark.usefixtures("schema")
def test_copies_of_the_facts_give_the_expected_answers(
    store: Store, closing: Closing, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies: list[Authorizer] = []

    def copied(*given: Any) -> Authorizer:
        copies.append(with_replica(Authorizer(*given)))
        return copies[-1]

    monkeypatch.setattr(runner, "Authorizer", copied)
    report = runner.run(runner.read_files([SCENARIOS]), store)
    assert wrong(report) == []
    answered = sum(replica_of(each).answered for each in copies)
    closing(f"scenarios: {answered} questions of {report.passed} lines answered from memory, 0 wrong")
    assert answered >= 400
    assert sum(replica_of(each).left for each in copies) == 0


@pytest.mark.usefixtures("schema")
@pytest.mark.spark
@pytest.mark.slow  # tests/spark_sync/test_batch_answers.py asks Spark the same questions without a server
def test_spark_gives_the_expected_answers(store: Store, closing: Closing) -> None:
    from grantpath.engine.cli.admin.scenario_command import answer_by_spark

    report = runner.run(runner.read_files([SCENARIOS]), store, "spark", answer_by_spark)
    assert wrong(report) == []
    asked = sum(each.engine == "spark" for each in report.results)
    assert asked >= 400
    closing(f"scenarios: {asked} questions of {report.passed} lines asked of Spark, 0 wrong")
