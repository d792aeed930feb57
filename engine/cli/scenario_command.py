"""The command `test`: runs scenario files with Cypher, Spark or both."""

from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from grantpath.engine.cli.context import CommandContext, command
from grantpath.engine.cli.output import counting, emit, err, lines, out, styled
from grantpath.engine.cli.spark_commands import expect_small_jobs, working
from grantpath.engine.scenarios import runner
from grantpath.engine.scenarios.runner import Answer, Question, Report, Result
from grantpath.engine.scenarios.unknown_subjects import unmentioned
from grantpath.engine.tenants.tenant_state import TenantState
from grantpath.graph.errors import InvalidInput

Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="scenario files, or folders of them")]


class AnsweringEngine(StrEnum):
    """Who answers."""

    cypher = "cypher"
    spark = "spark"
    both = "both"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    command(app, "Policies", "grantpath test tests/scenarios/gravitino --engine both")(test)


def test(
    session: CommandContext,
    files: Files,
    engine: Annotated[AnsweringEngine, typer.Option(help="who answers")] = AnsweringEngine.cypher,
    strict: Annotated[bool, typer.Option("--strict", help="a warning is an error")] = False,
) -> int:
    """Run scenario files: does the authorizer answer as they say?

    Each scenario runs in a tenant of its own that is removed afterwards. A subject that is asked about, and that no
    `given` or `do` line mentions, is allowed nothing, so a mistyped name can make a line pass: there is a warning, with
    --strict an error. A scenario lists under `absent:` the subjects that are meant not to exist. Exit code 1 if any
    line fails, 2 for an error.
    """
    scenarios = runner.read_files(files)
    if not scenarios:
        raise InvalidInput(f"{', '.join(map(str, files))}: no scenario in it; name a .yaml file with one")
    warnings = unmentioned(scenarios)
    if warnings and strict:
        raise InvalidInput(*warnings)
    for text in warnings:
        err().print(styled(f"warning: {text}", "yellow"))
    store = session.store()
    try:
        with counting() as count:
            report = runner.run(
                scenarios, store, engine.value, answer_by_spark, lambda done, of: count("scenarios", done, of)
            )
    finally:
        store.close()
    _print(session, report)
    return 1 if report.failed else 0


def answer_by_spark(states: Sequence[TenantState], questions: Sequence[tuple[str, Question]]) -> Sequence[Answer]:
    """The answers of Spark to all questions of a run at once."""
    from grantpath.spark_sync.batch_answers import BulkQuestion, answer_many

    expect_small_jobs()
    with working("Spark is answering") as progress:
        return answer_many(states, [BulkQuestion(state, asked) for state, asked in questions], progress)


def _print(session: CommandContext, report: Report) -> None:
    if session.json:
        results = []
        for result in report.results:
            entry = asdict(result)
            del entry["explanation"]
            results.append(entry)
        emit({"passed": report.passed, "failed": report.failed, "results": results})
        return
    console = out()
    for result in report.results:
        if not result.passed:
            console.print(styled(f"{result.file}:{result.line}", "bold"), styled(f" {result.statement}"), sep="")
            lines(console, "in", [result.scenario])
            lines(console, "expected", [_word(result, result.expected)], "green")
            lines(console, "got", [f"{_word(result, result.got)} ({result.engine})"], "red")
            lines(console, "because", [result.explanation] if result.explanation else [])
    style = "bold red" if report.failed else "bold green"
    console.print(styled(f"{report.passed:,} passed, {report.failed:,} failed", style))


def _word(result: Result, answer: bool | str | list[str]) -> str:
    if isinstance(answer, bool):
        return "can" if answer else "cannot"
    return f"[{', '.join(answer)}]" if isinstance(answer, list) else answer
