"""Writes the log of a root: accepted changes, each chained onto the one before it, and apart from them refusals."""

import uuid
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from grantpath import cypher
from grantpath.engine.change.idempotency import Change, ask
from grantpath.engine.change.log_chain import Tail
from grantpath.engine.change.planned_change import Actor, PlannedChange
from grantpath.graph.errors import Refused, Unavailable
from grantpath.graph.store import Store
from grantpath.graph.transaction import AskByName, Row, Send, Writing

KEPT = 1_000  # refused attempts of one actor in one root; a tenth more before the oldest go


def asking(ask: Send, root: str) -> AskByName:
    """Asks a query of cypher/ about a root by its name."""

    def named(query: str, **parameters: Any) -> list[Row]:
        return cypher.load(query).run(ask, root=root, **parameters)

    return named


def append(ask: AskByName, entries: Sequence[dict[str, Any]], tail: Tail | None = None) -> list[str]:
    """Appends entries to the log, in order, and returns their hashes; `tail` is its end, where that is known.

    `ask` asks a query of cypher/ by its name, in the transaction that makes what the entries say, under the lock.
    """
    tail = tail or Tail.of(ask("log_tail")[0])
    rows = [tail.link(entry) for entry in entries]
    ask("audit_write", rows=rows)
    return [row["hash"] for row in rows]


def whole(revision: int, id_: str, statement: str, by: str | None) -> dict[str, Any]:
    """The entry of a change to the whole root: a load, an upgrade, a pruning. `by`: the operator."""
    return {
        "revision": revision,
        "id": id_,
        "actor": by,
        "as_role": None,
        "statement": statement,
        "object": None,
        "subject": None,
    }


def record(
    writing: Writing, steps: Sequence[PlannedChange], actor: Actor | None, ids: Sequence[str], tail: Tail | None = None
) -> list[Change]:
    """Appends the steps that changed anything to the log, in order. Returns a Change for each step."""
    changes: list[Change] = []
    entries: list[dict[str, Any]] = []
    for step, id_ in zip(steps, ids, strict=True):
        if not step.changed:
            changes.append(Change(None, writing.revision))
            continue
        changes.append(Change(id_, writing.next_revision()))
        entries.append({"revision": changes[-1].revision, "id": id_, **_columns(step, actor)})
    hashes = iter(append(partial(ask, writing), entries, tail) if entries else [])
    return [Change(each.id, each.revision, hash=next(hashes)) if each.id else each for each in changes]


def refuse(
    store: Store, root: str, step: PlannedChange, actor: Actor, error: Refused, revision: int, request: str | None
) -> None:
    """Notes a refused attempt, made under the id `request`; where that fails it is refused all the same."""
    with suppress(Unavailable):
        cypher.load("refusal_write").run(
            store.execute,
            root=root,
            revision=revision,
            id=uuid.uuid4().hex,
            request=request,
            reason=str(error),
            keep=KEPT,
            **_columns(step, actor),
        )


def _columns(step: PlannedChange, actor: Actor | None) -> dict[str, str | None]:
    """Who asks for what."""
    change = step.change
    return {
        "actor": actor.ref.text if actor else None,
        "as_role": actor.as_role if actor else None,
        "statement": step.text,
        "object": change.object.text,
        "subject": change.subject.text if change.subject else None,
    }
