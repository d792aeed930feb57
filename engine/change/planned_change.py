"""One change of a batch, and who asks for it."""

from dataclasses import dataclass

from grantpath.engine.change.deltas import Delta
from grantpath.engine.policy.statement_rules import ResolvedStatement
from grantpath.graph.errors import GrantpathError
from grantpath.graph.reference import Reference


@dataclass(frozen=True)
class Actor:
    """Who asks for a change, and with which active role."""

    ref: Reference
    as_role: str | None


@dataclass(eq=False)
class PlannedChange:
    """One change of a batch, and what became of it. `mentioned`: an entity that is added if it does not exist; `delta`:
    what it adds and removes, where that is watched."""

    change: ResolvedStatement
    text: str
    mentioned: bool = False
    changed: bool = False
    error: GrantpathError | None = None
    delta: Delta | None = None
