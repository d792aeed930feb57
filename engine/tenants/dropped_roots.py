"""Records of the roots that operators dropped, stored outside the roots."""

from dataclasses import dataclass
from datetime import datetime

from grantpath import cypher
from grantpath.engine.tenants import registry
from grantpath.engine.tenants.stored_policy import kept_policy
from grantpath.graph.errors import Unknown
from grantpath.graph.guard.store import Store
from grantpath.graph.messages import short


@dataclass(frozen=True)
class DroppedRoot:
    """A dropped root: its policy, its last revision, the hash of the newest entry of its log (None: the log has no
    hashes), the time of the drop, and the operator if one was named."""

    root: str
    policy: str
    revision: int
    head: str | None
    at: datetime
    by: str | None


def drop(store: Store, tenant: str, by: str | None) -> None:
    """Removes a root with all its contents and its log, and leaves a record of it. A root that does not exist gets no
    record, but what an interrupted drop left of it is removed.

    `by` is the operator named in the record; it needs no authority. The record is written first: it describes the root
    at the start of the drop. Raises InvalidReference, Unknown or Invalid if `by` is not an operator, Inconsistent,
    Unavailable.
    """
    kept = registry.find(store, tenant)
    if kept is not None:
        if by is not None:
            model = kept_policy(store, tenant, kept)
            by = model.operator(by, model.root(tenant))
        cypher.load("note_dropped_tenant").run(store.execute, root=tenant, by=by)
    registry.remove(store, tenant)


def drop_existing(store: Store, tenant: str) -> None:
    """Like `drop`, without an operator, but raises Unknown for a root of which nothing is there."""
    if registry.find(store, tenant) is not None:
        drop(store, tenant, None)
    elif not registry.sweep(store, tenant):
        raise unknown(store, tenant)


def unknown(store: Store, name: str) -> Unknown:
    """The error for a root that cannot be dropped because it does not exist."""
    known = registry.names(store)
    there = f"the roots are {', '.join(known)}" if known else "there are no roots"
    text = f"the root {short(name)} does not exist: {there}; write its whole name, such as metalake:ml"
    return Unknown(text, code="root_unknown")


def listed(store: Store) -> list[DroppedRoot]:
    """All dropped roots, oldest first, including those that were created again. Raises Unavailable."""
    rows = cypher.load("dropped_tenants").run(store.read)
    return [DroppedRoot(**{**row, "at": datetime.fromisoformat(row["at"])}) for row in rows]
