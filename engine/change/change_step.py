"""One change of a batch, and its actor."""

from dataclasses import dataclass

from grantpath.engine.change.deltas import Delta
from grantpath.engine.policy.statement_rules import ResolvedStatement
from grantpath.graph.errors import GrantpathError
from grantpath.graph.reference import Reference


@dataclass(frozen=True)
class Actor:
    """The user who requests a change, and the active role."""

    ref: Reference
    as_role: str | None


def actor_names(actor: Actor | None) -> tuple[str | None, str | None]:
    """The references of the user and of the active role, as the log has them."""
    return (actor.ref.text, actor.as_role) if actor else (None, None)


@dataclass(eq=False)
class ChangeStep:
    """One change of a batch, and its outcome. `mentioned`: the entity is added only if it does not exist; `delta`: the
    facts that the change adds and removes."""

    change: ResolvedStatement
    text: str
    mentioned: bool = False
    changed: bool = False
    error: GrantpathError | None = None
    delta: Delta | None = None
