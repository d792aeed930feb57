"""Computes the transitive closure of memberships: every subject with its effective principals, itself included.

Each round doubles the length of paths, so nested groups and role hierarchies of depth d take about log2(d) rounds, and
cycles need no special case. Only subjects with members take part in the rounds; the others are joined at the end.
"""

import logging
import time
import warnings
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from grantpath.spark_sync.spark_session import SparkEngine, place, read_parquet

log = logging.getLogger("grantpath.spark")
MAX_ROUNDS = 64  # enough for paths of 2^64 memberships; a safety bound


class Composition(Protocol):
    """One round of the closure."""

    name: str

    def compose(self, first: DataFrame, second: DataFrame) -> DataFrame:
        """The pairs (source, target) that are connected by a pair of `first` followed by a pair of `second`."""


class Joins:
    """One round by a plain join of DataFrames."""

    name = "plain DataFrame joins"

    def compose(self, first: DataFrame, second: DataFrame) -> DataFrame:
        then = second.select(F.col("source").alias("target"), F.col("target").alias("further"))
        return first.join(then, "target").select("source", F.col("further").alias("target")).distinct()


class Messages:
    """One round by GraphFrames: along each edge, the target sends the source the set that it reaches."""

    name = "GraphFrames"

    def compose(self, first: DataFrame, second: DataFrame) -> DataFrame:
        from graphframes import GraphFrame
        from graphframes.lib import AggregateMessages as Message

        reached = second.groupBy(F.col("source").alias("id")).agg(F.collect_set("target").alias("reached"))
        ends = first.select(F.explode(F.array("source", "target")).alias("id")).distinct()
        edges = first.select(F.col("source").alias("src"), F.col("target").alias("dst"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # older GraphFrames use deprecated names of Spark
            messages: DataFrame = GraphFrame(ends.join(reached, "id", "left"), edges).aggregateMessages(
                F.array_distinct(F.flatten(F.collect_list(Message.msg))).alias("reached"),
                sendToSrc=Message.dst["reached"],
            )
        return messages.select(F.col("id").alias("source"), F.explode("reached").alias("target"))


Keep = Callable[[DataFrame], DataFrame]  # computes rows, and cuts their lineage: no later round computes them again


def in_session(rows: DataFrame) -> DataFrame:
    """Keeps rows in the memory and on the disks of the executors."""
    return rows.localCheckpoint()


def kept_in(folder: Path, spark: SparkSession) -> Keep:
    """The way in which a mirror keeps the rows of a round: `in_session` if Spark is local, files in `folder` otherwise.

    On a cluster, rows on the disks of the executors would be lost along with an executor.
    """
    if (spark.sparkContext.master or "").split("[")[0] == "local":
        return in_session
    numbers = count()

    def keep(rows: DataFrame) -> DataFrame:
        path = folder / f"round-{next(numbers)}"
        rows.write.parquet(place(path))
        return read_parquet(spark, path)

    return keep


def composition(engine: SparkEngine) -> Composition:
    """GraphFrames if the session has it, otherwise joins."""
    return Messages() if engine.graphframes else Joins()


def close(by: Composition, subjects: DataFrame, members: DataFrame, keep: Keep = in_session) -> DataFrame:
    """(subject, holder) from `subjects(id)` and `members(source, target)`; unsorted, without duplicates."""
    began = time.monotonic()
    edges = keep(members.select("source", "target").distinct())
    containers = keep(edges.select("target").distinct())
    inner = edges.join(containers.withColumnRenamed("target", "source"), "source", "left_semi")
    itself = containers.select(F.col("target").alias("source"), "target")
    reach = itself if inner.isEmpty() else _to_a_fixpoint(by, inner.union(itself).distinct(), keep)
    outer = edges.join(containers.withColumnRenamed("target", "source"), "source", "left_anti")
    others = subjects.join(containers.withColumnRenamed("target", "id"), "id", "left_anti")
    alone = others.select(F.col("id").alias("source"), F.col("id").alias("target"))
    pairs = by.compose(outer, reach).union(reach).union(alone)
    closed = keep(pairs.select(F.col("source").alias("subject"), F.col("target").alias("holder")))
    if log.isEnabledFor(logging.INFO):  # counting costs a job
        seconds = time.monotonic() - began
        log.info("the closure by %s has %s pairs, in %.1f s", by.name, f"{closed.count():,}", seconds)
    return closed


def _to_a_fixpoint(by: Composition, reach: DataFrame, keep: Keep) -> DataFrame:
    """The closure of pairs that include each subject's pair with itself."""
    reach = keep(reach)
    pairs = reach.count()
    for turn in range(1, MAX_ROUNDS + 1):
        began = time.monotonic()
        reach = keep(by.compose(reach, reach))
        before, pairs = pairs, reach.count()
        seconds = time.monotonic() - began
        log.info("round %d of the closure by %s: %s pairs in %.1f s", turn, by.name, f"{pairs:,}", seconds)
        if pairs == before:
            return reach
    raise AssertionError(f"the closure still grows after {MAX_ROUNDS} doublings")
