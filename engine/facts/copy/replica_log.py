"""Reads the revision marks and the log of a root, which prove that a copy is current, or bring it up to date."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from grantpath import cypher
from grantpath.engine.facts.set.fact_version import FactOrigin, FactVersion
from grantpath.engine.tenants.root_name import all_as_named_now
from grantpath.graph.guard.store import Store
from grantpath.graph.language.reference import Reference
from grantpath.graph.language.stored_fact import fact_in, fact_text

SETTLE_SECONDS = 10.0  # how long a reader waits for a moment without a writer
MOST_ENDED = 5_000  # facts that have ended, which a question leaves out
COMMIT_SECONDS = 0.2  # how long a question waits for the end of a commit, before the database answers it
COMMIT_PAUSE = 0.004  # seconds between two looks at it; a short commit takes a few of these
PAUSE, LONGEST_PAUSE = 0.002, 0.1  # seconds between two tries


@dataclass(frozen=True, slots=True)
class Proof:
    """The revision marks of a root, and the entries of its log after a revision: at most `limit`, oldest first."""

    revision: int
    begun: int
    due: bool
    origin: FactOrigin
    after: int
    entries: list[Mapping[str, Any]]
    limit: int

    @property
    def settled(self) -> bool:
        """Whether no writer was in the middle of a commit."""
        return self.begun == self.revision

    @property
    def reached(self) -> int:
        """The revision to which the entries lead. A later entry may be in the middle of its commit."""
        return self.revision if len(self.entries) < self.limit else min(self.revision, self.entries[-1]["revision"])

    @property
    def complete(self) -> bool:
        """Whether the entries lead to the revision of the root."""
        return self.reached == self.revision

    def confirms(self, version: FactVersion) -> bool:
        """Whether the root is at the revision of this version."""
        return self.revision == version.revision and self.origin == version.origin

    @property
    def may_take_long(self) -> bool:
        """Whether an entry is about many facts: they are stored in parts, or follow from a rename."""
        return any(entry["parts"] or entry["renamed"] for entry in self.entries)

    @property
    def renames(self) -> bool:
        """Whether an entry renames or moves an entity without a list of its facts."""
        return any(entry["renamed"] for entry in self.entries)

    def follows(self, version: FactVersion) -> bool:
        """Whether the entries contain every change since a version at the revision `after`."""
        return (
            self.origin == version.origin
            and self.revision >= version.revision
            and not any((entry["facts"] is None and not entry["renamed"]) or entry["upgrade"] for entry in self.entries)
            and not self._pruned()
        )

    def _pruned(self) -> bool:
        """Whether entries may be missing.

        The entry of a pruning has the last removed revision, but may be on a later page. So if there is a later page,
        each revision must have an entry.
        """
        if self.complete:
            return any((entry["pruned"] or 0) > self.after for entry in self.entries)
        return [entry["revision"] for entry in self.entries if entry["revision"] <= self.reached] != [
            *range(self.after + 1, self.reached + 1)
        ]

    def deltas(self, after: int) -> list[Mapping[str, Any]]:
        """What the entries after a revision added and removed, oldest first."""
        return [
            {"added": entry["added"], "removed": entry["removed"], "renamed": entry["renamed"] or ()}
            for entry in self.entries
            if after < entry["revision"] <= self.reached
        ]


class RootLog:
    """The revision marks and the log of one root. All methods raise Unavailable."""

    def __init__(self, store: Store, tenant: str, root: Reference) -> None:
        self._store = store
        self._root = root
        self._commit = (-1, 0.0)  # the latest begun revision, and until when questions wait for its end
        self.tenant = tenant

    def proof(self, after: int, limit: int, meanwhile: Callable[[], None] | None = None) -> Proof | None:
        """The marks, and at most `limit` entries after a revision; None if there is no such root.

        If possible, `meanwhile` is called while the server works.
        """
        read = partial(self._store.read_values, meanwhile=meanwhile)
        rows = cypher.load("replica_proof").run(read, root=self.tenant, after=after, limit=limit)
        if not rows:
            return None
        [row] = rows
        origin = FactOrigin(row["made"], row["chain"], row["policy"])
        entries = [self._as_named_now(entry) for entry in row["entries"]]
        return Proof(row["revision"], row["begun"], row["due"], origin, after, entries, limit)

    def after_commit(self, after: int, limit: int, meanwhile: Callable[[], None] | None = None) -> Proof | None:
        """The proof, as `proof` returns it. While a writer is in the middle of a commit, it is read again, for at most
        COMMIT_SECONDS: the database could not answer before the end of the commit either. All questions together wait
        only so long for one commit."""
        deadline = time.monotonic() + COMMIT_SECONDS
        while (proof := self.proof(after, limit, meanwhile)) is not None:
            now = time.monotonic()
            if proof.begun != self._commit[0]:
                self._commit = proof.begun, now + COMMIT_SECONDS
            if proof.settled or now > min(deadline, self._commit[1]):
                return proof
            time.sleep(COMMIT_PAUSE)
            meanwhile = None
        return None

    def settled(self, after: int, limit: int) -> Proof | None:
        """Waits until no commit is in progress, and returns the proof of that moment.

        Returns None if a commit is still in progress after SETTLE_SECONDS, e.g. during a load, or if the root does not
        exist.
        """
        deadline, pause = time.monotonic() + SETTLE_SECONDS, PAUSE
        while (proof := self.proof(after, limit)) is not None:
            may_read = self.may_keep_due(proof)
            if proof.settled and may_read:
                return proof
            if time.monotonic() > deadline:
                return None
            if not may_read:
                self._store.end_due(self.tenant)
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        return None

    def may_keep_due(self, proof: Proof) -> bool:
        """Whether a copy may be read that has the facts which had ended at a proof: there are none, or the database
        user may not remove them. If the user may, some of them are removed."""
        return not proof.due or not self._store.end_some(self.tenant)

    def ended(self, proof: Proof) -> tuple[str, ...] | None:
        """The facts that have ended, but are stored at the revision of a proof, as statements.

        Returns None if they are more than MOST_ENDED, or if another client has begun to remove them.
        """
        found = cypher.load("due_facts").run(self._store.read_values, root=self.tenant, limit=MOST_ENDED + 1)
        again = self.proof(proof.revision, 0)
        if again is None or len(found) > MOST_ENDED:
            return None
        if (again.revision, again.begun, again.origin) != (proof.revision, proof.begun, proof.origin):
            return None
        return tuple(sorted(fact_text(fact_in(row)) for row in found))

    def with_parts(self, proof: Proof) -> Proof:
        """The proof, with the facts of long deltas in its entries."""
        entries = proof.entries
        return replace(
            proof,
            entries=[self._with_parts(each) if each["parts"] and not each["renamed"] else each for each in entries],
        )

    def _with_parts(self, entry: Mapping[str, Any]) -> Mapping[str, Any]:
        delta: dict[str, list[str]] = {"added": [], "removed": []}
        for part in range(entry["parts"]):
            rows = cypher.load("delta_part").run(self._store.read, root=self.tenant, at=entry["revision"], part=part)
            content = rows[0]["content"] if rows else None
            if content is None:
                return {**entry, "facts": None}  # pruned in the meantime
            for name, facts in delta.items():
                facts += content[name]
        return self._as_named_now({**entry, **delta, "parts": None})

    def _as_named_now(self, entry: Mapping[str, Any]) -> Mapping[str, Any]:
        """The entry with the present name of the root object in its facts."""
        return {**entry, **{name: all_as_named_now(entry[name] or (), self._root) for name in ("added", "removed")}}
