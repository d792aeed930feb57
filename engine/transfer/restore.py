"""Restores the revision, history, refusals and request ids of a dump into a new root."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from grantpath import cypher
from grantpath.engine.policy.policy import from_source
from grantpath.engine.policy.rule_graph import rule_graph
from grantpath.engine.tenants import registry
from grantpath.engine.tenants.open_tenant import OpenTenant
from grantpath.engine.tenants.stored_policy import is_same
from grantpath.engine.transfer.dump_files import from_json
from grantpath.engine.transfer.dump_meta import NOTES, DumpMeta, entries
from grantpath.engine.transfer.tables import Column, Table
from grantpath.graph.errors import GrantpathError, InvalidInput
from grantpath.graph.guard.bulk_write import Bulk
from grantpath.graph.guard.transaction import Row, Send, query_by_name

BATCH = 5_000
BATCH_OF_DELTAS = 20  # each can hold 10,000 facts


class NeedsRecreation(Exception):
    """The root is unused, but its revision is not below the dump's; `restore` must create the root again first."""

    def __init__(self, restore: "Restore") -> None:
        super().__init__()
        self.restore = restore


class Restore:
    """One dump and the root that it is loaded into."""

    def __init__(self, authorizer: OpenTenant, directory: Path, meta: DumpMeta) -> None:
        self._target = authorizer
        self._directory = directory
        self._meta = meta
        self._of = sum(meta.counts.get(name, 0) for name in NOTES)

    @property
    def revision(self) -> int:
        """The revision of the dump."""
        return self._meta.revision

    def why_not(self, dry_run: bool) -> str | None:
        """Why the root cannot continue the history of the dump; None if it can. The root's lock must be held.

        Raises NeedsRecreation, unless it is a dry run.
        """
        tenant, policy = self._target.tenant, self._meta.policy
        if not is_same(from_source(policy.source), self._target.policy):
            version = " in another version" if policy.name == self._target.policy.name else ""
            return f"{tenant} has the policy {self._target.policy.name}, but the dump has {policy.name}{version}"
        row = self._read("restore_unused", top=self._target.root.text)
        if not row["unused"]:
            return f"{tenant} has facts or a history of its own"
        if row["revision"] >= self.revision > 0 and not dry_run:
            raise NeedsRecreation(self)
        return None

    def recreate(self) -> None:
        """Creates the root again if it is still unused: one revision must not have two different contents. Raises
        Inconsistent, Unavailable."""
        target = self._target
        registry.remove_unused(
            target.store, target.tenant, lambda: bool(self._read("restore_unused", top=target.root.text)["unused"])
        )
        registry.create(target.store, target.tenant, target.policy, target.root)

    def write(self, bulk: Bulk) -> Iterator[tuple[int, int]]:
        """Writes the entries batch by batch, still invisible; yields the number written and the total. Raises
        InvalidInput."""
        query, done = cypher.load("restore_log"), 0
        for name in NOTES:
            for part in self._parts(name):
                lists = {each: part if each == name else [] for each in NOTES}
                query.run(bulk.write, **bulk.next_batch(), **lists)
                done += len(part)
                yield done, max(done, self._of)

    def _parts(self, name: str) -> Iterator[list[dict[str, Any]]]:
        part: list[dict[str, Any]] = []
        for number, entry in enumerate(entries(self._directory, name), 1):
            try:
                part.append({key: from_json(value) for key, value in entry.items()})
            except (KeyError, TypeError, ValueError):
                raise InvalidInput(
                    f"{self._directory / name}.jsonl:{number}: a value is not a time; dump the root again"
                ) from None
            if len(part) == (BATCH_OF_DELTAS if name == "deltas" else BATCH):
                yield part
                part = []
        if part:
            yield part

    def last(self, ask: Send, _: int) -> None:
        """To be called in the last transaction: sets the revision, the chain and the policy of the dump, which differs
        from that of the root at most by the format of its facts."""
        policy = from_source(self._meta.policy.source)
        if policy.digest != self._target.policy.digest:
            named = query_by_name(ask, self._target.tenant)
            named("set_policy", policy=policy.name, digest=policy.digest, source=policy.source)
            named("write_policy_graph", digest=policy.digest, graph=rule_graph(policy))
        continued = {"revision": self.revision, "chain": self._meta.chain}
        cypher.load("restore_revision").run(ask, root=self._target.tenant, **continued)

    def finish(self, bulk: Bulk) -> None:
        """Makes the restored root visible. Raises Inconsistent or Unavailable if that failed."""
        try:
            bulk.finish(self.last, lambda *_: None)
        except GrantpathError:  # a restore has no log entry, so its outcome is known by the revision only
            with suppress(GrantpathError):
                # read as it is, because facts of the dump may have ended since
                row = self._read("log_entries", after=0, node=-1, limit=0)
                if row["chain"] == self._meta.chain and row["revision"] >= self.revision:
                    return
            raise

    def _read(self, query: str, **parameters: Any) -> Row:
        return cypher.load(query).run(self._target.store.read, root=self._target.tenant, **parameters)[0]


def renamed(tables: dict[str, Table], old: str, new: str) -> dict[str, Table]:
    """The tables with the root object renamed."""
    if old == new:
        return tables
    return {
        name: replace(table, columns={column: _renamed(values, old, new) for column, values in table.columns.items()})
        for name, table in tables.items()
    }


def _renamed(column: Column, old: str, new: str) -> Column:
    return replace(column, values=[new if value == old else value for value in column.values])
