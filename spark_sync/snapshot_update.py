"""Updates a snapshot to the present revision of its root, by the deltas of the log if they describe what changed."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grantpath.engine.facts.snapshot_reader import SnapshotMeta, local_folder
from grantpath.graph import telemetry
from grantpath.graph.connection import Connection
from grantpath.graph.errors import Inconsistent, InvalidInput
from grantpath.graph.progress import ReportLine
from grantpath.graph.store import Store
from grantpath.spark_sync.changes_meanwhile import ChangesMeanwhile, changes
from grantpath.spark_sync.graph_reader import mirror_into, opened
from grantpath.spark_sync.graph_rows import guarded_ask
from grantpath.spark_sync.mirror_tables import MirrorTables
from grantpath.spark_sync.snapshot import Snapshot
from grantpath.spark_sync.snapshot_folders import alone
from grantpath.spark_sync.snapshot_versions import next_version
from grantpath.spark_sync.snapshot_writer import finish
from grantpath.spark_sync.table_changes import advanced

TRIES = 3


@dataclass(frozen=True)
class Updated:
    """The update of a snapshot. `rebuilt` says why the whole graph was read, None if the deltas were enough."""

    before: int
    meta: SnapshotMeta
    facts: int  # the changed facts
    rebuilt: str | None


def update(connection: Connection, root: str, out: Path | str, progress: ReportLine) -> Updated:
    """Brings the snapshot `out` of the tenant `root` to the tenant's present revision, completely or not at all.

    The log's deltas give the new tables. If they do not describe all changes (a bulk load, an upgrade of the policy, a
    pruned log, or a root that was created again), the whole graph is read. Readers keep the version that they opened.
    The bulk answers of `access` are not carried over. Raises InvalidInput if `out` is not a snapshot of this root, or
    another process writes it; otherwise the errors of `mirror`.
    """
    target = local_folder(out)
    with telemetry.span("update", root) as span, closing(opened(connection)) as store, alone(target):
        source = Snapshot(target)
        need_root(source, root)
        found = changes_since(store, source)
        if isinstance(found, str):
            made = rebuild(connection, store, source, target, found, progress)
        else:
            made = _by_deltas(source, target, *found)
        span.set(revision=made.meta.revision, entities=made.meta.counts["objects"])
    return made


def need_root(source: Snapshot, root: str) -> None:
    """Raises InvalidInput if the snapshot is of another root."""
    if source.meta.root != root:
        raise InvalidInput(
            f"{source.folder} is a snapshot of {source.meta.root}, not of {root}; name the snapshot of this root, or "
            "write one with `grantpath mirror OUT`"
        )


def changes_since(store: Store, source: Snapshot) -> tuple[int, ChangesMeanwhile] | str:
    """The present revision and the changes until then; or why the log does not describe them."""
    meta, ask = source.meta, guarded_ask(store, source.meta.root)
    for _ in range(TRIES):
        row = ask("revision")
        if problem := _another(meta, row):
            return problem
        found = changes(ask, source.policy, meta.revision, row["revision"])
        if _same_root(row, ask("revision")):
            if found.base > meta.revision:
                return f"the log does not describe what changed up to revision {found.base}"
            return row["revision"], found
    raise Inconsistent(f"{meta.root} was created again while its log was read; try again when it changes less")


def _another(meta: SnapshotMeta, row: Mapping[str, Any]) -> str | None:
    if not meta.made:
        return "the snapshot does not say when its root was created"
    if meta.made != row["made"] or meta.revision > row["revision"]:
        return "the root was created again"
    if meta.policy_digest != row["policy"]:
        return "the policy was upgraded"
    return None


def _same_root(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    return bool(before["made"] == after["made"] and before["revision"] <= after["revision"])


def _by_deltas(source: Snapshot, target: Path, revision: int, found: ChangesMeanwhile) -> Updated:
    meta = source.meta
    if revision == meta.revision:
        return Updated(meta.revision, meta, 0, None)
    former = MirrorTables.read(source)
    tables = advanced(former, found, source.policy)
    with next_version(target) as folder:
        tables.write(folder, source.policy, former, source.folder)
        made = finish(folder, meta.root, source.policy, revision, meta.closed_by, meta.made)
    return Updated(meta.revision, made, len(found), None)


def rebuild(
    connection: Connection, store: Store, source: Snapshot, target: Path, reason: str, progress: ReportLine
) -> Updated:
    """Reads the whole graph into the next version of the snapshot. Raises the errors of `mirror`."""
    progress(f"{reason}; reading the whole graph")
    with next_version(target) as folder:
        made = mirror_into(folder, connection, store, source.meta.root, progress)
    return Updated(source.meta.revision, made, 0, reason)
