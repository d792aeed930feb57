"""Writes the log of a root: accepted changes, each chained to the one before it, and separately the refusals."""

import uuid
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from grantpath import cypher
from grantpath.engine.change.change_step import ChangeStep, actor_names
from grantpath.engine.change.delta_records import as_properties
from grantpath.engine.change.deltas import Delta, without_owner
from grantpath.engine.change.log_chain import Tail
from grantpath.engine.change.made import Change, MakeChange
from grantpath.engine.change.precheck import PrecheckedWriting
from grantpath.graph.errors import Refused, Unavailable
from grantpath.graph.guard.store import Store
from grantpath.graph.guard.transaction import AskByName, query_by_name

KEPT = 1_000  # refused attempts kept per actor and root; once there are a tenth more, the oldest are removed


def append(ask: AskByName, entries: Sequence[dict[str, Any]]) -> list[str]:
    """Appends entries to the log, in order, and returns their hashes.

    Each entry has a `delta`. `ask` runs a query of cypher/ by its name, under the lock and in the transaction of the
    changes that are logged.
    """
    rows = _linked(ask, entries, Tail.of(ask("log_tail")[0]))
    ask("audit_write", rows=rows)
    return [row["hash"] for row in rows]


def _linked(ask: AskByName, entries: Sequence[dict[str, Any]], tail: Tail) -> list[dict[str, Any]]:
    """The entries with their hashes, as they are stored. Writes the :Delta nodes of long deltas."""
    rows: list[dict[str, Any]] = []
    for entry in entries:
        columns = {name: value for name, value in entry.items() if name != "delta"}
        properties, parts = as_properties(columns, entry["delta"])
        rows.append(tail.link({**columns, **properties}))
        for part in parts:
            ask("delta_write", rows=[part])
    return rows


def whole(revision: int, id_: str, statement: str, by: str | None, delta: Delta) -> dict[str, Any]:
    """The log entry of an operation on the whole root (a load, an upgrade, a pruning). `by` is the operator."""
    return {
        "revision": revision,
        "id": id_,
        "actor": by,
        "as_role": None,
        "statement": statement,
        "object": None,
        "subject": None,
        "delta": delta,
    }


def record(writing: PrecheckedWriting, steps: Sequence[ChangeStep], ids: Sequence[str]) -> list[Change]:
    """Logs the steps that changed anything, in order. Returns a Change for each step."""
    changes: list[Change] = []
    entries: list[dict[str, Any]] = []
    for step, id_ in zip(steps, ids, strict=True):
        if not step.changed:
            changes.append(Change(id=None, revision=writing.revision, question=MakeChange.of(step.text, step.actor)))
            continue
        if step.change.until:
            writing.note_end(step.change.until)
        revision, question = writing.next_revision(), MakeChange.of(step.text, step.actor)
        kept_grants, kept_memberships = step.kept
        delta = step.delta or Delta()
        changes.append(
            Change(
                id=id_,
                revision=revision,
                question=question,
                kept_grants=kept_grants,
                kept_memberships=kept_memberships,
                without_owner=without_owner(delta) if step.change.kind == "drop" else [],
            )
        )
        entries.append({"revision": changes[-1].revision, "id": id_, **_columns(step), "delta": delta})
    if not entries:
        return changes
    asked = query_by_name(writing.ask, writing.root)
    rows = _linked(asked, entries, Tail.of(writing.tail or asked("log_tail")[0]))
    writing.write_log(rows)
    hashes = iter(row["hash"] for row in rows)
    return [each.model_copy(update={"hash": next(hashes)}) if each.id else each for each in changes]


def refuse(store: Store, root: str, step: ChangeStep, error: Refused, revision: int, request: str | None) -> None:
    """Logs a refused attempt with the request id `request`. Ignores a failure: the attempt stays refused."""
    with suppress(Unavailable):
        cypher.load("refusal_write").run(
            store.execute,
            root=root,
            revision=revision,
            id=uuid.uuid4().hex,
            request=request,
            reason=str(error),
            keep=KEPT,
            **_columns(step),
        )


def _columns(step: ChangeStep) -> dict[str, str | None]:
    """The actor and the statement of a log entry."""
    change, (by, as_role) = step.change, actor_names(step.actor)
    return {
        "actor": by,
        "as_role": as_role,
        "statement": step.text,
        "object": change.object.text,
        "subject": change.subject.text if change.subject else None,
    }
