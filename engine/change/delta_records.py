"""Stores the delta of a log entry, and reads the deltas of a log.

The facts of a revision are the facts of the previous revision, without `removed` and with `added`. A short delta is
stored on its :Change node, a long one in separate :Delta nodes; the entry has a hash of their content. In place of a
long one, a rename or a move has `renamed`: the former and the new reference, whatever is below the entity.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grantpath.engine.change.deltas import BULK, Delta
from grantpath.engine.tenants.one_revision import GuardedAsk
from grantpath.engine.tenants.root_name import all_as_named_now
from grantpath.graph.language.reference import Reference

SHORT = 1_000  # a delta with at most this many facts is stored on its :Change node
PART = 10_000  # facts in one :Delta node
PAGE = 500  # entries that one query reads


@dataclass(frozen=True)
class RecordedDelta:
    """The facts that a revision added and removed according to the log, as canonical statements.

    `renamed`: the former and the new reference, if the revision renamed or moved an entity with many facts; the lists
    are then empty, and each fact of the entity and of what is below it is removed and added with its new references.

    `bulk`: the facts are not recorded, because they are too many, an older version wrote the entry, or a pruning is
    removing them now. Readers must then read the graph. `policy` has the sources of the policy before and after, if
    the revision replaced it.
    """

    revision: int
    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    renamed: list[str] = field(default_factory=list)
    bulk: bool = False
    policy: tuple[str, str] | None = None


def as_properties(entry: Mapping[str, Any], delta: Delta) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The properties that store a delta on its entry, and the :Delta nodes. The property `touched` has the references
    other than the entry's object and subject."""
    facts = len(delta.added) + len(delta.removed)
    if delta.bulk or facts > BULK:
        return {"bulk": True}, []
    touched = [ref for ref in delta.touched if ref not in (entry["object"], entry["subject"])]
    kept: dict[str, Any] = {"renamed": [*delta.renamed]} if delta.renamed else {"facts": facts}
    if (len(touched) if delta.renamed else facts) <= SHORT:
        lists = {"added": delta.added, "removed": delta.removed, "touched": touched}
        return {**kept, **{name: each for name, each in lists.items() if each}}, []
    parts = [
        {"revision": entry["revision"], "part": at, **content}
        for at, content in enumerate(_contents(delta.added, delta.removed, touched))
    ]
    return {**kept, "parts": len(parts), "facts_hash": parts_hash(parts)}, parts


def _contents(added: list[str], removed: list[str], touched: list[str]) -> Iterator[dict[str, list[str]]]:
    """The lists in parts. `removed` comes first, because readers apply it before `added`."""
    for name, texts in (("removed", removed), ("added", added), ("touched", touched)):
        for at in range(0, len(texts), PART):
            yield {"added": [], "removed": [], "touched": [], name: texts[at : at + PART]}


def parts_hash(parts: Sequence[Mapping[str, Any]]) -> str:
    """The sha256 of the contents of an entry's :Delta nodes, in order."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(json.dumps([part["added"], part["removed"], part["touched"]]).encode())
    return digest.hexdigest()


def read_parts(ask: GuardedAsk, revision: int, count: int) -> list[Mapping[str, Any]]:
    """The :Delta nodes of an entry, in order; fewer than `count` if some are missing."""
    found = (ask("delta_part", at=revision, part=part)["content"] for part in range(count))
    return [content for content in found if content is not None]


def recorded(ask: GuardedAsk, after: int, root: Reference) -> Iterator[RecordedDelta]:
    """The deltas of revisions after `after`, oldest first, with the present name `root` of the root object.

    `ask` runs a guarded query. Raises the errors of `ask`.
    """
    while entries := ask("log_deltas", after=after, limit=PAGE)["entries"]:
        for entry in entries:
            assert entry["revision"] > after, "the pages of the log are not in order"  # or the loop could be endless
            after = entry["revision"]
            yield _read(ask, entry, root)


def _read(ask: GuardedAsk, entry: Mapping[str, Any], root: Reference) -> RecordedDelta:
    revision = entry["revision"]
    policy = (entry["policy_before"], entry["policy_after"]) if entry["policy_after"] is not None else None
    if entry["renamed"]:
        return RecordedDelta(revision, renamed=entry["renamed"])
    if entry["facts"] is None:
        return RecordedDelta(revision, bulk=True, policy=policy)
    lists = [entry, *read_parts(ask, revision, entry["parts"] or 0)]
    added, removed = ([text for each in lists for text in each[name] or ()] for name in ("added", "removed"))
    if len(added) + len(removed) != entry["facts"]:
        return RecordedDelta(revision, bulk=True, policy=policy)
    return RecordedDelta(revision, all_as_named_now(added, root), all_as_named_now(removed, root), policy=policy)
