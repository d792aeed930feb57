"""Writes the tables of a snapshot from a graph in this process; and the functions that both ways of mirroring use."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from grantpath.engine.facts.kernel import small_closure
from grantpath.engine.facts.kernel.fact_table import FactTable
from grantpath.engine.facts.kernel.intervals import Ints
from grantpath.engine.facts.kernel.small_closure import close_small
from grantpath.engine.facts.kernel.tree_order import Numbering, number
from grantpath.engine.facts.snapshot.even_ranges import even_ranges
from grantpath.engine.facts.snapshot.interval_table import interval_columns
from grantpath.engine.facts.snapshot.snapshot_reader import POLICY_FILE, TABLES, SnapshotMeta
from grantpath.engine.policy.facts import Fact
from grantpath.engine.policy.policy import Policy
from grantpath.graph.errors import Inconsistent
from grantpath.graph.files.bounded_parquet import row_count, stream_bounded
from grantpath.graph.files.remote_path import AnyPath, arrow_place, remove_tree
from grantpath.graph.progress import ReportLine
from grantpath.spark_sync.mirroring.closure import close_containers, composition, kept_in, with_members
from grantpath.spark_sync.mirroring.closure_task import SCHEMA, Extension, extend
from grantpath.spark_sync.mirroring.graph_rows import Graph
from grantpath.spark_sync.mirroring.mirror_tables import Members, write_entities, write_members
from grantpath.spark_sync.mirroring.parallel_reader import TenantMarks
from grantpath.spark_sync.session.snapshot import write_table
from grantpath.spark_sync.session.spark_session import SparkEngine, read_parquet, wanted_closure, write_parquet

CONTAINER_PAIRS = 20_000_000  # a worker has at most this many pairs of a group or role and one that contains it
TASK_MEMBERS = 2_000_000  # about the most memberships from which one task computes the closure
MIRRORED = ("objects", "subjects", "members", "intervals", "closure")


def write(
    folder: AnyPath,
    root: str,
    policy: Policy,
    marks: TenantMarks,
    graph: Graph,
    spark: Callable[[], SparkEngine],
    progress: ReportLine,
) -> SnapshotMeta:
    """Writes a snapshot's tables into an existing folder. Starts Spark only if the closure needs it."""
    numbering = number(policy, root, graph.entities)
    subjects = write_entities(folder, numbering, policy)
    where = Positions(pa.array(numbering.refs))
    source, target = where(graph.member), where(graph.member_of)
    order = np.lexsort((target, source))
    write_members(folder, numbering, policy, Members(source[order], target[order]))
    write_table(folder, "intervals", interval_columns(numbered_facts(numbering, graph, where)))
    small = None if wanted_closure() else close_small(subjects, source, target)
    if small is not None:
        write_table(folder, "closure", dict(zip(("subject", "holder"), small, strict=True)))
        return finish(folder, root, policy, marks, small_closure.NAME)
    return finish(folder, root, policy, marks, write_closure(folder, spark(), progress))


class Positions:
    """Maps references to positions."""

    def __init__(self, refs: pa.Array) -> None:
        self._refs = refs

    def __call__(self, wanted: list[str]) -> Ints:
        found = pc.index_in(pa.array(wanted, pa.string()), self._refs)
        if found.null_count:
            raise outside()
        positions: Ints = found.to_numpy().astype(np.int64)
        return positions


def outside() -> Inconsistent:
    """The error for a graph that was edited without grantpath."""
    return Inconsistent(
        "a relationship connects the root to an entity outside; the graph was edited by hand; remove the relationship"
    )


def numbered_facts(numbering: Numbering, graph: Graph, where: Positions) -> FactTable:
    """The facts of all principals, sorted by principal, then by the fact's text, then by object."""
    principal, start = where(graph.principal), where(graph.object)
    fact = pa.array(graph.fact, pa.string()).dictionary_encode()
    words = np.argsort(np.argsort(np.array(fact.dictionary.to_pylist(), object)))
    order = np.lexsort((start, words[fact.indices.to_numpy()], principal))
    types = pa.array(np.array(numbering.types)[numbering.type[start]], pa.string())
    key = pc.binary_join_element_wise(fact.cast(pa.string()), types, " ").take(pa.array(order)).dictionary_encode()
    keys = tuple(map(Fact.parse, key.dictionary.to_pylist()))
    return FactTable(numbering, principal[order], key.indices.to_numpy().astype(np.int64), start[order], keys)


# ---- both ways -------------------------------------------------------------------------------------------------------
def write_sorted(rows: DataFrame, folder: AnyPath, name: str, *by: str) -> int:
    """Writes a table by Spark, sorted across its files. Returns the number of rows."""
    parts = rows.sparkSession.sparkContext.defaultParallelism * 2
    write_parquet(rows.repartitionByRange(parts, by[0]).sortWithinPartitions(*by).write, folder / name)
    return count(folder, name)


def ddl(name: str) -> str:
    """The schema of a table of snapshots, as Spark writes it."""
    types = {"int": "bigint", "text": "string", "bool": "boolean"}
    return ", ".join(f"`{column}` {types[kind]}" for column, kind in TABLES[name].items())


def count(folder: AnyPath, name: str) -> int:
    """The number of rows of a table, from the footers of its files."""
    return row_count(sorted((folder / name).glob("*.parquet")))


def require_readable(folder: AnyPath, name: str) -> None:
    """Reads the footers of a table, and the first rows of each of its files, as readers of the snapshot will do.
    Raises InvalidInput."""
    files: list[AnyPath] = sorted((folder / name).glob("*.parquet"))
    for file in files:
        next(stream_bounded([file], TABLES[name]).tables, None)


def empty_values(table: AnyPath) -> int:
    """The number of empty values in a table that Spark wrote, from the footers of its files."""
    name, filesystem = arrow_place(table)
    found = pads.dataset(name, format="parquet", filesystem=filesystem)
    footers = (fragment.metadata for fragment in found.get_fragments())
    groups = (footer.row_group(at) for footer in footers for at in range(footer.num_row_groups))
    return sum(group.column(at).statistics.null_count for group in groups for at in range(group.num_columns))


def write_closure(folder: AnyPath, engine: SparkEngine, progress: ReportLine) -> str:
    """Writes the closure of the snapshot's memberships by Spark. Returns the name of the method.

    If the closure of the groups and roles has at most CONTAINER_PAIRS pairs, each worker has it in memory, and computes
    the rows of its subjects from it. Otherwise Spark joins it to the memberships, which takes longer.
    """
    started, by, spark = time.monotonic(), composition(engine), engine.spark
    rounds, members = folder / "rounds", read_parquet(spark, folder / "members", ddl("members"))
    containers, pairs = close_containers(by, members, kept_in(rounds, spark))
    if pairs > CONTAINER_PAIRS:
        subjects = read_parquet(spark, folder / "subjects", ddl("subjects")).select(F.col("position").alias("id"))
        write_sorted(with_members(by, subjects, members, containers), folder, "closure", "subject", "holder")
    else:
        write_parquet(containers.coalesce(1).sortWithinPartitions("source").write, rounds / "containers")
        _extend_in_tasks(spark, folder, rounds / "containers")
    remove_tree(rounds)  # absent in a local session
    written, seconds = count(folder, "closure"), time.monotonic() - started
    progress(f"computed the closure of {count(folder, 'members'):,} memberships: {written:,} pairs in {seconds:.0f} s")
    return by.name


def _extend_in_tasks(spark: SparkSession, folder: AnyPath, closed: AnyPath) -> None:
    """Writes the closure from that of the groups and roles, which is in the folder `closed`."""
    containers, subjects, members = map(_files, (closed, folder / "subjects", folder / "members"))
    tasks = max(2 * spark.sparkContext.defaultParallelism, count(folder, "members") // TASK_MEMBERS)
    parts = even_ranges(members, "source", tasks)
    extension = partial(extend, Extension(containers, subjects, members, count(folder, "objects")), parts)
    rows = spark.range(0, len(parts), 1, len(parts)).mapInArrow(extension, SCHEMA)
    write_parquet(rows.write, folder / "closure")


def _files(table: AnyPath) -> tuple[AnyPath, ...]:
    """The part files of a table, in the order of the rows, as workers find them."""
    found: list[AnyPath] = [*table.absolute().glob("*.parquet")]
    return tuple(sorted(found))


def finish(folder: AnyPath, root: str, policy: Policy, marks: TenantMarks, closed_by: str) -> SnapshotMeta:
    """Writes the policy and the metadata of a snapshot whose tables are complete, and have the revision of the
    marks."""
    for name in MIRRORED:
        require_readable(folder, name)
    (folder / POLICY_FILE).write_text(policy.source, encoding="utf-8")
    meta = SnapshotMeta(
        root=root,
        made=marks.made or None,
        revision=marks.revision,
        policy=policy.name,
        policy_digest=policy.digest,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        closed_by=closed_by,
        ends=marks.ends,
        counts={name: count(folder, name) for name in MIRRORED},
    )
    (folder / "meta.json").write_text(meta.model_dump_json(indent=2), encoding="utf-8")
    return meta
