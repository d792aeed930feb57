"""Verifies the chain of a root's log, also against a hash that was stored elsewhere (a head)."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from grantpath.engine.change.audit_log import in_utc
from grantpath.engine.change.delta_records import parts_hash, read_parts
from grantpath.engine.change.log_chain import Entry, Walk
from grantpath.engine.tenants.one_revision import GuardedAsk
from grantpath.graph.errors import Inconsistent, InvalidInput
from grantpath.graph.messages import short

PAGE = 5_000
TRIES = 3
_HASH = re.compile(r"[0-9a-f]{64}\Z")
UNSEEN = (
    "without a head, it cannot be detected that the newest entries were removed",
    "without a head, it cannot be detected that the chain was rebuilt from some entry on",
)


@dataclass(frozen=True)
class Pruning:
    """A pruning of the log: the last removed revision, the time, and the operator if one was named."""

    up_to: int
    at: datetime
    by: str | None


@dataclass(frozen=True)
class LogCheck:
    """The result of a verification; its truth value is `intact`.

    `problems` lists the altered entries, limited to the first ones. `unseen` lists the alterations that cannot be
    detected without a head. `entries` counts the entries with a hash; `unchained` counts those that are older than the
    chain and are not proven. `begins` is the revision of the first entry with a hash; `revision` and `head` are the
    revision and the hash of the newest. `proven` is the revision of the entry with the given head: that entry and all
    earlier ones are unaltered; None without a head. `chain` names the root in which the log began. `pruned` is the
    newest pruning.
    """

    intact: bool
    entries: int
    unchained: int
    begins: int | None
    revision: int | None
    head: str | None
    proven: int | None
    chain: str
    pruned: Pruning | None
    problems: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.intact


def verify(ask: GuardedAsk, head: str | None, progress: Callable[[int], None]) -> LogCheck:
    """Follows the whole log; `ask` runs a guarded query, `progress` receives the number of entries read.

    Raises InvalidInput if `head` is not a hash, Unknown, Inconsistent, Unavailable.
    """
    if head is not None and not (isinstance(head, str) and _HASH.match(head)):
        raise InvalidInput(f"head={short(repr(head))} is not a hash; write the 64 hex digits that a change returned")
    for _ in range(TRIES):
        walk, began = _follow(ask, head, progress)
        pruned_meanwhile = walk.pruned is not None and walk.pruned["revision"] > began
        if not (walk.problems and pruned_meanwhile):
            return _checked(walk)
    raise Inconsistent("the log was pruned while it was verified; verify it again")


def _follow(ask: GuardedAsk, head: str | None, progress: Callable[[int], None]) -> tuple[Walk, int]:
    """The walk along all entries, and the revision at its start."""
    page = ask("log_entries", after=-(2**62), node=-1, limit=PAGE)
    walk, began, made = Walk(page["chain"], head), page["revision"], page["made"]
    read = 0
    while True:
        for row in page["entries"]:
            walk.step(row["entry"])
            _check_parts(ask, walk, row["entry"])
        read += len(page["entries"])
        progress(read)
        if len(page["entries"]) < PAGE:
            walk.end()
            return walk, began
        last: Entry = page["entries"][-1]
        page = ask("log_entries", after=last["entry"]["revision"], node=last["node"], limit=PAGE)
        if page["made"] != made:
            raise Inconsistent("the root was dropped and created again while its log was verified; verify it again")


def _check_parts(ask: GuardedAsk, walk: Walk, entry: Entry) -> None:
    """Compares the :Delta nodes of an entry, if it has any, with the hash of them in the entry."""
    if entry.get("parts") and parts_hash(read_parts(ask, entry["revision"], entry["parts"])) != entry.get("facts_hash"):
        walk.note(entry, "has :Delta nodes that do not match its `facts_hash`: they were changed or removed")


def _checked(walk: Walk) -> LogCheck:
    more = [f"and {walk.wrong - len(walk.problems):,} more"] if walk.wrong > len(walk.problems) else []
    pruned = walk.pruned
    return LogCheck(
        intact=not walk.wrong,
        entries=walk.entries,
        unchained=walk.unchained,
        begins=walk.begins.get("revision") if walk.begins else None,
        revision=walk.revision,
        head=walk.newest,
        proven=walk.found,
        chain=walk.chain,
        pruned=Pruning(pruned["pruned_revision"], _native(pruned["at"]), pruned.get("actor")) if pruned else None,
        problems=[*walk.problems, *more],
        unseen=[] if walk.head else list(UNSEEN),
    )


def _native(at: Any) -> datetime:
    return in_utc(at if isinstance(at, datetime) else at.to_native())
