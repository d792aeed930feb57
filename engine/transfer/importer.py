"""Bulk import: loads a folder of tables into one root, completely or not at all.

All rows are read and checked against the policy's rules before the root is locked, and checked against the graph before
anything is written. Then only the new facts are written, in batches that readers do not see before the last one
(`graph/guard/bulk_write.py` explains this, and what happens to an interrupted load). An import only adds: it removes
nothing and replaces no owner. With `replace`, it also removes the facts that the tables do not contain. The log has one
entry for the whole import.
"""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grantpath import cypher
from grantpath.engine.change.audit_writer import append, whole
from grantpath.engine.change.change_step import Kept
from grantpath.engine.change.deltas import Delta
from grantpath.engine.change.facts_format import allow_ends
from grantpath.engine.policy.schema import WITH_ENDS
from grantpath.engine.tenants import opening, registry
from grantpath.engine.tenants.open_tenant import OpenTenant
from grantpath.engine.transfer.dump_meta import NOTES, read_meta
from grantpath.engine.transfer.fact_writer import FactWriter, note_removals
from grantpath.engine.transfer.import_delta import DeltaBuilder
from grantpath.engine.transfer.import_plan import SHOWN, Consent, ImportDelta, Plan, require_consent
from grantpath.engine.transfer.replacing_delta import ReplacingDeltaBuilder
from grantpath.engine.transfer.restore import NeedsRecreation, Restore, renamed
from grantpath.engine.transfer.rows import ResolvedRows
from grantpath.engine.transfer.table_files import chosen, listed, read
from grantpath.engine.transfer.tables import TABLES, Problems, Table
from grantpath.graph.client import telemetry
from grantpath.graph.errors import Inconsistent
from grantpath.graph.guard.bulk_write import Bulk, bulk_write
from grantpath.graph.guard.transaction import Send, query_by_name
from grantpath.graph.language.ends import end_of, seconds_of
from grantpath.graph.messages import counted, printable, short
from grantpath.graph.progress import ReportCount

log = logging.getLogger("grantpath.change")
RESTORE_TRIES = 3  # attempts to recreate an unused root for a dump, while other callers write to it


@dataclass(frozen=True)
class LoadReport:
    """The number of rows by table, whether they changed anything, and the root's revision now.

    `added` and `removed` count entities, memberships, owners and grants, without the edges that disappear with a
    removed entity. `restored`: the dump's revision, history, refusals and request ids were restored, too; if they were
    not, `note` gives the reason. `duplicates`: the number of rows that repeat an earlier row, by table. `plan` is set
    by a dry run, which writes nothing: it has all additions and removals, and `changed` says whether there are any.
    `hash` is the hash of the log entry, None if nothing changed or a dump was restored. `delta` is set by a dry run
    that lists facts. `kept_grants` and `kept_memberships`: how many grants and memberships the created names had
    before. They count from now on, with what was meant when they were written. `staying`: the entities that a
    replacement of some tables did not find in them, and did not remove because facts of the other tables name them.
    `past`: the facts that were not loaded because their end is past, as statements.
    """

    rows: dict[str, int]
    changed: bool
    revision: int
    added: int
    removed: int
    duplicates: dict[str, int] = field(default_factory=dict)
    restored: bool = False
    note: str | None = None
    plan: Plan | None = field(default=None, compare=False, repr=False)
    hash: str | None = field(default=None, compare=False)
    delta: Delta | None = field(default=None, compare=False, repr=False)
    kept_grants: int = 0
    kept_memberships: int = 0
    staying: Sequence[str] = ()
    past: Sequence[str] = ()

    @property
    def taken_over(self) -> str | None:
        """What the created names had already; None if nothing."""
        kept = Kept(self.kept_grants, self.kept_memberships).text
        return f"names that {'it would create' if self.plan else 'it created'} have {kept}" if kept else None

    @property
    def omitted(self) -> str | None:
        """The facts that were not loaded because their end is past, the first ones by name; None if there are none."""
        if not self.past:
            return None
        facts = _first_of(self.past, "; ")
        return f"{counted(len(self.past), 'rows')} not loaded, whose end is past: {facts}"

    @property
    def stays(self) -> str | None:
        """What is not in the tables and was not removed, the first ones by name; None if nothing."""
        if not self.staying:
            return None
        return f"not in the tables, but other facts name them, so they stay: {_first_of(self.staying, ', ')}"


def _first_of(texts: Sequence[str], separator: str) -> str:
    more = f", ... and {len(texts) - SHOWN:,} more" if len(texts) > SHOWN else ""
    return separator.join(map(printable, texts[:SHOWN])) + more


def load(
    authorizer: OpenTenant,
    directory: Path,
    progress: ReportCount | None = None,
    replace: bool = False,
    *,
    dry_run: bool = False,
    consent: Consent = False,
    by: str | None = None,
    list_facts: bool = False,
    only: Collection[str] | None = None,
) -> LoadReport:
    """Loads the tables in `directory` into the authorizer's root; with `replace`, the root then has no other facts.

    `by` is the operator named in the log; it needs no authority. `progress` receives the step (reading, checking,
    undoing, writing, writing history, removing), the amount done and the total. `dry_run` writes nothing and reports a
    `plan`; with `list_facts` also the `delta`, which has all facts that the import would add and remove.

    A replacement needs `consent` if it removes more than a tenth of a table, or anything at all while a table file is
    missing. `consent` is True, or a function that receives the plan of each replacement that removes anything and
    returns True.

    `only` names the tables to load, e.g. `["subjects", "members"]`; the other files are not read, and the facts of the
    other tables stay as they are. A replacement removes what the named tables do not list, except entities that facts
    of the other tables name: `staying` in the report. The history of a dump is then not restored.

    Raises InvalidInput for missing consent, for a table in `only` that is unknown or has no file, and for a wrong
    folder, file or row, with the file and the line; Inconsistent if another load is running; Unavailable. After an
    error the root is unchanged, unless `Unavailable.unknown` is true.

    The files of a dump (exporter.py) are verified by their sha256. If the root is new and has the
    dump's policy, the dump is restored: the root gets the dump's revision, history, refusals and request ids, and no
    log entry for the load itself. Any other root gets only the facts.
    """
    listed(directory)  # a wrong folder is refused before its name is used
    with telemetry.span("load", authorizer.tenant) as span:
        work = _Load(authorizer, directory, progress or (lambda *_: None), replace, by, only)
        done = _load(work, dry_run, consent, list_facts)
        span.set(revision=done.revision, changed=done.changed, added=done.added, removed=done.removed, dry_run=dry_run)
    if not dry_run:
        changed = done.added, done.removed, done.revision
        log.info("loaded %s: %d added, %d removed, revision %d", authorizer.tenant, *changed)
    return done


def _load(work: "_Load", dry_run: bool, consent: Consent, list_facts: bool) -> LoadReport:
    for _ in range(RESTORE_TRIES):
        try:
            return work.run(dry_run, consent, list_facts)
        except NeedsRecreation as unused:
            unused.restore.recreate()
    raise Inconsistent("another caller keeps writing to the same root; load it again later")


class _Load:
    def __init__(
        self,
        authorizer: OpenTenant,
        directory: Path,
        progress: ReportCount,
        replace: bool,
        by: str | None,
        only: Collection[str] | None,
    ) -> None:
        self._only = None if only is None else chosen(only)
        self._loaded = self._only or list(TABLES)
        self._replace = replace
        self._by = authorizer.operator(by)
        self._authorizer = authorizer
        self._store = authorizer.store
        self._tenant = authorizer.tenant
        self._policy = authorizer.policy
        self._root = authorizer.root
        self._directory = directory
        self._progress = progress
        options = ["--replace"] * replace + [f"--only {','.join(self._loaded)}"] * (self._only is not None)
        self._what = " ".join(["load", *options, short(directory.resolve().name)])
        self._meta = read_meta(directory)
        self.restore = Restore(authorizer, directory, self._meta) if self._meta else None
        self._restores = False  # whether the rows were resolved to be restored with their history

    def run(self, dry_run: bool, consent: Consent, list_facts: bool) -> LoadReport:
        problems = Problems()
        tables = self._tables(problems)
        rows = self._resolve(tables, problems)
        counts, twice = {name: len(tables[name]) for name in self._loaded}, rows.duplicates()
        if rows.has_ends and not dry_run:
            self._require_format()
        with bulk_write(self._store, self._tenant, self._what, self._undoing) as bulk:
            builder = self._builder(rows, problems)
            delta = builder.delta()
            self._progress("checking", len(tables) + 1, len(tables) + 1)
            note = self._why_not_restored(dry_run)
            restores = self.restore is not None and note is None
            if restores != self._restores and rows.ending:
                raise Inconsistent(f"{self._tenant} was changed by another writer meanwhile; load it again")
            details: dict[str, Any] = {"duplicates": twice, "restored": restores, "note": note}
            details["kept_grants"], details["kept_memberships"] = builder.kept(delta)
            details["staying"] = builder.staying()
            details["past"] = tuple(rows.past)
            if dry_run:
                details["plan"] = builder.plan(delta)
                details["delta"] = builder.recorded(delta, every=True) if list_facts else None
                return LoadReport(
                    counts, bool(delta.size or restores), bulk.revision, delta.added, delta.removed, **details
                )
            if not (delta.size or restores):
                return LoadReport(counts, False, bulk.revision, 0, 0, **details)
            if self._replace and delta.removed:
                require_consent(builder.plan(delta), consent, self._what)
            revision, hash_ = self._put_all(bulk, delta, builder, rows, sum(counts.values()), restores)
        return LoadReport(counts, True, revision, delta.added, delta.removed, **details, hash=hash_)

    def _require_format(self) -> None:
        """Raises the format of the root's facts, unless a dump is restored, which does that itself."""
        if self._restores:
            registry.create_schema(self._store)  # a database of an older version has no index of ends
        elif self._policy.facts_format < WITH_ENDS:
            allow_ends(self._authorizer)
            self._authorizer.adopt()
            self._policy = self._authorizer.policy

    def _why_not_restored(self, dry_run: bool) -> str | None:
        """Why a dump is not restored; None if it is, and for another folder. Raises NeedsRecreation."""
        if self.restore is None:
            return None
        return f"only {', '.join(self._only)} are loaded" if self._only else self.restore.why_not(dry_run)

    def _tables(self, problems: Problems) -> dict[str, Table]:
        """The tables of the folder; in those of a dump, the dump's root is replaced by this root."""
        beside = [f"{name}.jsonl" for name in NOTES] if self._meta else []
        tables = read(
            self._directory, problems, lambda done, of: self._progress("reading", done, of), beside, self._only
        )
        return renamed(tables, self._meta.root, self._root.text) if self._meta else tables

    def _undoing(self, done: int, of: int) -> None:
        self._progress("undoing", done, of)

    def _builder(self, rows: ResolvedRows, problems: Problems) -> DeltaBuilder:
        """Compares the rows with the graph. Raises InvalidInput with all bad rows, Unknown, Inconsistent."""
        kept = registry.find(self._store, self._tenant)
        opening.check_policy(kept["digest"] if kept else "", self._policy, self._tenant)
        if not registry.exists(self._store.read, self._tenant, self._root.text):
            raise registry.dropped(self._tenant)
        known = self._store, self._tenant, self._policy, rows
        builder = ReplacingDeltaBuilder(*known, self._loaded) if self._replace else DeltaBuilder(*known)
        builder.check(problems)
        problems.raise_any()
        return builder

    def _put_all(
        self, bulk: Bulk, delta: ImportDelta, builder: DeltaBuilder, rows: ResolvedRows, of: int, restores: bool
    ) -> tuple[int, str | None]:
        """Writes and removes; returns the revision and the hash of the log entry."""
        bulk.begin(min((seconds_of(end) for end in builder.ends(delta)), default=None))
        FactWriter(builder, rows.labels, self._policy, self._progress).write(bulk, delta)
        note_removals(bulk, delta.removals)
        if self.restore and restores:
            for done, entries in self.restore.write(bulk):
                self._progress("writing history", done, entries)
            self.restore.finish(bulk)
            return self.restore.revision, None
        statement = f"{self._what}: {counted(of, 'rows')}, {self._changed(delta)}"
        recorded, hashes = builder.recorded(delta), list[str]()

        def last(ask: Send, revision: int) -> None:
            entry = whole(revision, bulk.id, statement, self._by, recorded)
            hashes[:] = append(query_by_name(ask, self._tenant), [entry])

        return bulk.finish(last, lambda done, of: self._progress("removing", done, of)), hashes[0]

    def _changed(self, delta: ImportDelta) -> str:
        return f"{delta.added:,} added" + (f", {delta.removed:,} removed" if self._replace else "")

    def _resolve(self, tables: dict[str, Table], problems: Problems) -> ResolvedRows:
        done: list[str] = []

        def step(table: str) -> None:
            done.append(table)
            self._progress("checking", len(done), len(tables) + 1)

        # a dump that is restored keeps facts that have ended since: their ends are made afterwards
        self._restores = self.restore is not None and self._why_not_restored(dry_run=True) is None
        now = (
            None if self._restores else end_of(cypher.load("clock").run(self._store.read, root=self._tenant)[0]["now"])
        )
        rows = ResolvedRows(self._policy, self._root, tables, problems, step, now)
        rows.of_dump = self._meta is not None
        return rows
