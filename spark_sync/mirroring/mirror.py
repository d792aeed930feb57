"""Mirrors a tenant's graph at one revision: a small one in this process, a large one in Spark's tasks."""

import logging
import time
from contextlib import closing

from grantpath.engine.facts.snapshot.snapshot_reader import SnapshotMeta
from grantpath.engine.policy.policy import Policy, from_source
from grantpath.engine.tenants import registry
from grantpath.engine.tenants.one_revision import GuardedAsk, at_one_revision
from grantpath.engine.tenants.open_tenant import OpenTenant
from grantpath.graph.client import telemetry
from grantpath.graph.client.connection import Connection
from grantpath.graph.errors import Unknown
from grantpath.graph.files.remote_path import AnyPath, path_at
from grantpath.graph.guard.store import Store
from grantpath.graph.guard.transaction import query_by_name
from grantpath.graph.progress import ReportLine
from grantpath.spark_sync.mirroring.graph_rows import Graph, guarded_ask, read_graph, tag_types
from grantpath.spark_sync.mirroring.parallel_mirror import mirror_in_tasks
from grantpath.spark_sync.mirroring.parallel_reader import TenantMarks
from grantpath.spark_sync.mirroring.snapshot_writer import write
from grantpath.spark_sync.session.spark_session import clear_errors, engine_for, wanted_closure
from grantpath.spark_sync.versions.remote_versions import writing

log = logging.getLogger("grantpath.spark")
SMALL = 200_000  # entities and facts; reading a graph up to this size takes less time than starting Spark
CONNECT_SECONDS = 30.0


def mirror(auth: OpenTenant, out: AnyPath | str, progress: ReportLine = lambda _: None) -> SnapshotMeta:
    """Writes the snapshot `out` of the root of an Authorizer, with its server and login: `mirror(auth, "monday")`.

    Raises the errors of `mirror_tenant`.
    """
    return mirror_tenant(auth.store.connection, auth.tenant, out, progress)


def mirror_tenant(connection: Connection, root: str, out: AnyPath | str, progress: ReportLine) -> SnapshotMeta:
    """Writes the snapshot `out` of the tenant `root`, completely or not at all. `out` is a path or a URI.

    The snapshot contains the policy that the tenant has at its revision. Writers are not blocked. Raises InvalidInput
    if `out` already exists, Unknown if the root does not exist or was dropped, Inconsistent if a load is in progress or
    changes are too frequent to read one revision, InvalidPolicy if this version cannot read the policy, Unavailable,
    ServerError, and GrantpathError if the disk is full.
    """
    target = path_at(out)
    with (
        telemetry.span("mirror", root) as span,
        writing(target) as folder,
        closing(opened(connection)) as store,
    ):
        meta = mirror_into(folder, connection, store, root, progress)
        span.set(revision=meta.revision, entities=meta.counts["objects"])
    log.info("mirrored %s at revision %d to %s", root, meta.revision, target)
    return meta


def mirror_into(folder: AnyPath, connection: Connection, store: Store, root: str, progress: ReportLine) -> SnapshotMeta:
    """Writes the files of a snapshot into an existing folder. Raises the errors of `mirror`."""
    with clear_errors():
        wanted_closure()  # rejects an invalid value before anything is read
        [size] = query_by_name(store.read, root)("mirror_size", most=SMALL + 1)
        if size["entities"] + size["facts"] > SMALL:
            return mirror_in_tasks(engine_for(folder, progress), connection, store, root, folder, progress)
        marks, policy, graph = read(connection, root, progress)
        return write(folder, root, policy, marks, graph, lambda: engine_for(folder, progress), progress)


def read(connection: Connection, root: str, progress: ReportLine) -> tuple[TenantMarks, Policy, Graph]:
    """The revision marks, policy and graph of a small tenant. Reads again if a change was committed meanwhile."""
    started = time.monotonic()

    def work(ask: GuardedAsk) -> tuple[TenantMarks, Policy, Graph]:
        marks, kept = ask("revision"), registry.find(store, root)
        if kept is None:
            raise Unknown(f"{root} was dropped while it was read; name another root")
        # the policy of the revision: an upgrade is a change with its own revision
        policy = from_source(kept["source"])
        graph = read_graph(store, root, tag_types(policy))
        ask("revision")
        if not graph.entities:
            raise registry.dropped(root)
        return TenantMarks.of(marks), policy, graph

    def again() -> None:
        progress(f"{root} changed while it was read; reading it again")
        time.sleep(1)

    with closing(opened(connection)) as store:
        marks, policy, graph = at_one_revision(root, guarded_ask(store, root), work, again)
    progress(
        f"read {len(graph.entities):,} entities at revision {marks.revision} in {time.monotonic() - started:.0f} s"
    )
    return marks, policy, graph


def opened(connection: Connection) -> Store:
    """The store of the graph, with the time limit of a mirror. The caller must close it."""
    return Store(connection, CONNECT_SECONDS)
