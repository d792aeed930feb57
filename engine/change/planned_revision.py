"""The condition that a root and its revision are still those for which a change was planned."""

from dataclasses import dataclass

from grantpath.graph.errors import Conflict, InvalidInput
from grantpath.graph.language.inputs import require_number
from grantpath.graph.messages import short


@dataclass(frozen=True)
class Planned:
    """The state for which a change was planned: the revision, and the creation id of the root. None: any.

    Raises InvalidInput if one of them is of another type.
    """

    revision: int | None = None
    root_id: str | None = None

    def __post_init__(self) -> None:
        if self.revision is not None:
            require_number("at_revision", self.revision)
        if not isinstance(self.root_id, str | None):
            raise InvalidInput(f"root_id must be the text that the plan states (got {short(repr(self.root_id))})")

    def fits(self, revision: int, made: str) -> bool:
        """Whether the root is in this state. `made`: its creation id."""
        return self.revision in (None, revision) and self.root_id in (None, made)

    def need(self, tenant: str, revision: int, made: str) -> None:
        """Raises Conflict unless the root is in this state."""
        if self.fits(revision, made):
            return
        if self.root_id in (None, made):
            now = f"is at revision {revision}, not at {self.revision}"
        else:
            now = "is not the root of the plan: it was dropped and created again, or the plan is of another root"
        raise Conflict(f"{tenant} {now}; nothing is done; plan the change again", code="root_moved")
