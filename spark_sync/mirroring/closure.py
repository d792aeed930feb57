"""Computes the transitive closure of memberships: every subject with its effective principals, itself included.

Each round doubles the length of paths, so nested groups and role hierarchies of depth d take about log2(d) rounds, and
cycles need no special case. Only subjects with members take part in the rounds; the others are joined at the end.
"""

import logging
import time
import warnings
from collections.abc import Callable
from itertools import count
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from grantpath.graph.files.remote_path import AnyPath
from grantpath.spark_sync.session.spark_session import SparkEngine, read_parquet, write_parquet

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

        vertices = second.groupBy(F.col("source").alias("id")).agg(F.collect_set("target").alias("reached"))
        if first is not second:  # otherwise all ends of edges are vertices, because each reaches itself
            ends = first.select(F.explode(F.array("source", "target")).alias("id")).distinct()
            vertices = ends.join(vertices, "id", "left")
        edges = first.select(F.col("source").alias("src"), F.col("target").alias("dst"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # older GraphFrames use deprecated names of Spark
            warnings.simplefilter("ignore", DeprecationWarning)  # newer ones prefer lists, which older ones refuse
            messages: DataFrame = GraphFrame(vertices, edges).aggregateMessages(
                F.array_distinct(F.flatten(F.collect_list(Message.msg))).alias("reached"),
                sendToSrc=Message.dst["reached"],
            )
        return messages.select(F.col("id").alias("source"), F.explode("reached").alias("target"))


Keep = Callable[[DataFrame], tuple[DataFrame, int]]  # cuts the lineage of rows: no later round computes them again


def in_session(rows: DataFrame) -> tuple[DataFrame, int]:
    """Keeps rows in the memory and on the disks of the executors. Returns them and their number."""
    kept = rows.localCheckpoint(eager=False)
    return kept, kept.count()  # one job computes, keeps and counts them


def kept_in(folder: AnyPath, spark: SparkSession) -> Keep:
    """How a mirror keeps the rows of a round: in a local session by `in_session`, on a cluster in files in `folder`.

    On a cluster, rows on the disks of the executors would be lost along with an executor.
    """
    if (spark.sparkContext.master or "").split("[")[0] == "local":
        return in_session
    numbers = count()

    def keep(rows: DataFrame) -> tuple[DataFrame, int]:
        path = folder / f"round-{next(numbers)}"
        write_parquet(rows.write, path)
        kept = read_parquet(spark, path)
        return kept, kept.count()

    return keep


def composition(engine: SparkEngine) -> Composition:
    """GraphFrames if the session has it, otherwise joins."""
    return Messages() if engine.graphframes else Joins()


def close(by: Composition, subjects: DataFrame, members: DataFrame) -> DataFrame:
    """(subject, holder) from `subjects(id)` and `members(source, target)`; unsorted, without duplicates."""
    reach, _ = close_containers(by, members, in_session)
    return with_members(by, subjects, members, reach)


def close_containers(by: Composition, members: DataFrame, keep: Keep) -> tuple[DataFrame, int]:
    """(source, target) without duplicates, and their number: each group and role with all that it is in, and itself."""
    began = time.monotonic()
    containers, many = keep(members.select("target").distinct())
    inner = members.join(containers.withColumnRenamed("target", "source"), "source", "left_semi")
    itself = containers.select(F.col("target").alias("source"), "target")
    reach, pairs = keep(inner.select("source", "target").union(itself).distinct())
    for turn in range(1, MAX_ROUNDS + 1):
        if pairs == many:  # no group or role is in another one
            break
        many, start = pairs, time.monotonic()
        reach, pairs = keep(by.compose(reach, reach))
        seconds = time.monotonic() - start
        log.info("round %d of the closure by %s: %s pairs in %.1f s", turn, by.name, f"{pairs:,}", seconds)
    else:
        raise AssertionError(f"the closure still grows after {MAX_ROUNDS} doublings")
    log.info(
        "the closure of groups and roles by %s has %s pairs, in %.1f s", by.name, f"{pairs:,}", time.monotonic() - began
    )
    return reach, pairs


def with_members(by: Composition, subjects: DataFrame, members: DataFrame, reach: DataFrame) -> DataFrame:
    """The closure of all subjects, from that of the groups and roles."""
    containers = reach.select(F.col("source").alias("id")).distinct()
    outer = members.select("source", "target").join(containers.withColumnRenamed("id", "source"), "source", "left_anti")
    others = subjects.join(containers, "id", "left_anti")
    alone = others.select(F.col("id").alias("source"), F.col("id").alias("target"))
    pairs = by.compose(outer, reach).union(reach).union(alone)
    return pairs.select(F.col("source").alias("subject"), F.col("target").alias("holder"))
