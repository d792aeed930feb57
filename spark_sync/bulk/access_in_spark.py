"""A bulk answer by Spark: the sweeps of its tasks, and the tables reach, exposure and expand."""

from collections.abc import Sequence
from functools import partial
from itertools import accumulate

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from grantpath.engine.facts.snapshot.even_ranges import even_ranges
from grantpath.graph.files.remote_path import AnyPath, remove_tree
from grantpath.graph.progress import ReportLine
from grantpath.spark_sync.bulk.bulk_questions import Name, Written, by_condition
from grantpath.spark_sync.bulk.exposure_task import SCHEMA, Blocks, exposed
from grantpath.spark_sync.bulk.sweep_task import FACTS, Sweep, common, fact_rows, sweep, sweep_ranges
from grantpath.spark_sync.bulk.sweep_task import SCHEMA as RAW
from grantpath.spark_sync.mirroring.snapshot_writer import count
from grantpath.spark_sync.session.snapshot import Snapshot
from grantpath.spark_sync.session.spark_session import clear_errors, engine_for, read_parquet, write_parquet

TASK_STEPS = 64  # about the number of rows in a task that sums steps; a row has the steps of one block


def write_in_spark(
    source: Snapshot, plans: Sequence[Sweep], listed: Sequence[Name], folder: AnyPath, progress: ReportLine
) -> Written:
    """Writes the tables into `folder`, which has the table `names`. Raises the errors of `access`."""
    spark = engine_for(source.folder, progress).spark
    with clear_errors():
        for plan in plans:
            _sweep(spark, source, plan, folder / "raw")
        tables = _AccessTables(spark, folder, listed, source)
        reach_rows = tables.named("reach", ["subject", "objects"], "reach")
        if plans[0].expand:
            tables.named("interval", ["subject", "start", "last"], "expand")
        accessible = tables.exposure(plans[0].block)
        remove_tree(folder / "raw")
    return Written(reach_rows, accessible)


def _sweep(spark: SparkSession, source: Snapshot, plan: Sweep, raw: AnyPath) -> None:
    """Writes rows into `raw`, in one pass over all acting principals for one way of combining roles."""
    parts = spark.sparkContext.defaultParallelism * 2
    if plan.one_role or plan.joined:
        found = _joined_rows(spark, source, plan, parts).mapInArrow(partial(sweep, plan), RAW)
    else:  # the closure is sorted, so each task reads the rows of its subjects from the files
        ranges = even_ranges(source.files("closure"), "subject", parts)
        found = spark.range(0, len(ranges), 1, len(ranges)).mapInArrow(partial(sweep_ranges, plan, ranges), RAW)
    once = spark.range(0, 1, 1, 1).mapInArrow(partial(common, plan), RAW)
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


class _AccessTables:
    """Writes tables into `folder`, from the rows that the sweeps have written into the folder `raw` below it."""

    def __init__(self, spark: SparkSession, folder: AnyPath, listed: Sequence[Name], source: Snapshot) -> None:
        self._spark, self._folder, self._listed, self._source = spark, folder, listed, source

    def named(self, what: str, columns: Sequence[str], out: str) -> int:
        """Writes the rows of a kind into `out`: each row once for every name of its condition. Returns the number of
        written rows."""
        names = F.broadcast(read_parquet(self._spark, self._folder / "names"))
        renamed = [f"{old} as {new}" for old, new in zip("abc", columns, strict=False)]
        rows = self._raw(what, "condition", *renamed)
        joined = rows.join(names, "condition").select(columns[0], "name", "type", *columns[1:])
        write_parquet(joined.write, self._folder / out)
        return count(self._folder, out)

    def _raw(self, what: str, *columns: str) -> DataFrame:
        path = self._folder / "raw" / f"what={what}"
        rows = read_parquet(self._spark, path) if path.exists() else self._spark.createDataFrame([], RAW)
        return rows.selectExpr(*columns)

    def exposure(self, block: int) -> dict[tuple[str, str], int]:
        """Writes the number of allowed users by object and name. Returns the number of pairs by (name, type).

        The steps are summed in blocks of `block` targets, so that the driver has only one sum for each block.
        """
        steps = self._raw("step", "condition", "a as block", "b", "steps")
        totals = steps.groupBy("condition", "block").agg(F.sum("b").alias("sum"), F.count("b").alias("rows")).collect()
        before = self._before({(row["condition"], row["block"]): row["sum"] for row in totals}, block)
        # a row without steps for each block whose previous target has users: the block may have no steps of its own
        anchors = self._spark.createDataFrame([*before], "condition int, block long").withColumn("steps", F.lit(None))
        parts = self._spark.sparkContext.defaultParallelism * 2
        parts = max(parts, sum(row["rows"] for row in totals) // TASK_STEPS)
        cut = steps.drop("b").union(anchors).repartitionByRange(parts, "condition", "block")
        names = by_condition(self._listed)
        blocks = Blocks(self._source.folder.absolute(), self._source.meta.model_dump_json(), names, before, block)
        rows = cut.sortWithinPartitions("condition", "block").mapInArrow(partial(exposed, blocks), SCHEMA)
        write_parquet(rows.write, self._folder / "exposure")
        pairs = read_parquet(self._spark, self._folder / "exposure").groupBy("name", "type").agg(F.sum("users"))
        found = {(row[0], row[1]): int(row[2]) for row in pairs.collect()}
        return {(each.name, each.type): found.get((each.name, each.type), 0) for each in self._listed}

    def _before(self, totals: dict[tuple[int, int], int], block: int) -> dict[tuple[int, int], int]:
        """By condition and block: the number of users of the last target before the block, if it is not 0."""
        objects = read_parquet(self._spark, self._source.folder / "objects").where("exists and not hidden")
        sizes = {row["type"]: row["count"] for row in objects.groupBy("type").count().collect()}
        before: dict[tuple[int, int], int] = {}
        for condition, type_ in {each.condition: each.type for each in self._listed}.items():
            blocks = range(-(-sizes.get(type_, 0) // block))
            sums = accumulate((totals.get((condition, at), 0) for at in blocks), initial=0)
            before |= {(condition, at): users for at, users in zip(blocks, sums, strict=False) if users}
        return before
