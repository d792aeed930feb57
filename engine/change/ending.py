"""Removes grants and memberships whose end has come. The first question or change after an end does this.

An end is a change like others: it has a revision, an entry in the log and a delta, so every reader of the log sees it.
Its entry is dated to the end itself, with the time at which it was written beside it.
"""

import uuid
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from grantpath.engine.change.audit_writer import append, whole
from grantpath.engine.change.deltas import delta_of
from grantpath.engine.policy.policy import Policy, from_source
from grantpath.graph.guard.transaction import Writing, query_by_name
from grantpath.graph.language.stored_fact import StoredFact, fact_in, fact_text

PIECE = 5_000  # facts that one transaction removes
ENDED = "ended: "  # with which the log entry about a single fact begins


def end_due(writing: Writing, policy: Policy | None = None) -> bool:
    """Removes at most PIECE facts that have ended, the earliest ends first, and logs one entry for each end.

    `policy` is read from the root if it is None. Returns false if no fact has ended.
    """
    ask = query_by_name(writing.ask, writing.root)
    facts = [fact_in(row) for row in ask("due_facts", limit=PIECE)]
    if not facts:
        return False
    policy = policy or from_source(ask("tenant_policy")[0]["source"])
    members = [{"subject": subject, "container": of} for kind, _, subject, of, _ in facts if kind == "MEMBER"]
    grants = [
        {"effect": kind, "privilege": privilege, "object": object_, "subject": subject}
        for kind, privilege, subject, object_, _ in facts
        if kind != "MEMBER"
    ]
    if grants:
        ask("revoke", rows=grants, kept=policy.hidden, log=[])
    if members:
        ask("leave", rows=members, log=[])
    append(ask, [_entry(writing, policy, end, list(ended)) for end, ended in groupby(facts, lambda fact: fact[4])])
    return True


def _entry(writing: Writing, policy: Policy, end: str, ended: list[StoredFact]) -> dict[str, Any]:
    """The entry of the log about the facts of one end."""
    [first, *more] = ended
    _, _, subject, object_, _ = first
    statement = f"{len(ended):,} facts ended at {end}" if more else f"{ENDED}{fact_text(first)}"
    entry = whole(writing.next_revision(), uuid.uuid4().hex, statement, None, delta_of(policy, [], ended))
    one = {} if more else {"object": object_, "subject": subject}
    return {**entry, **one, "at": datetime.fromisoformat(end).astimezone(UTC)}
