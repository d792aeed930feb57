"""Updates a snapshot to the present revision of its root, by the deltas of the log if they describe what changed."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from grantpath.engine.change.delta_records import recorded
from grantpath.engine.facts.set.fact_draft import Contradiction
from grantpath.engine.facts.snapshot.snapshot_reader import CHANGES, SnapshotMeta
from grantpath.engine.tenants.one_revision import GuardedAsk
from grantpath.graph.client import telemetry
from grantpath.graph.client.connection import Connection
from grantpath.graph.errors import Inconsistent
from grantpath.graph.files.remote_path import local_path
from grantpath.graph.guard.store import Store
from grantpath.graph.progress import ReportLine
from grantpath.spark_sync.following.follower import Follower, facts_in, next_step
from grantpath.spark_sync.following.table_changes import advanced_tables
from grantpath.spark_sync.mirroring.changes_meanwhile import ChangesMeanwhile, changes
from grantpath.spark_sync.mirroring.graph_rows import guarded_ask
from grantpath.spark_sync.mirroring.mirror import mirror_into, opened
from grantpath.spark_sync.mirroring.mirror_tables import MirrorTables
from grantpath.spark_sync.mirroring.parallel_reader import TenantMarks
from grantpath.spark_sync.mirroring.snapshot_origin import another, require_root, same_root
from grantpath.spark_sync.mirroring.snapshot_writer import finish
from grantpath.spark_sync.session.snapshot import Snapshot
from grantpath.spark_sync.versions.snapshot_folders import alone_with
from grantpath.spark_sync.versions.snapshot_versions import next_version

TRIES = 3


@dataclass(frozen=True)
class Updated:
    """The update of a snapshot. `rebuilt`: the reason why the whole graph was read; None if the deltas were enough."""

    before: int
    meta: SnapshotMeta
    rebuilt: str | None


def update(connection: Connection, root: str, out: Path | str, progress: ReportLine) -> Updated:
    """Brings the snapshot `out` of the tenant `root` to the tenant's present revision, completely or not at all.

    The new tables are computed from the log's deltas. If these do not describe all changes (a bulk load, an upgrade of
    the policy, a pruned log, or a root that was created again), or contradict the snapshot, the whole graph is read.
    Readers keep the version that they opened. The new version has no bulk answers (see `access`); `changes` is
    continued if it exists. Raises InvalidInput if `out` is not a snapshot of this root, or another process writes it;
    otherwise the errors of `mirror`.
    """
    target = local_path(out)
    with telemetry.span("update", root) as span, closing(opened(connection)) as store, alone_with(target):
        source = Snapshot(target)
        require_root(source, root)
        if (target / CHANGES).exists():
            follower = Follower(connection, store, root, target, progress, lambda _: None)
            while follower.step():
                pass
            follower.write_tables()
            return Updated(source.meta.revision, follower.source.meta, follower.rebuilt)
        try:
            found = changes_since(store, source)
            made = found if isinstance(found, str) else _by_deltas(source, target, *found)
        except Contradiction as error:
            made = f"the log contradicts the snapshot ({error})"
        if isinstance(made, str):
            made = rebuild(connection, store, source, target, made, progress)
        span.set(revision=made.meta.revision, entities=made.meta.counts["objects"])
    return made


def changes_since(store: Store, source: Snapshot) -> tuple[TenantMarks, ChangesMeanwhile] | str:
    """The present marks and the changes up to it; or the reason why the log does not describe them. Raises
    Contradiction."""
    meta, ask = source.meta, guarded_ask(store, source.meta.root)
    for _ in range(TRIES):
        row = ask("revision")
        if problem := another(meta, row):
            return problem
        found = changes(ask, source.policy, source.root, meta.revision, row["revision"])
        if found.base > meta.revision:
            reason = f"the log does not describe what changed up to revision {found.base}"
            known = _with_facts(ask, source, row["revision"]) if found.by_facts else reason
        else:
            known = found
        if same_root(row, ask("revision")):
            return known if isinstance(known, str) else (TenantMarks.of(row), known)
    raise Inconsistent(f"{meta.root} was created again while its log was read; try again when it changes less")


def _with_facts(ask: GuardedAsk, source: Snapshot, until: int) -> ChangesMeanwhile | str:
    """The changes up to a revision, with what follows from them and from the facts of the snapshot: the facts that are
    renamed, and those of what has a tag. Or the reason why the log does not describe them. Raises Contradiction."""
    version = facts_in(source)
    found = ChangesMeanwhile(version.revision)
    for delta in recorded(ask, version.revision, source.root):
        if delta.revision > until:
            break
        step = next_step(version, delta)
        if isinstance(step, str):
            return step
        facts, after = step
        found.note_step(version, after, facts, source.policy)
        version = after
    return found if version.revision == until else f"the log has no entry for revision {version.revision + 1}"


def _by_deltas(source: Snapshot, target: Path, marks: TenantMarks, found: ChangesMeanwhile) -> Updated:
    meta = source.meta
    if marks.revision == meta.revision:
        return Updated(meta.revision, meta, None)
    former = MirrorTables.read(source)
    tables = advanced_tables(former, found, source.policy)
    with next_version(target) as folder:
        tables.write(folder, source.policy, former, source.folder)
        made = finish(folder, meta.root, source.policy, marks, meta.closed_by)
    return Updated(meta.revision, made, None)


def rebuild(
    connection: Connection, store: Store, source: Snapshot, target: Path, reason: str, progress: ReportLine
) -> Updated:
    """Reads the whole graph into the next version of the snapshot. Raises the errors of `mirror`."""
    progress(f"{reason}; reading the whole graph")
    with next_version(target) as folder:
        made = mirror_into(folder, connection, store, source.meta.root, progress)
    return Updated(source.meta.revision, made, reason)
