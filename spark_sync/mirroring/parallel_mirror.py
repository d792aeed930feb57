"""Mirrors a large tenant in Spark's tasks, which read the tenant, number its entities and write its tables."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pyspark.sql import functions as F

from grantpath.engine.facts.set import graph_ranges
from grantpath.engine.facts.snapshot.snapshot_reader import SnapshotMeta
from grantpath.engine.policy.policy import Policy, from_source
from grantpath.engine.tenants import registry
from grantpath.engine.tenants.one_revision import TRIES, GuardedAsk, at_one_revision
from grantpath.graph.client.connection import Connection
from grantpath.graph.errors import Inconsistent, Unknown
from grantpath.graph.files.remote_path import AnyPath, remove_tree
from grantpath.graph.guard.store import Store
from grantpath.graph.language.reference import Reference
from grantpath.graph.progress import ReportLine
from grantpath.spark_sync.mirroring.changes_meanwhile import ChangesMeanwhile, applied, changes
from grantpath.spark_sync.mirroring.graph_rows import TreeKeys, guarded_ask, tag_types
from grantpath.spark_sync.mirroring.parallel_order import ordered
from grantpath.spark_sync.mirroring.parallel_reader import (
    RawRows,
    Reading,
    TenantMarks,
    make_ready,
    raw_rows,
    read_ranges,
)
from grantpath.spark_sync.mirroring.snapshot_writer import (
    count,
    ddl,
    empty_values,
    finish,
    outside,
    write_closure,
    write_sorted,
)
from grantpath.spark_sync.session.spark_session import SparkEngine, read_parquet, write_parquet

OBJECTS = ("position", "last", "parent", "ref", "type", "exists", "builtin", "hidden")
NO_DICTIONARY = {"parquet.enable.dictionary#ref": "false"}  # no reference is repeated, so a dictionary would not help


@dataclass(frozen=True)
class _Read:
    """A tenant of which all ranges are read. The changes bring the ranges to the revision of the marks."""

    marks: TenantMarks
    policy: Policy
    rows: RawRows
    about: int  # the number of entities
    changes: ChangesMeanwhile


def mirror_in_tasks(
    engine: SparkEngine, connection: Connection, store: Store, root: str, folder: AnyPath, progress: ReportLine
) -> SnapshotMeta:
    """Writes the tables of a snapshot into an existing folder. Raises the errors of `mirror`."""
    raw = folder / "raw"
    read = _read(engine, connection, store, root, raw, progress)
    rows = applied(engine.spark, read.changes, read.rows, read.policy)
    _write_objects(folder, rows, read, root)
    progress(f"numbered {count(folder, 'objects'):,} entities")
    _write_edges(engine, folder, rows)
    remove_tree(raw)
    closed_by = write_closure(folder, engine, progress)
    return finish(folder, root, read.policy, read.marks, closed_by)


# ---- reading ---------------------------------------------------------------------------------------------------------
def _read(
    engine: SparkEngine, connection: Connection, store: Store, root: str, raw: AnyPath, progress: ReportLine
) -> _Read:
    """Reads each range at a revision of its own. Reads a range again if the log does not describe every change since.

    Raises Inconsistent if the tenant is loaded or upgraded during each of TRIES tries.
    """
    now, policy = _marks_and_policy(store, root)
    top = _root_object(store, root, policy)
    reading = Reading(connection, root, now.made, now.policy, TreeKeys.of(policy), tag_types(policy), {})
    with ThreadPoolExecutor(1) as other:  # starts workers while the database finds the ranges
        ready = other.submit(make_ready, engine.spark, reading, raw / "ready")
        bounds = dict(enumerate(graph_ranges.ranges(store, root)))
        ready.result()
    found: dict[int, tuple[int, AnyPath]] = {}  # by range: its revision, and the folder of its rows
    missing = [*bounds]
    for turn in range(TRIES):
        out = raw / str(turn)
        wanted = {number: bounds[number] for number in missing}
        reading = Reading(connection, root, now.made, now.policy, TreeKeys.of(policy), tag_types(policy), wanted)
        done = read_ranges(engine.spark, reading, out)
        found |= {each.number: (each.revision, out) for each in done if each.same}
        was, (now, policy) = now, _marks_and_policy(store, root)
        if (was.made, was.policy) != (now.made, now.policy):
            found = {}
        oldest = min((revision for revision, _ in found.values()), default=now.revision)
        since = changes(guarded_ask(store, root), policy, top, oldest, now.revision)
        found = {number: each for number, each in found.items() if each[0] >= since.base}
        missing = [number for number in bounds if number not in found]
        if not missing:
            progress(f"read {root} at revision {now.revision} in {len(bounds):,} ranges, with {len(since):,} changes")
            rows, about = raw_rows(engine.spark, _by_folder(found)), len(bounds) * graph_ranges.RANGE_ROWS
            return _Read(now, policy, rows, about, since)
        again = f"reading {len(missing):,} ranges again"
        progress(f"a load, an upgrade or a large rename changed {root} while it was read; {again}")
    raise Inconsistent(
        f"a load, an upgrade or a large rename changed {root} in each of {TRIES} tries to read it; try again when it "
        "changes less"
    )


def _by_folder(found: Mapping[int, tuple[int, AnyPath]]) -> dict[AnyPath, list[int]]:
    folders: dict[AnyPath, list[int]] = {}
    for number, (_, folder) in found.items():
        folders.setdefault(folder, []).append(number)
    return folders


def _marks_and_policy(store: Store, root: str) -> tuple[TenantMarks, Policy]:
    """The revision marks of the tenant, and its policy at that revision. Raises Unknown, InvalidPolicy."""

    def work(ask: GuardedAsk) -> tuple[TenantMarks, Policy]:
        row, kept = ask("revision"), registry.find(store, root)
        ask("revision")
        if kept is None:
            raise Unknown(f"{root} was dropped while it was read; name another root")
        return TenantMarks.of(row), from_source(kept["source"])

    return at_one_revision(root, guarded_ask(store, root), work)


def _root_object(store: Store, root: str, policy: Policy) -> Reference:
    """The root object of the tenant. Raises Unknown."""
    named = registry.with_prefix(store, root, f"{policy.root_type}:", 1)
    if not named:
        raise registry.dropped(root)
    return policy.root(named[0])


# ---- writing ---------------------------------------------------------------------------------------------------------
def _write_objects(folder: AnyPath, rows: RawRows, read: _Read, root: str) -> None:
    """Writes the numbered entities, and those of them that are subjects."""
    policy = read.policy
    hidden = F.col("ref").isin(list(policy.hidden)).alias("hidden")
    with ordered(rows.entities, read.about, TreeKeys.of(policy), root) as entities:
        objects = entities.select(*OBJECTS[:-1], hidden).write.options(**NO_DICTIONARY)
        write_parquet(objects, folder / "objects")
        subjects = entities.where(F.col("type").isin(policy.names.subject_types)).select("position", "ref", "type")
        write_parquet(subjects.write.options(**NO_DICTIONARY), folder / "subjects")
    if not count(folder, "subjects") and rows.entities.isEmpty():
        raise registry.dropped(root)


def _write_edges(engine: SparkEngine, folder: AnyPath, rows: RawRows) -> None:
    """Writes memberships and facts, with positions in place of references."""
    objects = read_parquet(engine.spark, folder / "objects", ddl("objects"))
    source = objects.select("ref", F.col("position").alias("source"))
    target = objects.select(F.col("ref").alias("other"), F.col("position").alias("target"), "last", "type")
    edges = rows.members.withColumn("member", F.lit(True)).union(rows.facts.withColumn("member", F.lit(False)))
    # kept, because a table is sorted across its files in two passes
    numbered = edges.join(source, "ref", "left").join(target, "other", "left").drop("ref", "other").persist()
    members = numbered.where("member").select("source", "target", F.col("word").alias("kind"))
    write_sorted(members, folder, "members", "source", "target")
    words = F.split("word", " ")
    privilege = F.when(F.size(words) > 1, words[1]).otherwise("").alias("privilege")
    columns = ["source as holder", "effect", "privilege", "type", "target as start", "last"]
    facts = numbered.where("not member").withColumns({"effect": words[0], "privilege": privilege})
    write_sorted(facts.selectExpr(*columns), folder, "intervals", "holder", "effect", "privilege", "start")
    numbered.unpersist()
    if empty_values(folder / "members") or empty_values(folder / "intervals"):
        raise outside()
