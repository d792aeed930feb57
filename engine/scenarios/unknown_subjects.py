"""Finds subjects of questions, and actors of changes, that a scenario mentions nowhere else: usually misspelled names.

A user that does not exist is not allowed anything, so `user:bobb cannot ...` passes for the wrong reason. A file lists
the subjects that intentionally do not exist under `absent:`.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from grantpath.engine.policy import policy as policies
from grantpath.engine.policy.policy import Policy
from grantpath.engine.scenarios.scenario_file import Line, Scenario
from grantpath.graph.errors import Invalid
from grantpath.graph.language.near_names import nearest
from grantpath.graph.language.reference import Reference, renamed, type_of
from grantpath.graph.language.statement import Check, Which, parse_statement


def unmentioned(scenarios: Sequence[Scenario]) -> list[str]:
    """A text with file and line for each subject or actor that no `given` or `do` statement of its scenario mentions.

    Raises InvalidPolicy or Unknown if a policy cannot be loaded.
    """

    @cache
    def load(name: str, folder: Path) -> Policy:
        return policies.load(name, folder)

    found: list[str] = []
    for scenario in scenarios:
        policy = load(scenario.policy, scenario.file.parent)
        found += _of(scenario, policy, policy.root(scenario.root))
    return found


def _of(scenario: Scenario, policy: Policy, root: Reference) -> Iterator[str]:
    changes = [*scenario.given, *(line for line in scenario.then if line.question is None)]
    known = {ref for line in changes for ref in _mentioned(line.text, policy, root)} | {*policy.builtins}
    meant = {ref for text in scenario.absent if (ref := _canonical(text, policy, root))}
    reported: set[str] = set()
    for line in scenario.then:
        ref = _canonical(asked, policy, root) if (asked := _asks_about(line)) else None
        if ref is None or ref in known or ref in meant or ref in reported:
            continue
        reported.add(ref)
        near = nearest(ref, [each for each in known if type_of(each) == type_of(ref)])
        yield (
            f"{scenario.file}:{line.number}: no `given` or `do` line mentions {ref}{near}; add it there, or list it "
            "under `absent:` if it intentionally does not exist"
        )


def _asks_about(line: Line) -> str | None:
    """The subject of a question, or the actor of a change; None for a question whose expected result is an error."""
    if line.question is None:
        return line.actor
    if isinstance(line.question, Check | Which) and line.expected != "error":
        return line.question.subject
    return None


def _mentioned(text: str, policy: Policy, root: Reference) -> Iterator[str]:
    try:
        statement = parse_statement(text)
    except Invalid:
        return
    for ref in (statement.object, statement.subject):
        if ref and (canonical := _canonical(ref, policy, root)):
            yield canonical
    if statement.kind == "rename":
        with suppress(Invalid):
            yield renamed(policy.reference(statement.object, root), statement.to or "").text


def _canonical(text: str, policy: Policy, root: Reference) -> str | None:
    """The reference in canonical form; None if it is not valid, which the line itself reports."""
    try:
        return policy.reference(text, root).text
    except Invalid:
        return None
