"""Closes memberships over: from who is directly in what to every subject with all its principals, itself included.

Paths are doubled in each round, so that nested groups and role hierarchies of depth d take about log2(d) rounds, and
cycles end by themselves. Only subjects that something is in go through the rounds; everybody else joins at the end.
"""

import warnings
from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from grantpath.spark_sync.spark_session import SparkEngine

MAX_ROUNDS = 64  # paths of 2^64 memberships: never reached, only a bound


class Composition(Protocol):
    """One round, in whichever way Spark is to do it."""

    name: str

    def compose(self, first: DataFrame, second: DataFrame) -> DataFrame:
        """Pairs (source, target) that a pair of `first` and then one of `second` lead along."""


class Joins:
    """One round by a plain join of DataFrames."""

    name = "plain DataFrame joins"

    def compose(self, first: DataFrame, second: DataFrame) -> DataFrame:
        then = second.select(F.col("source").alias("target"), F.col("target").alias("further"))
        return first.join(then, "target").select("source", F.col("further").alias("target")).distinct()


class Messages:
    """One round by GraphFrames: along each edge, the target tells the source whom it reaches."""

    name = "GraphFrames"

    def compose(self, first: DataFrame, second: DataFrame) -> DataFrame:
        from graphframes import GraphFrame
        from graphframes.lib import AggregateMessages as Message

        reached = second.groupBy(F.col("source").alias("id")).agg(F.collect_set("target").alias("reached"))
        ends = first.select(F.explode(F.array("source", "target")).alias("id")).distinct()
        edges = first.select(F.col("source").alias("src"), F.col("target").alias("dst"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # older GraphFrames use older names of Spark's
            messages: DataFrame = GraphFrame(ends.join(reached, "id", "left"), edges).aggregateMessages(
                F.array_distinct(F.flatten(F.collect_list(Message.msg))).alias("reached"),
                sendToSrc=Message.dst["reached"],
            )
        return messages.select(F.col("id").alias("source"), F.explode("reached").alias("target"))


def composition(engine: SparkEngine) -> Composition:
    """GraphFrames where the session has it."""
    return Messages() if engine.graphframes else Joins()


def close(by: Composition, subjects: DataFrame, members: DataFrame) -> DataFrame:
    """(subject, holder) from `subjects(id)` and `members(source, target)`; sorted neither way, each pair once."""
    edges = members.select("source", "target").distinct().localCheckpoint()
    containers = edges.select("target").distinct().localCheckpoint()
    inner = edges.join(containers.withColumnRenamed("target", "source"), "source", "left_semi")
    itself = containers.select(F.col("target").alias("source"), "target")
    reach = itself if inner.isEmpty() else _to_a_fixpoint(by, inner.union(itself).distinct())
    outer = edges.join(containers.withColumnRenamed("target", "source"), "source", "left_anti")
    others = subjects.join(containers.withColumnRenamed("target", "id"), "id", "left_anti")
    alone = others.select(F.col("id").alias("source"), F.col("id").alias("target"))
    pairs = by.compose(outer, reach).union(reach).union(alone)
    return pairs.select(F.col("source").alias("subject"), F.col("target").alias("holder")).localCheckpoint()


def _to_a_fixpoint(by: Composition, reach: DataFrame) -> DataFrame:
    """Everything reached, from pairs that hold every subject's pair with itself."""
    reach = reach.localCheckpoint()
    count = reach.count()
    for _ in range(MAX_ROUNDS):
        # The checkpoint breaks the lineage: without it each round would compute all rounds before it again.
        reach = by.compose(reach, reach).localCheckpoint()
        before, count = count, reach.count()
        if count == before:
            return reach
    raise AssertionError("a closure that grows for 64 doublings")
