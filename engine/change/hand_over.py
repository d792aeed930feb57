"""`hand over A to B`: each object that A owns gets the owner B, in one change.

The new owner of each object is authorized and validated like the statement `owner B of OBJECT`, so an actor needs the
right to set the owner of every one of them, and one that B cannot own stops the whole change.
"""

from collections.abc import Sequence

from grantpath.engine.change.apply import BatchApplier
from grantpath.engine.change.change_step import ChangeStep
from grantpath.engine.change.deltas import BULK, Delta
from grantpath.engine.policy.statement_rules import Rules
from grantpath.graph.errors import GrantpathError
from grantpath.graph.language.statement import parse_statement


def hand_over(applier: BatchApplier, rules: Rules, step: ChangeStep) -> None:
    """Gives all that the object of a step owns to its subject, and sets the outcome of the step."""
    change = step.change
    try:
        applier.preconditions(change).check(change)
    except GrantpathError as error:
        step.error = error
        return
    parts: list[ChangeStep] = []
    try:
        for owned in applier.ask("owned_objects", subject=change.object.text)[0]["owned"]:
            statement = parse_statement(f"owner {change.subject} of {owned}")
            parts.append(ChangeStep(rules.resolve(statement, as_fact=False), step.actor))
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
