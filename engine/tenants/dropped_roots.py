"""What is left of roots that an operator dropped: a note of each, outside the root."""

from dataclasses import dataclass
from datetime import datetime

from grantpath import cypher
from grantpath.engine.tenants import registry
from grantpath.engine.tenants.stored_policy import kept_policy
from grantpath.graph.store import Store


@dataclass(frozen=True)
class DroppedRoot:
    """A root that was dropped: its policy, its last revision, the hash of the newest entry of its log (None: without
    hashes), when it was dropped, and by whom if that was given."""

    root: str
    policy: str
    revision: int
    head: str | None
    at: datetime
    by: str | None


def drop(store: Store, tenant: str, by: str | None) -> None:
    """Removes a root with all that it holds and its log, and leaves a note of it. Does nothing where it does not exist.

    `by` is the operator that the note names; it needs no authority. The note is written first: it says how the root was
    when the drop began. Raises InvalidReference, Unknown or Invalid for what is no operator, Inconsistent, Unavailable.
    """
    kept = registry.find(store, tenant)
    if kept is not None:
        if by is not None:
            model = kept_policy(store, tenant, kept)
            by = model.operator(by, model.root(tenant))
        cypher.load("note_dropped_tenant").run(store.execute, root=tenant, by=by)
    registry.remove(store, tenant)


def listed(store: Store) -> list[DroppedRoot]:
    """The roots that were dropped, oldest first; one that was created anew is among them, too. Raises Unavailable."""
    rows = cypher.load("dropped_tenants").run(store.read)
    return [DroppedRoot(**{**row, "at": datetime.fromisoformat(row["at"])}) for row in rows]
