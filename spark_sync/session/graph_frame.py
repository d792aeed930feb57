"""A snapshot as a GraphFrame, with references as ids, for motifs, degrees and graph algorithms."""

import logging
from collections.abc import Collection, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.utils import is_remote

from grantpath.engine.policy.facts import OF_TAG
from grantpath.graph.errors import InvalidInput, ServerError
from grantpath.graph.files.remote_path import AnyPath
from grantpath.graph.messages import short
from grantpath.spark_sync.session.graphframes_maven import coordinate
from grantpath.spark_sync.session.spark_session import (
    JAR_VARIABLE,
    engine,
    has_graphframes,
    read_parquet,
    require_reach,
)

if TYPE_CHECKING:
    from graphframes import GraphFrame

    from grantpath.spark_sync.session.snapshot import Snapshot

log = logging.getLogger("grantpath.spark")
MEMBERSHIPS = ("MEMBER_OF", "HAS_ROLE")
FACTS = ("ALLOW", "DENY", "OWNS", "TAGGED")
CHILD_OF = "CHILD_OF"
RELATIONSHIPS = (*MEMBERSHIPS, *FACTS, CHILD_OF)
_LAST_SEGMENT = "(`(?:[^`]|``)*`|[^`.]*)$"


def graph_frame(
    source: "Snapshot", spark: SparkSession | None, relationships: Collection[str] | None = None
) -> "GraphFrame":
    """The snapshot's graph; see `Snapshot.graph`."""
    wanted = _wanted(relationships)
    if is_remote():
        raise ServerError(
            "Snapshot.graph does not work with Spark Connect; use a process without it, or the views (register)"
        )
    spark = spark or engine(log.info).spark
    if not has_graphframes(spark):
        raise ServerError(
            f"GraphFrames is not available in this session of Spark {spark.version}; install graphframes-py and start "
            f"the session with the jar (spark.jars.packages={coordinate(spark.version)}, or `spark.jars`), or name the "
            f"jar in {JAR_VARIABLE} and let grantpath start Spark"
        )
    require_reach(spark, source.folder)
    source.require_complete()
    from graphframes import GraphFrame

    objects = read_parquet(spark, source.folder / "objects")
    vertices = objects.select(
        F.col("ref").alias("id"), "type", _name(source.policy.names.subject_types).alias("name"), "exists"
    )
    return GraphFrame(vertices, _edges(spark, source.folder, objects, wanted))


def _wanted(relationships: Collection[str] | None) -> list[str]:
    """The relationships in the order of RELATIONSHIPS. Raises InvalidInput."""
    if relationships is None:
        return [*RELATIONSHIPS]
    if isinstance(relationships, str):
        raise InvalidInput(f"relationships={short(relationships)!r} is a string; write a list, e.g. ('ALLOW',)")
    for each in relationships:
        if each not in RELATIONSHIPS:
            names = ", ".join(RELATIONSHIPS)
            raise InvalidInput(f"{short(str(each))!r} is not a relationship; the relationships are {names}")
    if not relationships:
        raise InvalidInput("relationships is empty; name at least one, or omit it for all")
    return [each for each in RELATIONSHIPS if each in relationships]


def _name(subject_types: Sequence[str]) -> Column:
    """The last segment of `ref`, unquoted. A subject's name is one segment, which may contain dots without quotes."""
    text = F.expr("substring(ref, length(type) + 2)")
    last = F.when(F.col("type").isin(*subject_types), text).otherwise(F.regexp_extract(text, _LAST_SEGMENT, 1))
    return _unquoted(last)


def _unquoted(segment: Column) -> Column:
    inside = segment.substr(F.lit(2), F.length(segment) - 2)
    return F.when(segment.startswith("`"), F.replace(inside, F.lit("``"), F.lit("`"))).otherwise(segment)


def _edges(spark: SparkSession, folder: AnyPath, objects: DataFrame, wanted: Sequence[str]) -> DataFrame:
    """(src, dst, relationship, effect, privilege) of these relationships. Only the files that they need are read."""
    nothing = F.lit(None).cast("string")
    parts = []
    if chosen := [each for each in wanted if each in MEMBERSHIPS]:
        members = read_parquet(spark, folder / "members").where(F.col("kind").isin(*chosen))
        parts.append(members.select("source", "target", "kind", nothing.alias("effect"), nothing.alias("privilege")))
    if chosen := [each for each in wanted if each in FACTS]:
        facts = read_parquet(spark, folder / "intervals").where(F.col("effect").isin(*chosen))
        facts = facts.where(~F.col("privilege").contains(OF_TAG))  # they follow from TAGGED and the grants on tags
        granted, tagged = F.col("effect").isin("ALLOW", "DENY"), F.col("effect") == "TAGGED"
        columns = [F.when(granted, F.col(column)).alias(column) for column in ("effect", "privilege")]
        ends = [
            F.when(tagged, F.col(other)).otherwise(F.col(end))
            for end, other in (("holder", "start"), ("start", "holder"))
        ]
        parts.append(facts.select(*ends, F.col("effect").alias("kind"), *columns))
    if CHILD_OF in wanted:
        inner = objects.where("parent >= 0")
        kind = F.lit(CHILD_OF).alias("kind")
        parts.append(inner.select("position", "parent", kind, nothing.alias("effect"), nothing.alias("privilege")))
    edges = reduce(DataFrame.union, parts).toDF("source", "target", "relationship", "effect", "privilege")
    src = objects.select(F.col("position").alias("source"), F.col("ref").alias("src"))
    dst = objects.select(F.col("position").alias("target"), F.col("ref").alias("dst"))
    return edges.join(src, "source").join(dst, "target").select("src", "dst", "relationship", "effect", "privilege")
