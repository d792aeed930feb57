"""A change plan: what a change would do, with its effects on the access of all users."""

from grantpath.engine.change.made import Change
from grantpath.engine.decide.access_effects import Effects
from grantpath.graph.frozen import Frozen


class ChangePlan(Frozen):
    """The result that statements would have, if they were made in one transaction at `revision`.

    `changes` has one Change for each statement, as a dry run of `change_all` returns it. `added` and `removed` are the
    facts that the statements together would add and remove, as canonical statements. `effects` is the access that users
    would gain and lose.
    """

    revision: int
    changes: tuple[Change, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    effects: Effects

    def _repr_html_(self) -> str:
        return self.effects._repr_html_()
