"""Computes the bulk answers: the access of all users, by subject (reach) and by object (exposure), in one pass."""

import time
from dataclasses import dataclass, replace
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from grantpath.graph.errors import InvalidInput
from grantpath.graph.files.remote_path import AnyPath, remove_tree
from grantpath.graph.progress import ReportLine
from grantpath.spark_sync.bulk.access_tables import AccessTables
from grantpath.spark_sync.bulk.bulk_questions import Name, conditions
from grantpath.spark_sync.bulk.sweep_task import FACTS, SCHEMA, Sweep, common, fact_rows, sweep, sweep_ranges
from grantpath.spark_sync.mirroring.even_ranges import even_ranges
from grantpath.spark_sync.session.snapshot import Snapshot
from grantpath.spark_sync.session.spark_session import clear_errors, engine_for, read_parquet, write_parquet
from grantpath.spark_sync.versions.remote_versions import writing

BROADCAST_MIB = 256  # if the facts need more, Spark joins them to the subjects, and no worker has all of them
ROWS = 200_000  # rows (subject, role, holder) in a sweep
BLOCK = 65_536  # a task sums the exposure of this many targets of one condition at a time
FACT_BYTES = 32  # memory of one fact in a worker: four integers


@dataclass(frozen=True)
class AccessReport:
    """A summary of the tables that `access` wrote into the snapshot."""

    snapshot: AnyPath
    names: list[Name]
    expanded: list[str]
    reach_rows: int
    accessible: dict[tuple[str, str], int]  # (name, type): the number of allowed pairs of user and object
    seconds: float


def access(
    snapshot: AnyPath | str,
    names: list[str] | None,
    expand: list[str],
    progress: ReportLine,
    broadcast_mib: int = BROADCAST_MIB,
) -> AccessReport:
    """Writes reach, exposure and, for the names in `expand`, intervals into the snapshot's folder `access`.

    `names` are privileges and operations, each on all of its types; None means all names that need no second object.
    Each worker has all facts in memory if they need at most `broadcast_mib` MiB. Otherwise Spark joins them to the
    subjects, which takes longer. Raises Unknown or Invalid for a name, InvalidInput if the snapshot cannot be read,
    ServerError, and GrantpathError if the disk is full.
    """
    started = time.monotonic()
    source = Snapshot(snapshot)
    wanted = None if names is None else (*names, *expand)
    listed, questions = conditions(source.policy, wanted)
    unknown = {name for name in expand if not any(each.name == name for each in listed)}
    if unknown:
        raise InvalidInput(
            f"expand: {', '.join(sorted(unknown))} needs a second object and has no bulk answer; omit it"
        )
    spark = engine_for(source.folder, progress).spark
    facts = source.meta.counts["intervals"]
    joined = facts * FACT_BYTES > broadcast_mib * 2**20
    folder, meta = source.folder.absolute(), source.meta.model_dump_json()  # workers have another working folder
    plan = Sweep(folder, meta, wanted, frozenset(expand), False, joined, ROWS, BLOCK)
    source.need_complete()
    with writing(source.folder / "access", replace=True) as fresh, clear_errors():
        tables = AccessTables(spark, fresh, listed, source)
        for one_role in sorted({question.one_role for question in questions}):
            number = sum(question.one_role is one_role for question in questions)
            how = "joined to the subjects" if joined else "in each worker"
            progress(f"{number} conditions over {facts:,} facts, {how}")
            _sweep(spark, source, replace(plan, one_role=one_role), fresh / "raw")
        reach_rows = tables.named("reach", ["subject", "objects"], "reach")
        if expand:
            tables.named("interval", ["subject", "start", "last"], "expand")
        accessible = tables.exposure(BLOCK)
        remove_tree(fresh / "raw")
        report = AccessReport(source.folder, listed, expand, reach_rows, accessible, time.monotonic() - started)
    progress(f"access of {source.meta.counts['objects']:,} entities for {len(listed)} names in {report.seconds:.0f} s")
    return report


def _sweep(spark: SparkSession, source: Snapshot, plan: Sweep, raw: AnyPath) -> None:
    """Writes rows into `raw`, in one pass over all acting principals for one way of combining roles."""
    parts = spark.sparkContext.defaultParallelism * 2
    if plan.one_role or plan.joined:
        found = _joined_rows(spark, source, plan, parts).mapInArrow(partial(sweep, plan), SCHEMA)
    else:  # the closure is sorted, so each task reads the rows of its subjects from the files
        ranges = even_ranges(source.files("closure"), "subject", parts)
        found = spark.range(0, len(ranges), 1, len(ranges)).mapInArrow(partial(sweep_ranges, plan, ranges), SCHEMA)
    once = spark.range(0, 1, 1, 1).mapInArrow(partial(common, plan), SCHEMA)
    write_parquet(found.union(once).write.mode("append").partitionBy("what"), raw)


def _joined_rows(spark: SparkSession, source: Snapshot, plan: Sweep, parts: int) -> DataFrame:
    """The acting principals, sorted by subject; with `plan.joined`, a row for each of their facts."""
    acting = acting_rows(spark, source, plan.one_role)
    if plan.joined:
        intervals = read_parquet(spark, source.folder / "intervals")
        facts = intervals.select("holder", "effect", "privilege", "type", "start")
        acting = acting.join(facts.mapInArrow(partial(fact_rows, plan), FACTS), "holder", "left")
        acting = acting.select("subject", "role", "holder", "key", "start", "last")
    return acting.repartitionByRange(parts, "subject").sortWithinPartitions("subject", "role", "holder")


def acting_rows(spark: SparkSession, source: Snapshot, one_role: bool) -> DataFrame:
    """Rows (subject, role, holder): the principals that act together, in the column `holder`.

    With `one_role`, they are the principals of a subject with one of its roles active. Otherwise they are all of its
    effective principals, and `role` is the subject.
    """
    closure = read_parquet(spark, source.folder / "closure")
    rows = closure.select("subject", F.col("subject").alias("role"), "holder")
    if one_role:
        members = read_parquet(spark, source.folder / "members").where("kind = 'HAS_ROLE'")
        held = members.select(F.col("source").alias("user"), F.col("target").alias("role")).distinct()
        rows = held.join(closure, held.role == closure.subject)
        rows = rows.select(F.col("user").alias("subject"), "role", "holder")
    return rows
