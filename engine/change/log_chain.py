"""The chain of the log: each entry holds the hash of the entry before it and a hash of its own content.

A hash is the sha256 of the chain's name and of all properties of the entry except `hash` and `root`, sorted by name.
The chain's name identifies the root: it consists of the root's key and its creation id, and a restored root keeps it.
So if an entry is changed, removed, inserted or moved, the hashes after it no longer match, and the hash of the newest
entry, stored elsewhere, proves all entries up to it.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from grantpath.graph.messages import short

NOT_HASHED = ("hash", "root")
FIRST = ""  # `previous` of the first entry of a chain
SHOWN = 20  # the number of problems listed
Entry = Mapping[str, Any]


def entry_hash(chain: str, entry: Entry) -> str:
    """The hash of an entry, given by its properties, in hexadecimal."""
    fields = {name: _plain(value) for name, value in entry.items() if name not in NOT_HASHED and value is not None}
    return hashlib.sha256(json.dumps([chain, fields], sort_keys=True).encode()).hexdigest()


def _plain(value: Any) -> Any:
    """A property as JSON. Different properties give different JSON: a type that JSON lacks becomes a map, and no
    property is a map."""
    from neo4j.time import DateTime

    match value:
        case DateTime() if value.tzinfo:
            return _moment(value.astimezone(UTC).to_native(), value.nanosecond)
        case datetime() if value.tzinfo:
            return _moment(value.astimezone(UTC), value.microsecond * 1000)
        case None | bool() | int() | float() | str():
            return value
        case list():
            return [_plain(each) for each in value]
        case _:
            return {type(value).__name__: str(value)}


def _native(at: Any) -> datetime:
    native: datetime = at.to_native().astimezone(UTC)
    return native


def _moment(at: datetime, nanosecond: int) -> dict[str, str]:
    return {"at": f"{at:%Y-%m-%dT%H:%M:%S}.{nanosecond:09}"}


@dataclass
class Tail:
    """The end of the log: the chain's name, the hash of its newest entry (None: no entry has one yet), the number of
    entries without a hash, the time of the write by the server's clock, and the time of the newest entry."""

    chain: str
    head: str | None
    unchained: int | None
    at: datetime
    newest: datetime | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Tail":
        """The tail in a row of log_tail.cypher."""
        newest = row["newest"] and _native(row["newest"])
        return cls(row["chain"], row["head"], row["unchained"], _native(row["at"]), newest)

    def link(self, entry: Entry) -> dict[str, Any]:
        """The entry with its time, the hash before it and its own hash; it becomes the new end of the log.

        An entry about an end has a time already, and also gets the time at which it is written. The times of the log
        are in order: if a load ran when the facts ended, their entry gets the time of the load.
        """
        linked = {**entry, "previous": self.head or FIRST}
        if "at" in entry:
            linked["written_at"] = self.at
            linked["at"] = max(entry["at"], self.newest or entry["at"])
        else:
            linked["at"] = self.at
        self.newest = linked["at"]
        if self.head is None:
            linked["unchained"] = self.unchained
        self.head = linked["hash"] = entry_hash(self.chain, linked)
        return linked


@dataclass
class Walk:
    """Follows a chain entry by entry, oldest first, and collects its problems.

    `begins` is the first entry with a hash; `unchained` counts the entries before it. `found` is the revision of the
    entry with the hash `head`. `pruned` is the newest entry that records a pruning.
    """

    chain: str
    head: str | None = None
    problems: list[str] = field(default_factory=list)  # the first SHOWN
    wrong: int = 0
    entries: int = 0
    unchained: int = 0
    begins: Entry | None = None
    newest: str | None = None
    revision: int | None = None  # of the newest entry with a hash
    found: int | None = None
    pruned: Entry | None = None

    def step(self, entry: Entry) -> None:
        """Checks the next entry; entries must be sorted by revision."""
        own = entry.get("hash")
        if own is None:
            if self.begins is None:
                self.unchained += 1
            else:
                self.note(entry, "has no hash: it was inserted, or an older version of grantpath wrote it")
            return
        if self.begins is None:
            self.begins = entry
        elif entry.get("previous") != self.newest:
            self.note(entry, "does not follow the entry before it: an entry was removed, inserted or moved")
        if entry_hash(self.chain, entry) != own:
            self.note(entry, "does not match its hash: it was changed, or it belongs to another root")
        self.entries += 1
        self.newest, self.revision = own, entry.get("revision")
        if own == self.head:
            self.found = self.revision
        if "pruned_hash" in entry:
            self.pruned = entry

    def end(self) -> None:
        """Checks the beginning of the log, and whether it contains the head. Must be called after the last entry."""
        if self.begins is not None:
            self._check_beginning(self.begins)
        if self.head is not None and self.found is None:
            self._check_head(self.head)

    def _check_head(self, head: str) -> None:
        if self.pruned is not None and self.pruned["pruned_hash"] == head:
            self.found = self.pruned["pruned_revision"]
            return
        pruned = f", or the entry was pruned (up to revision {self.pruned['pruned_revision']})" if self.pruned else ""
        self._report(
            f"no entry has the hash {short(head)}: the newest entries were removed, or the chain was rebuilt from some"
            f" entry on{pruned}"
        )

    def _check_beginning(self, first: Entry) -> None:
        if first.get("previous") == FIRST:
            if first.get("unchained") != self.unchained:
                self._report(
                    f"{self.unchained} entries precede the first one with a hash, which recorded"
                    f" {first.get('unchained')}: entries before it were removed or inserted"
                )
        elif self.pruned is None:
            self.note(first, "is the first entry, but has the hash of an earlier one: entries before it were removed")
        elif self.unchained:
            self.note(first, "is the first entry after a pruning, but entries without a hash precede it")
        elif _is_after(first, self.pruned) and first.get("previous") != self.pruned["pruned_hash"]:
            self.note(first, "does not follow the last pruned entry: entries between them were removed")

    def note(self, entry: Entry, what: str) -> None:
        """Adds a problem of an entry."""
        self._report(f"revision {entry.get('revision')} ({short(str(entry.get('id')))}) {what}")

    def _report(self, what: str) -> None:
        self.wrong += 1
        if len(self.problems) < SHOWN:
            self.problems.append(what)


def _is_after(first: Entry, pruned: Entry) -> bool:
    """Whether `first` comes after the pruned entries. An interrupted pruning leaves some of them."""
    revision, up_to = first.get("revision"), pruned.get("pruned_revision")
    return not (isinstance(revision, int) and isinstance(up_to, int) and revision <= up_to)


def walk(chain: str, entries: Iterable[Entry], head: str | None = None) -> Walk:
    """Follows these entries, which are sorted by revision. The chain is intact if the result has no problems."""
    walked = Walk(chain, head)
    for entry in entries:
        walked.step(entry)
    walked.end()
    return walked
