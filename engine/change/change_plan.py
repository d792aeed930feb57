"""A change plan: what a change would do, with its effects on the access of all users."""

from grantpath.engine.answers.access_effects import Effects
from grantpath.engine.change.made import Change
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

    def _repr_html_(self) -> str:
        return self.effects._repr_html_()
