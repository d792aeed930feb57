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


@dataclass(eq=False)
class PlannedChange:
    """One change of a batch, and its outcome. `mentioned`: the entity is added only if it does not exist; `delta`: the
    facts that the change adds and removes, in a dry run."""

    change: ResolvedStatement
    text: str
    mentioned: bool = False
    changed: bool = False
    error: GrantpathError | None = None
    delta: Delta | None = None
