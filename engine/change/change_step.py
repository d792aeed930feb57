"""One change, its actor, and its outcome."""

from dataclasses import dataclass
from typing import NamedTuple

from grantpath.engine.change.deltas import Delta
from grantpath.engine.policy.statement_rules import ResolvedStatement
from grantpath.graph.errors import GrantpathError
from grantpath.graph.language.reference import Reference
from grantpath.graph.messages import counted


@dataclass(frozen=True)
class Actor:
    """The user who requests a change, and the active role."""

    ref: Reference
    as_role: str | None


def actor_names(actor: Actor | None) -> tuple[str | None, str | None]:
    """The references of the user and of the active role, as the log has them."""
    return (actor.ref.text, actor.as_role) if actor else (None, None)


class Kept(NamedTuple):
    """How many grants on a name, and memberships of it, were stored before the entity was created."""

    grants: int = 0
    memberships: int = 0

    @property
    def text(self) -> str:
        """Such as `2 grants and 1 membership already, which count from now on`; empty if there are none."""
        counts = ((self.grants, "grants"), (self.memberships, "memberships"))
        kept = " and ".join(counted(count, names) for count, names in counts if count)
        return f"{kept} already, which count from now on" if kept else ""


NOTHING_KEPT = Kept()


@dataclass(eq=False)
class ChangeStep:
    """One change, its actor (None: a fact, which needs no authority), and its outcome. `mentioned`: the entity is added
    only if it does not exist; `delta`: the facts that the change adds and removes; `kept`: what a new entity takes
    over."""

    change: ResolvedStatement
    actor: Actor | None = None
    mentioned: bool = False
    changed: bool = False
    error: GrantpathError | None = None
    delta: Delta | None = None
    kept: Kept = NOTHING_KEPT

    def reset(self) -> None:
        """Forgets the outcome, because the transaction is tried again."""
        self.changed, self.error, self.delta, self.kept = False, None, None, NOTHING_KEPT

    @property
    def text(self) -> str:
        """The statement, with canonical references."""
        return self.change.text
