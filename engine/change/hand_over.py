"""`hand over A to B`: each object that A owns gets the owner B, in one change.

The new owner of each object is authorized and validated like the statement `owner B of OBJECT`, so an actor needs the
right to set the owner of every one of them, and one that B cannot own stops the whole change.
"""

from collections.abc import Sequence

from grantpath.engine.change.apply import BatchApplier
from grantpath.engine.change.change_step import ChangeStep
from grantpath.engine.change.deltas import BULK, Delta
from grantpath.engine.policy.statement_rules import Rules
from grantpath.graph.errors import GrantpathError, Unknown
from grantpath.graph.guard.transaction import AskByName
from grantpath.graph.language.statement import parse_statement

KIND = "hand over"


def apply_all(
    applier: BatchApplier, rules: Rules, ask: AskByName, steps: Sequence[ChangeStep], all_or_nothing: bool
) -> None:
    """Applies changes in order, hand-overs among them. Arguments and outcomes as for `BatchApplier.apply`."""
    waiting: list[ChangeStep] = []
    for step in steps:
        if step.change.kind != KIND:
            waiting.append(step)
            continue
        applier.apply(waiting, all_or_nothing)
        if all_or_nothing and any(each.error for each in waiting):
            return
        waiting = []
        _hand_over(applier, rules, ask, step)
        if all_or_nothing and step.error:
            return
    applier.apply(waiting, all_or_nothing)


def _hand_over(applier: BatchApplier, rules: Rules, ask: AskByName, step: ChangeStep) -> None:
    former, later = str(step.change.object), str(step.change.subject)
    for ref in (former, later):
        if not ask("entity_exists", ref=ref):
            step.error = Unknown(f"{ref} does not exist", "; add it first, or check the name", absent=ref)
            return
    parts: list[ChangeStep] = []
    try:
        for owned in ask("owned_objects", subject=former)[0]["owned"]:
            parts.append(ChangeStep(rules.resolve(parse_statement(f"owner {later} of {owned}"), as_fact=False)))
    except GrantpathError as error:
        step.error = error.prefixed(f"{step.text!r}: ")
        return
    applier.apply(parts, all_or_nothing=True)
    wrong = next((part.error for part in parts if part.error), None)
    if wrong is not None:
        step.error = wrong.prefixed(f"{step.text!r}: ")
        return
    step.changed, step.delta = any(part.changed for part in parts), _together(parts)


def _together(parts: Sequence[ChangeStep]) -> Delta:
    """The facts of all parts, in the order that a delta has."""
    deltas = [part.delta for part in parts if part.delta is not None]
    if any(each.bulk for each in deltas) or sum(len(each.removed) for each in deltas) > BULK:
        return Delta(bulk=True)
    return Delta(
        sorted(text for each in deltas for text in each.added),
        sorted((text for each in deltas for text in each.removed), reverse=True),
        sorted({ref for each in deltas for ref in each.touched}),
    )
