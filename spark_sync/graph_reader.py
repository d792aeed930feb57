"""Mirrors a tenant's graph into a snapshot: reads it at one revision, numbers it, and closes its memberships."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import neo4j
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from neo4j.exceptions import DriverError, Neo4jError

from grantpath.engine.facts import small_closure
from grantpath.engine.facts.fact_table import FactTable
from grantpath.engine.facts.interval_table import interval_columns
from grantpath.engine.facts.intervals import Ints
from grantpath.engine.facts.small_closure import close_small
from grantpath.engine.facts.snapshot_reader import SnapshotMeta
from grantpath.engine.facts.tree_order import Numbering, number
from grantpath.engine.policy.facts import Fact
from grantpath.engine.policy.policy import Policy, from_source
from grantpath.engine.tenants.one_revision import GuardedAsk, at_one_revision
from grantpath.engine.tenants.registry import dropped
from grantpath.engine.tenants.tenant_state import Entity
from grantpath.graph import telemetry
from grantpath.graph.connection import Connection
from grantpath.graph.driver import in_words, open_driver
from grantpath.graph.errors import Inconsistent, Unknown
from grantpath.graph.progress import ReportLine
from grantpath.graph.queries import load_query
from grantpath.graph.store import Store
from grantpath.spark_sync.closure import close, composition
from grantpath.spark_sync.snapshot import write_policy, write_table
from grantpath.spark_sync.snapshot_folders import building
from grantpath.spark_sync.spark_session import SparkEngine, engine, place, read_parquet, wanted_closure

log = logging.getLogger("grantpath.spark")
FETCH = 20_000
HEAD_START = 5.0  # seconds: a graph that is read in less time is small and needs no Spark
CONNECT_SECONDS = 30.0


@dataclass(frozen=True)
class Graph:
    """One tenant's graph as columns of references, from `mirror` or any other source."""

    entities: list[Entity]
    member: list[str]
    member_of: list[str]
    kind: list[str]  # MEMBER_OF, HAS_ROLE
    principal: list[str]
    fact: list[str]  # `ALLOW SELECT_TABLE`, `OWNS`
    object: list[str]


def mirror(connection: Connection, root: str, out: Path, progress: ReportLine) -> SnapshotMeta:
    """Writes the snapshot `out` of the tenant `root`, completely or not at all.

    It contains the policy of the tenant at that revision. Raises InvalidInput if `out` already exists, Unknown if the
    root does not exist or was dropped, Inconsistent if a load is in progress or changes are too frequent to read one
    revision, InvalidPolicy if this version cannot read the policy, Unavailable, ServerError, GrantpathError if the disk
    is full.
    """
    with telemetry.span("mirror", root) as span, building(out) as folder, ThreadPoolExecutor(1) as pool:
        started = time.monotonic()
        wanted_closure()  # reports a wrong value before anything is read
        reading = pool.submit(read, connection, root, progress)
        wait([reading], timeout=HEAD_START)
        if not reading.done():  # the graph is large: start Spark while it is read
            engine(progress)
        revision, policy, graph = reading.result()
        progress(f"read {len(graph.entities):,} entities at revision {revision} in {time.monotonic() - started:.0f} s")
        span.set(revision=revision, entities=len(graph.entities))
        meta = write(folder, root, policy, revision, graph, lambda: engine(progress), progress)
    log.info("mirrored %s at revision %d to %s", root, revision, out)
    return meta


# ---- reading ---------------------------------------------------------------------------------------------------
def read(connection: Connection, root: str, progress: ReportLine) -> tuple[int, Policy, Graph]:
    """The revision, policy and graph of a tenant. Reads again if a change was committed in between."""
    store = Store(connection)

    def ask(query: str, **parameters: Any) -> Mapping[str, Any]:
        return load_query(query).run(store.read_guarded, root=root, **parameters)

    def work(guarded: GuardedAsk) -> tuple[int, Policy, Graph]:
        revision = int(guarded("revision")["revision"])
        with _session(connection) as session:
            policy, graph = _policy(session, root), _graph(session, root)
        guarded("revision")
        if not graph.entities:
            raise dropped(root)
        return revision, policy, graph

    def again() -> None:
        progress(f"{root} changed while it was read; reading it again")
        time.sleep(1)

    try:
        return at_one_revision(root, ask, work, again)
    finally:
        store.close()


@contextmanager
def _session(connection: Connection) -> Iterator[neo4j.Session]:
    """A separate session with a large fetch size, for millions of rows. Raises Unavailable."""
    try:
        with (
            open_driver(connection, CONNECT_SECONDS) as driver,
            driver.session(database=connection.database, fetch_size=FETCH) as session,
        ):
            yield session
    except (Neo4jError, DriverError, OSError) as error:
        raise in_words(connection.uri, error) from error


def _rows(session: neo4j.Session, name: str, root: str) -> Iterable[tuple[Any, ...]]:
    return (tuple(record.values()) for record in load_query(name).run(session.run, root=root))


def _policy(session: neo4j.Session, root: str) -> Policy:
    """The policy at the revision: an upgrade of the policy is a change with its own revision."""
    for _, _, source, *_ in _rows(session, "tenant_policy", root):
        return from_source(source)
    raise Unknown(f"{root} was dropped while it was read")


def _graph(session: neo4j.Session, root: str) -> Graph:
    entities = [Entity(*row) for row in _rows(session, "mirror_entities", root)]
    graph = Graph(entities, [], [], [], [], [], [])
    for ref, groups, roles in _rows(session, "mirror_members", root):
        graph.member.extend([ref] * (len(groups) + len(roles)))
        graph.member_of.extend(chain(groups, roles))
        graph.kind.extend(["MEMBER_OF"] * len(groups) + ["HAS_ROLE"] * len(roles))
    for ref, facts, objects in _rows(session, "mirror_grants", root):
        graph.principal.extend([ref] * len(facts))
        graph.fact.extend(facts)
        graph.object.extend(objects)
    return graph


# ---- writing ---------------------------------------------------------------------------------------------------
def write(
    folder: Path,
    root: str,
    policy: Policy,
    revision: int,
    graph: Graph,
    spark: Callable[[], SparkEngine],
    progress: ReportLine,
) -> SnapshotMeta:
    """Writes a snapshot's tables into an existing folder. Starts Spark only if the closure needs it."""
    numbering = number(policy, root, graph.entities)
    types, refs = np.array(numbering.types)[numbering.type], pa.array(numbering.refs)
    write_table(
        folder,
        "objects",
        {
            "position": np.arange(len(numbering)),
            "last": numbering.last,
            "parent": numbering.parent,
            "ref": numbering.refs,
            "type": types,
            "exists": numbering.exists,
            "builtin": numbering.builtin,
            "hidden": pc.is_in(refs, pa.array(policy.hidden, pa.string())),
        },
    )
    subjects = np.flatnonzero(np.isin(types, policy.names.subject_types))
    write_table(
        folder, "subjects", {"position": subjects, "ref": refs.take(pa.array(subjects)), "type": types[subjects]}
    )
    where = Positions(refs)
    source, target = where(graph.member), where(graph.member_of)
    write_table(folder, "members", {"source": source, "target": target, "kind": graph.kind})
    write_table(folder, "intervals", interval_columns(numbered_facts(numbering, graph, where)))
    write_policy(folder, policy)
    started = time.monotonic()
    closed_by, pairs = _write_closure(folder, (subjects, source, target), spark)
    seconds = time.monotonic() - started
    progress(f"computed the closure of {len(graph.member):,} memberships: {pairs:,} pairs in {seconds:.0f} s")
    meta = SnapshotMeta(
        root=root,
        revision=revision,
        policy=policy.name,
        policy_digest=policy.digest,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        closed_by=closed_by,
        counts={
            "objects": len(numbering),
            "subjects": len(subjects),
            "members": len(graph.member),
            "intervals": len(graph.principal),
            "closure": pairs,
        },
    )
    (folder / "meta.json").write_text(meta.model_dump_json(indent=2))
    return meta


class Positions:
    """Maps references to positions."""

    def __init__(self, refs: pa.Array) -> None:
        self._refs = refs

    def __call__(self, wanted: list[str]) -> Ints:
        found = pc.index_in(pa.array(wanted, pa.string()), self._refs)
        if found.null_count:
            raise Inconsistent(
                "a relationship connects the tenant to an entity outside; the graph was edited by hand; "
                "remove the relationship"
            )
        positions: Ints = found.to_numpy().astype(np.int64)
        return positions


def numbered_facts(numbering: Numbering, graph: Graph, where: Positions) -> FactTable:
    """The facts of all principals, sorted by principal."""
    principal, start = where(graph.principal), where(graph.object)
    fact = pa.array(graph.fact, pa.string()).dictionary_encode()
    order = np.lexsort((start, fact.indices.to_numpy(), principal))
    types = pa.array(np.array(numbering.types)[numbering.type[start]], pa.string())
    key = pc.binary_join_element_wise(fact.cast(pa.string()), types, " ").take(pa.array(order)).dictionary_encode()
    keys = tuple(map(Fact.parse, key.dictionary.to_pylist()))
    return FactTable(numbering, principal[order], key.indices.to_numpy().astype(np.int64), start[order], keys)


def _write_closure(folder: Path, members: tuple[Ints, Ints, Ints], spark: Callable[[], SparkEngine]) -> tuple[str, int]:
    """Writes the closure, sorted by subject across its files. Returns what computed it, and the number of pairs."""
    small = None if wanted_closure() else close_small(*members)
    if small is not None:
        (folder / "closure").mkdir()
        write_table(folder / "closure", "part-0", dict(zip(("subject", "holder"), small, strict=True)))
        return small_closure.NAME, len(small[0])
    engine = spark()
    session = engine.spark
    subjects = read_parquet(session, folder / "subjects.parquet").withColumnRenamed("position", "id").select("id")
    pairs = close(composition(engine), subjects, read_parquet(session, folder / "members.parquet"))
    parts = session.sparkContext.defaultParallelism * 2
    ordered = pairs.repartitionByRange(parts, "subject").sortWithinPartitions("subject", "holder")
    ordered.write.parquet(place(folder / "closure"))
    return composition(engine).name, read_parquet(session, folder / "closure").count()
