"""A change plan: what a change would do, with its effects on the access of all users."""

from collections.abc import Sequence

from grantpath.engine.answers.access_effects import Effects
from grantpath.engine.answers.batches import one_of
from grantpath.engine.change.deltas import net
from grantpath.engine.change.made import Change
from grantpath.graph.errors import InvalidInput
from grantpath.graph.frozen import Frozen


class ChangePlan(Frozen):
    """The result that statements would have, if they were made in one transaction at `revision`.

    `root_id` is the creation id of the root: a root that is dropped and created again has another one. `changes` has
    one Change for each statement, as `change_all` returns them for a dry run. `added` and `removed` are the facts that
    all of them together would add and remove, as canonical statements. `effects` is the access that would be gained and
    lost.
    """

    revision: int
    root_id: str
    changes: tuple[Change, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    effects: Effects

    @classmethod
    def of(cls, changes: Sequence[Change], revision: int, root_id: str, effects: Effects) -> "ChangePlan":
        """The plan of the changes of a dry run at this revision."""
        together = net(changes)
        return cls(
            revision=revision,
            root_id=root_id,
            changes=tuple(changes),
            added=tuple(together.added),
            removed=tuple(together.removed),
            effects=effects,
        )

    def _repr_html_(self) -> str:
        return self.effects._repr_html_()


def base_revision(changes: Sequence[Change], revision: int) -> int:
    """The revision at which a dry run began; `revision` if there are no changes."""
    return changes[0].revision - (changes[0].id is not None) if changes else revision


def facts_of(changes: Sequence[Change]) -> list[dict[str, list[str]]]:
    """The facts that each change of a dry run adds and removes.

    Raises InvalidInput for a change whose facts a dry run does not list, because they are too many.
    """
    for index, each in enumerate(changes):
        if each.id is not None and not (each.added or each.removed):
            text = "changes more than 200,000 facts, which a plan cannot compare; change smaller parts"
            raise one_of("statement", index, InvalidInput(f"{each.question.statement}: {text}"))
    return [{"added": each.added, "removed": each.removed} for each in changes]
