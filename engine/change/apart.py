"""Changes that run apart from the others of their batch: each sees all before it, and all after it see it."""

from collections.abc import Sequence

from grantpath.engine.change import hand_over, renaming
from grantpath.engine.change.apply import BatchApplier
from grantpath.engine.change.change_step import ChangeStep
from grantpath.engine.policy.statement_rules import Rules

APART = {"hand over": hand_over.hand_over, "rename": renaming.rename, "move": renaming.rename}  # by kind of change


def apply_all(applier: BatchApplier, rules: Rules, steps: Sequence[ChangeStep], all_or_nothing: bool) -> None:
    """Applies changes in order, also those that run apart. Arguments and outcomes as for `BatchApplier.apply`."""
    waiting: list[ChangeStep] = []
    for step in steps:
        if step.change.kind not in APART:
            waiting.append(step)
            continue
        applier.apply(waiting, all_or_nothing)
        if all_or_nothing and any(each.error for each in waiting):
            return
        waiting = []
        APART[step.change.kind](applier, rules, step)
        if all_or_nothing and step.error:
            return
    applier.apply(waiting, all_or_nothing)
