"""The command `test`: runs scenario files with Cypher, Spark or both, or in memory."""

from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grantpath.engine.cli.bulk.spark_commands import expect_small_jobs, working
from grantpath.engine.cli.context import A_ROOT, CommandContext, command
from grantpath.engine.cli.output import counting, emit, lines, out, styled, warn
from grantpath.graph.errors import InvalidInput
from grantpath.graph.messages import printable

if TYPE_CHECKING:
    from grantpath.engine.scenarios.runner import Answer, Question, Report, Result
    from grantpath.engine.tenants.tenant_state import TenantState

Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="scenario files, or folders of them")]


class AnsweringEngine(StrEnum):
    """The engines that can answer."""

    cypher = "cypher"
    spark = "spark"
    both = "both"
    memory = "memory"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    command(app, "Policies", "grantpath test tests/scenarios/gravitino --engine both", unused=A_ROOT)(test)


def test(
    session: CommandContext,
    files: Files,
    engine: Annotated[AnsweringEngine, typer.Option(help="the engine that answers")] = AnsweringEngine.cypher,
    strict: Annotated[bool, typer.Option("--strict", help="treat warnings as errors")] = False,
) -> int:
    """Run scenario files, and compare the answers with the expected ones.

    Each scenario runs in a new tenant, which sees nothing of other scenarios and is removed afterwards. A subject that
    no `given` or `do` line mentions is not allowed anything, so a misspelled name can make a line pass. Such a subject
    causes a warning, with --strict an error, unless the scenario lists it under `absent:`. Exit code 1 if any line
    fails, 2 for an error.

    The engine memory needs no server, and takes milliseconds for a scenario.
    """
    from grantpath.engine.scenarios import runner
    from grantpath.engine.scenarios.unknown_subjects import unmentioned

    scenarios = runner.read_files(files)
    if not scenarios:
        raise InvalidInput(f"{', '.join(map(str, files))}: no scenario found; name a .yaml file that has one")
    warnings = unmentioned(scenarios)
    if warnings and strict:
        raise InvalidInput(*warnings)
    for text in warnings:
        warn(f"warning: {text}", "yellow")
    store = None if engine is AnsweringEngine.memory else session.store(keep_plans=True)
    try:
        with counting() as count:
            report = runner.run(
                scenarios, store, engine.value, answer_by_spark, lambda done, of: count("scenarios", done, of)
            )
    finally:
        if store is not None:
            store.close()
    _print(session, report)
    return 1 if report.failed else 0


def answer_by_spark(states: "Sequence[TenantState]", questions: "Sequence[tuple[str, Question]]") -> "Sequence[Answer]":
    """Spark's answers to all questions of a run, computed at once."""
    from grantpath.spark_sync.bulk.batch_answers import BulkQuestion, answer_many

    expect_small_jobs()
    with working("Spark is answering") as progress:
        return answer_many(states, [BulkQuestion(state, asked) for state, asked in questions], progress)


def _print(session: CommandContext, report: "Report") -> None:
    if session.json:
        results = []
        for result in report.results:
            entry = asdict(result)
            del entry["explanation"]
            results.append({**entry, "passed": result.passed})
        emit({"passed": report.passed, "failed": report.failed, "results": results})
        return
    console = out()
    for result in report.results:
        if not result.passed:
            console.print(
                styled(f"{printable(result.file)}:{result.line}", "bold"), f" {printable(result.statement)}", sep=""
            )
            lines(console, "in", [result.scenario])
            lines(console, "expected", [_word(result, result.expected)], "green")
            lines(console, "got", [f"{_word(result, result.got)} ({result.engine})"], "red")
            lines(console, "because", [result.explanation] if result.explanation else [])
    style = "bold red" if report.failed else "bold green"
    console.print(styled(f"{report.passed:,} passed, {report.failed:,} failed", style))


def _word(result: "Result", answer: bool | str | list[str]) -> str:
    if isinstance(answer, bool):
        return "can" if answer else "cannot"
    return f"[{', '.join(answer)}]" if isinstance(answer, list) else answer
