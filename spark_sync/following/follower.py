"""Keeps a snapshot current by the log's deltas, and records for each revision the access that users gained and lost."""

import gc
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from grantpath.engine.change.delta_records import RecordedDelta, recorded
from grantpath.engine.change.deltas import BULK
from grantpath.engine.facts.compare.comparison import changed_access
from grantpath.engine.facts.set.fact_draft import Contradiction, Facts, advanced, listed_facts
from grantpath.engine.facts.set.fact_set import FactSet
from grantpath.engine.facts.set.fact_version import FactOrigin, FactVersion
from grantpath.engine.facts.snapshot.snapshot_facts import read_snapshot
from grantpath.engine.policy.policy import Policy
from grantpath.graph.client.connection import Connection
from grantpath.graph.errors import Inconsistent, Unavailable
from grantpath.graph.files.remote_path import local_path
from grantpath.graph.guard.store import Store
from grantpath.graph.language.ends import earliest
from grantpath.graph.progress import ReportLine
from grantpath.spark_sync.following.change_files import (
    REBUILT,
    ChangeFile,
    ChangeRows,
    append,
    change_files,
    made_of,
    next_number,
)
from grantpath.spark_sync.following.table_changes import advanced_tables
from grantpath.spark_sync.mirroring.changes_meanwhile import ChangesMeanwhile
from grantpath.spark_sync.mirroring.graph_rows import guarded_ask
from grantpath.spark_sync.mirroring.mirror import mirror_into, opened
from grantpath.spark_sync.mirroring.mirror_tables import MirrorTables
from grantpath.spark_sync.mirroring.parallel_reader import TenantMarks
from grantpath.spark_sync.mirroring.snapshot_origin import another, require_root, same_root
from grantpath.spark_sync.mirroring.snapshot_writer import finish
from grantpath.spark_sync.session.snapshot import Snapshot
from grantpath.spark_sync.versions.snapshot_folders import alone_with
from grantpath.spark_sync.versions.snapshot_versions import next_version

PAGE = 500  # the most entries of the log that are read at once, and that one file of changes describes
ROWS = 4_000_000  # a file ends after the revision with which it has this many rows, because they are kept in memory
PAUSE = 0.2  # seconds between two reads of the log
RETRY_SECONDS = 5.0  # until the next try, while a load is in progress or the database is not available
TABLES_SECONDS = 10.0  # from one writing of the tables to the next, at least
TABLES_RATIO = 10  # this time is also at least so many times as long as the writing takes


@dataclass(frozen=True)
class Followed:
    """The revisions that a new file of changes describes. `rebuilt` is the reason if the whole graph was read."""

    first: int
    last: int
    rows: int
    rebuilt: str | None = None


def follow(
    connection: Connection,
    root: str,
    out: Path | str,
    progress: ReportLine,
    report: Callable[[Followed], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Keeps the snapshot `out` of the tenant `root` current until `stop()` is true.

    Each file in the snapshot's folder `changes` is complete, and together the files describe each revision once. If the
    process is killed, nothing is lost: the next call continues after the last file. While a load is in progress or the
    database is not available, `follow` waits. Raises InvalidInput if `out` is not a snapshot of this root, or another
    process writes it; otherwise the errors of `mirror`.
    """
    target = local_path(out)
    with closing(opened(connection)) as store, alone_with(target):
        follower = Follower(connection, store, root, target, progress, report)
        while not stop():
            try:
                more = follower.step()
            except (Inconsistent, Unavailable) as error:
                progress(f"waiting: {error}")
                time.sleep(RETRY_SECONDS)
                continue
            follower.write_tables_if_due()
            if not more:
                time.sleep(PAUSE)
        follower.write_tables()


class Follower:
    """Follows one root with one snapshot, step by step. The caller holds `alone_with(out)`."""

    def __init__(
        self,
        connection: Connection,
        store: Store,
        root: str,
        out: Path,
        progress: ReportLine,
        report: Callable[[Followed], None],
    ) -> None:
        self._connection, self._store, self._root = connection, store, root
        self._out, self._progress, self._report = out, progress, report
        self._ask = guarded_ask(store, root)
        self.rebuilt: str | None = None  # why the whole graph was read, the last time
        self._marks: TenantMarks | None = None  # as they were read last
        self._last_file: ChangeFile | None = next(reversed(change_files(out)), None)
        self._open()

    def _open(self) -> None:
        self._source = Snapshot(self._out)
        require_root(self._source, self._root)
        meta = self._source.meta
        self._policy: Policy = self._source.policy
        self._version: FactVersion | None = None
        self._tables: MirrorTables | None = None
        self._found = ChangesMeanwhile(meta.revision)
        self._next_tables = time.monotonic() + TABLES_SECONDS
        self._described = self._described_of(meta.made, meta.revision)
        if self._described < meta.revision:
            self._mark(meta.made, self._described + 1, meta.revision)

    def _described_of(self, made: str | None, otherwise: int) -> int:
        """The last revision of the root `made` that a file describes; `otherwise` if the last file is about another."""
        last = self._last_file
        return last.last if last is not None and made_of(last) == (made or "") else otherwise

    @property
    def source(self) -> Snapshot:
        """The snapshot as last written."""
        return self._source

    def step(self) -> bool:
        """Follows a part of the log, writes the access that users gained and lost, and reports each file of changes.
        Returns whether there was something to follow."""
        marks = self._ask("revision")
        self._marks = TenantMarks.of(marks)
        if reason := another(self._source.meta, marks):
            self._rebuild(reason)
            return True
        version = self._read()
        if version.revision == marks["revision"]:
            return False
        deltas = list(islice(recorded(self._ask, version.revision, self._source.root), PAGE))
        if same_root(marks, self._ask("revision")):
            reason = self._follow(delta for delta in deltas if delta.revision <= marks["revision"])
            if self._read() is version:
                self._rebuild(reason)
        return True

    def write_tables_if_due(self) -> None:
        """Writes the tables, unless this was done a short time ago."""
        if time.monotonic() >= self._next_tables:
            self.write_tables()

    def write_tables(self) -> None:
        """Writes the tables at the revision of `changes`."""
        version, meta, started = self._version, self._source.meta, time.monotonic()
        if version is None or version.revision == meta.revision:
            return
        former = self._tables or MirrorTables.read(self._source)
        tables = advanced_tables(former, self._found, self._policy)
        with next_version(self._out) as folder:
            tables.write(folder, self._policy, former, self._source.folder)
            finish(folder, meta.root, self._policy, self._marks_at(version.revision), meta.closed_by)
        self._source, self._tables = Snapshot(self._out), tables
        self._found, ended = ChangesMeanwhile(version.revision), time.monotonic()
        self._next_tables = ended + max(TABLES_SECONDS, TABLES_RATIO * (ended - started))

    def _marks_at(self, revision: int) -> TenantMarks:
        """The marks of the tables at a revision: those of the root, if it was at this revision when they were read."""
        meta = self._source.meta
        own = TenantMarks(revision, meta.made or "", meta.policy_digest, earliest(meta.ends, self._found.ends))
        return self._marks if self._marks is not None and self._marks == own else own

    def _read(self) -> FactVersion:
        if self._version is None:
            self._version = facts_in(self._source)
            gc.freeze()  # the facts stay in memory, and each garbage collection would spend seconds on them
        return self._version

    def _follow(self, deltas: Iterable[RecordedDelta]) -> str:
        """Applies the deltas, and writes files about the revisions that no file describes yet.

        Ends before the first delta that does not fit, and returns the reason.
        """
        rows, reason = ChangeRows(), ""
        before = FactSet(self._read(), self._policy, self._source.root)
        for delta in deltas:
            try:
                step = next_step(before.version, delta)
            except Contradiction as error:
                step = f"the log contradicts the snapshot at revision {delta.revision} ({error})"
            if isinstance(step, str):
                reason = step
                break
            facts, version = step
            after = before._replace(version=version)
            if delta.revision > self._described:
                for found in changed_access(before, after, [*facts["removed"], *facts["added"]]):
                    rows.add_found(delta.revision, found, after.version.numbers.refs)
            self._found.note_step(before.version, after.version, facts, self._policy)
            self._version = after.version
            if len(rows) >= ROWS:
                self._describe(delta.revision, rows)
                rows = ChangeRows()
            before = after
        if before.version.revision > self._described:
            self._describe(before.version.revision, rows)
        return reason or f"the log has no entry for revision {before.version.revision + 1}"

    def _describe(self, last: int, rows: ChangeRows) -> None:
        """Writes and reports a file about the revisions up to `last`."""
        done = Followed(self._described + 1, last, len(rows))
        self._append(self._source.meta.made, done.first, done.last, rows)
        self._report(done)

    def _append(self, made: str | None, first: int, last: int, rows: ChangeRows) -> None:
        number = next_number(self._out) if self._last_file is None else self._last_file.number + 1
        self._last_file = append(self._out, made or "", number, first, last, rows)
        self._described = last

    def _rebuild(self, reason: str) -> None:
        """Reads the whole graph, and records in `changes` that the revisions up to the new one are not described."""
        self._progress(f"{reason}; reading the whole graph")
        with next_version(self._out) as folder:
            meta = mirror_into(folder, self._connection, self._store, self._root, self._progress)
            # The file of the mark says by itself which root and revisions it is about. So if the process was killed
            # after it, and before the tables were switched, these revisions are not marked again.
            first = self._described_of(meta.made, self._described if meta.made == self._source.meta.made else -1) + 1
            if first <= meta.revision:
                self._mark(meta.made, first, meta.revision)
        self._open()
        self.rebuilt = reason
        if first <= meta.revision:
            self._report(Followed(first, meta.revision, 1, reason))

    def _mark(self, made: str | None, first: int, last: int) -> None:
        """Records in `changes` that these revisions are not described."""
        rows = ChangeRows()
        rows.add(last, REBUILT)
        self._append(made, first, last, rows)


def facts_in(source: Snapshot) -> FactVersion:
    """The facts of a snapshot."""
    meta = source.meta
    origin = FactOrigin(meta.made or "", "", meta.policy_digest)
    return read_snapshot(source.folder, meta.root, source.policy, origin, meta.revision)


def next_step(version: FactVersion, delta: RecordedDelta) -> tuple[Facts, FactVersion] | str:
    """The facts that lead to the next version, and this version; or the reason why an entry of the log does not lead to
    it. Raises Contradiction."""
    revision = version.revision + 1
    if delta.revision != revision:
        return f"the log has no entry for revision {revision}"
    if delta.bulk or delta.policy:
        return f"the log does not describe what revision {revision} changed"
    facts = listed_facts(version, vars(delta))
    if len(facts["added"]) > BULK:
        return f"revision {revision} renames more than {BULK:,} facts"
    return facts, advanced(version, [facts], revision)
