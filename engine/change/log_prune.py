"""Removes old entries of a root's log. A log entry records this and keeps the chain verifiable."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from grantpath import cypher
from grantpath.engine.change.audit_log import in_utc
from grantpath.engine.change.audit_writer import append, whole
from grantpath.engine.change.deltas import Delta
from grantpath.engine.tenants.open_tenant import OpenTenant
from grantpath.graph.errors import InvalidInput
from grantpath.graph.guard.transaction import Writing, query_by_name
from grantpath.graph.language.inputs import require_number

AT_ONCE = 5_000


@dataclass(frozen=True)
class Pruned:
    """The number of removed entries, their last revision (None: nothing was removed), the root's revision now, the
    hash of the log entry that records the pruning, and the root's creation id."""

    entries: int
    up_to: int | None
    revision: int
    hash: str | None
    made: str


def prune(
    authorizer: OpenTenant,
    before: int | datetime,
    by: str | None = None,
    dry_run: bool = False,
    progress: Callable[[int], None] = lambda _: None,
) -> Pruned:
    """Removes the log entries before the revision or the time `before`, and the refused attempts at lower revisions
    than that of the newest removed entry.

    A new log entry records the newest removed entry with its hash, so that the chain can still be verified. The ids
    that callers chose keep working; those that grantpath assigned are forgotten with their entries. `by` is the
    operator named in the log; it needs no authority. With `dry_run` nothing is removed. `progress` receives the number
    of nodes removed so far: entries, their :Delta nodes and refused attempts. Raises InvalidInput, Invalid, Unknown,
    Inconsistent, Unavailable.
    """
    bound: dict[str, int | datetime | None]
    if isinstance(before, datetime):
        bound = {"before": None, "since": in_utc(before)}
    else:
        require_number("before", before)
        bound = {"before": before, "since": None}
    operator = authorizer.operator(by)

    def work(writing: Writing) -> Pruned:
        if isinstance(before, int) and before > writing.revision + 1:
            raise InvalidInput(
                f"before={before}: {authorizer.tenant} is at revision {writing.revision}; name an earlier revision, or "
                "a time such as 2026-01-31"
            )
        ask = query_by_name(writing.ask, writing.root)
        found = ask("log_prunable", **bound)[0]
        count, up_to = int(found["entries"]), found["up_to"]
        if not count:
            return Pruned(0, None, writing.revision, None, found["made"])
        if found["hash"] is None:
            raise InvalidInput(
                f"the log of {authorizer.tenant} was not pruned: entry {up_to} has no hash, and the last pruned entry "
                "must have one; "
                + (
                    f"prune before revision {found['chained'] + 1} or a later one"
                    if found["chained"]
                    else "make a change first"
                )
            )
        revision = writing.next_revision()
        statement = f"prune log before revision {up_to + 1}: {count:,} {'entry' if count == 1 else 'entries'}"
        entry = whole(revision, uuid.uuid4().hex, statement, operator, Delta())
        entry |= {"pruned": count, "pruned_revision": up_to, "pruned_hash": found["hash"]}
        return Pruned(count, up_to, revision, append(ask, [entry])[0], found["made"])

    pruned = authorizer.store.write(authorizer.tenant, work, commit=not dry_run)
    if pruned.up_to is not None and not dry_run:
        _remove(authorizer, pruned, progress)
    return pruned


def _remove(authorizer: OpenTenant, pruned: Pruned, progress: Callable[[int], None]) -> None:
    gone = 0
    run = partial(cypher.load("log_prune").run, authorizer.store.execute)
    while removed := run(root=authorizer.tenant, made=pruned.made, up_to=pruned.up_to, limit=AT_ONCE)[0]["removed"]:
        gone += removed
        progress(gone)
