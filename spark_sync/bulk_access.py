"""Bulk answers: the access of all users, as reach by subject and exposure by object, for many names in one pass."""

import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from grantpath.engine.facts.fact_table import Prepared, TargetedQuestion
from grantpath.engine.facts.intervals import ActingPrincipals, Bools, Ints
from grantpath.engine.policy.policy import Policy, Requirement
from grantpath.graph.errors import Invalid, InvalidInput
from grantpath.graph.progress import ReportLine
from grantpath.spark_sync.access_tables import AccessTables, Name, listed_objects
from grantpath.spark_sync.snapshot import Snapshot
from grantpath.spark_sync.snapshot_folders import building
from grantpath.spark_sync.spark_session import engine, place, read_parquet
from grantpath.spark_sync.sweep_task import SCHEMA, Tally, sweep

ALL_USERS = -1  # pseudo-subject: the access that every user has; a user without a row has only this
_NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True)
class _Common:
    """The access that every user has: the number of objects, and the intervals of positions."""

    objects: int
    ends: list[tuple[int, int]]


@dataclass(frozen=True)
class AccessReport:
    """A summary of what `access` wrote into the snapshot."""

    snapshot: Path
    names: list[Name]
    expanded: list[str]
    reach_rows: int
    accessible: dict[tuple[str, str], int]  # (name, type): the number of allowed pairs of user and object
    seconds: float


def access(snapshot: Path, names: list[str] | None, expand: list[str], progress: ReportLine) -> AccessReport:
    """Computes reach, exposure and, for the names in `expand`, intervals, into the snapshot's folder `access`.

    `names` are privileges and operations, on all of their types; None means all that need no second object. Raises
    Unknown or Invalid for a name, InvalidInput if the snapshot cannot be read, ServerError, GrantpathError if the disk
    is full.
    """
    started = time.monotonic()
    source = Snapshot(snapshot)
    listed, questions = conditions(source.policy, [*names, *expand] if names is not None else None)
    wanted = {name for name in expand if not any(each.name == name for each in listed)}
    if wanted:
        raise InvalidInput(f"expand: {', '.join(sorted(wanted))} needs a second object and has no bulk answer; omit it")
    spark = engine(progress).spark
    expanded = np.array([any(n.condition == at and n.name in expand for n in listed) for at in range(len(questions))])
    with building(snapshot / "access", replace=True) as folder:
        tables = AccessTables(spark, folder, listed, source)
        common = _compute(spark, source, questions, expanded, folder / "raw", progress)
        totals = [(at, ALL_USERS, each.objects) for at, each in common.items() if each.objects]
        reach_rows = tables.named("reach", totals, ["subject", "objects"], "reach")
        if expand:
            whole = [(at, ALL_USERS, *ends) for at in np.flatnonzero(expanded).tolist() for ends in common[at].ends]
            tables.named("interval", whole, ["subject", "start", "last"], "expand")
        accessible = tables.exposure()
        shutil.rmtree(folder / "raw")
        seconds = time.monotonic() - started
        report = AccessReport(snapshot, listed, expand, reach_rows, accessible, seconds)
    progress(f"access of {len(source.numbering):,} entities for {len(listed)} names in {report.seconds:.0f} s")
    return report


def conditions(policy: Policy, names: Sequence[str] | None) -> tuple[list[Name], list[Requirement]]:
    """The names by type, and their distinct questions. Raises Unknown, Invalid for a name that cannot be asked."""
    listed: list[Name] = []
    questions: list[Requirement] = []
    numbers: dict[object, int] = {}
    canonical = {name: _canonical(policy, name) for name in names or []}
    for type_ in policy.names.types:
        asked = policy.names_on(type_)
        if names is not None:
            asked = [name for name, own in dict.fromkeys(canonical.items()) if own in asked]
        for name in asked:
            try:
                question = policy.question(name, type_)
            except Invalid:
                if names is not None:
                    raise
                continue  # it needs a second object
            key = (type_, question.clauses, question.one_role)
            if key not in numbers:
                numbers[key] = len(questions)
                questions.append(question)
            listed.append(Name(name, type_, numbers[key]))
    return listed, questions


def _canonical(policy: Policy, name: str) -> str:
    """The name in the form in which `names_on` lists it. Raises Unknown."""
    if name.isupper():
        return policy.names.canonical(name)
    own = policy.file.aliases.get(name, name)
    if own not in policy.names.operation_types:
        policy.names.operation(name, policy.root_type)
    return own


def prepare(source: Snapshot, questions: Sequence[Requirement]) -> Prepared:
    """The questions, prepared for all existing objects of their types that are not hidden."""
    targets = {type_: listed_objects(source, type_) for type_ in {question.type for question in questions}}
    return Prepared(
        source.fact_table, [TargetedQuestion(each.clauses, each.type, targets[each.type]) for each in questions]
    )


def users(source: Snapshot) -> Bools:
    """By position: whether the entity is a user or service principal that answers can contain."""
    codes = [source.numbering.types.index(name) for name in source.policy.user_types]
    chosen = np.isin(source.numbering.type, codes) & source.numbering.exists
    chosen[source.hidden] = False
    return chosen


def without_facts(prepared: Prepared) -> list[tuple[Ints, Ints]]:
    """For each question, the access of a user without facts, as half-open intervals."""
    no_principals = ActingPrincipals(np.zeros(1, np.int64), np.zeros(2, np.int64), np.empty(0, np.int64))
    return [(low, high) for _, low, high in prepared.answers(no_principals)]


def _compute(
    spark: SparkSession,
    source: Snapshot,
    questions: list[Requirement],
    expanded: Bools,
    raw: Path,
    progress: ReportLine,
) -> dict[int, _Common]:
    """Writes rows into `raw`, in one pass over all acting principals for each way of combining roles.

    Returns, by condition, the access that every user has, as intervals of positions.
    """
    common: dict[int, _Common] = {}
    for one_role in (False, True):
        chosen = [at for at, question in enumerate(questions) if question.one_role is one_role]
        if not chosen:
            continue
        prepared = prepare(source, [questions[at] for at in chosen])
        shared_by_all = [(_NOTHING, _NOTHING)] * len(chosen) if one_role else without_facts(prepared)
        progress(f"{len(chosen)} conditions over {len(prepared.facts.key):,} intervals of principals")
        counts = np.array([int((high - low).sum()) for low, high in shared_by_all], np.int64)
        tally = Tally(prepared, np.array(chosen), counts, expanded[chosen], users(source), one_role)
        task = partial(_task, spark.sparkContext.broadcast(tally))
        rows = acting_table(spark, source, one_role).mapInArrow(task, SCHEMA)
        rows.write.mode("append").partitionBy("what").parquet(place(raw))
        for at, asked, (low, high) in zip(chosen, prepared.asked, shared_by_all, strict=True):
            ends = list(zip(asked.targets[low].tolist(), asked.targets[high - 1].tolist(), strict=True))
            common[at] = _Common(int((high - low).sum()), ends)
    return common


def _task(shared: Broadcast[Tally], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return sweep(shared.value, batches)


def acting_table(spark: SparkSession, source: Snapshot, one_role: bool) -> DataFrame:
    """Rows (subject, role, holder), grouped by subject: one group of all roles, or (`one_role`) one for each role."""
    closure = read_parquet(spark, source.folder / "closure")
    rows = closure.select("subject", F.col("subject").alias("role"), "holder")
    if one_role:
        members = read_parquet(spark, source.folder / "members").where("kind = 'HAS_ROLE'")
        held = members.select(F.col("source").alias("user"), F.col("target").alias("role")).distinct()
        reached = held.join(closure, held.role == closure.subject).select("user", "role", "holder")
        rows = reached.union(held.select("user", "role", F.col("user").alias("holder"))).distinct()
        rows = rows.withColumnRenamed("user", "subject")
    parts = spark.sparkContext.defaultParallelism * 2
    return rows.repartitionByRange(parts, "subject").sortWithinPartitions("subject", "role")
