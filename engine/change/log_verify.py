"""Verifies the chain of a root's log, as far as it is there and as far as a head that was kept elsewhere proves it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from grantpath.engine.change.audit_log import in_utc
from grantpath.engine.change.log_chain import Entry, Walk
from grantpath.engine.tenants.one_revision import GuardedAsk
from grantpath.graph.errors import Inconsistent, InvalidInput
from grantpath.graph.messages import short

PAGE = 5_000
TRIES = 3
_HASH = re.compile(r"[0-9a-f]{64}\Z")
UNSEEN = (
    "without a head it cannot be seen that the newest entries were removed",
    "without a head it cannot be seen that the chain was built anew from some entry on",
)


@dataclass(frozen=True)
class Pruning:
    """A pruning of the log: entries up to the revision `up_to` were removed, when, and by whom if that was given."""

    up_to: int
    at: datetime
    by: str | None


@dataclass(frozen=True)
class LogCheck:
    """Whether a log is as it was written; its truth value is `intact`.

    `problems` says which entries were altered, and how; of very many the first ones. `unseen` says which alterations
    cannot be seen for want of a head. `entries` have a hash; `unchained` are from before there were hashes, and are not
    proven. `begins` is the revision of the first entry, `revision` and `head` those of the newest. `proven` is the
    revision of the entry that has the given head: it and all before it are as they were; None without a head. `chain`
    names the root in which the log began. `pruned` is the newest pruning.
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
    """Follows the whole log; `ask` asks a guarded query, `progress` is given the entries read.

    Raises InvalidInput for what is not a hash, Unknown, Inconsistent, Unavailable.
    """
    if head is not None and not (isinstance(head, str) and _HASH.match(head)):
        raise InvalidInput(f"head={short(repr(head))} is not a hash; write the 64 digits that a change returned")
    for _ in range(TRIES):
        walk, began = _follow(ask, head, progress)
        pruned_meanwhile = walk.pruned is not None and walk.pruned["revision"] > began
        if not (walk.problems and pruned_meanwhile):
            return _checked(walk)
    raise Inconsistent("the log was pruned while it was verified; verify it again")


def _follow(ask: GuardedAsk, head: str | None, progress: Callable[[int], None]) -> tuple[Walk, int]:
    """The walk along all entries, and the revision at which it began."""
    page = ask("log_entries", after=-(2**62), node=-1, limit=PAGE)
    walk, began, made = Walk(page["chain"], head), page["revision"], page["made"]
    read = 0
    while True:
        for row in page["entries"]:
            walk.step(row["entry"])
        read += len(page["entries"])
        progress(read)
        if len(page["entries"]) < PAGE:
            walk.end()
            return walk, began
        last: Entry = page["entries"][-1]
        page = ask("log_entries", after=last["entry"]["revision"], node=last["node"], limit=PAGE)
        if page["made"] != made:
            raise Inconsistent("the root was dropped and made again while its log was verified; verify it again")


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
