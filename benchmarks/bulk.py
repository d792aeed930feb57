"""Measures Spark's answers for all users at several sizes: time, memory by process, files; and compares answers."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from estates import SEED, estate_files
from figures import KINDS, MIB, FigureRow, Figures, ProcessUse, print_progress, table
from generate import Size
from plain import PlainEstate
from questions import Question, sample_questions

from grantpath.engine import Authorizer
from grantpath.engine.tenants import registry
from grantpath.engine.transfer import importer
from grantpath.graph.embedded.connect import connection

NAMES = ["load_table", "alter_table", "drop_table", "SELECT_TABLE"]
ASKED = ("load_table", "alter_table", "drop_table")  # the names that plain Python also answers
LAKEHOUSE: dict[str, Any] = {"policy": "lakehouse", "nested": True, "catalogs": 10}
SIZES = {
    "S": Size(users=1_000, groups=50, roles=100, schemas=10, tables=10, grants=2_000, root="bulk-s", **LAKEHOUSE),
    "M": Size(users=100_000, groups=5_000, roles=10_000, grants=200_000, root="bulk-m", **LAKEHOUSE),
    "L": Size(users=1_000_000, groups=20_000, roles=50_000, tables=1_000, grants=2_000_000, root="bulk-l", **LAKEHOUSE),
    "3L": Size(
        users=3_000_000, groups=60_000, roles=150_000, tables=3_000, grants=6_000_000, root="bulk-3l", **LAKEHOUSE
    ),
    "skew": Size(users=600_000, groups=5_000, roles=10_000, grants=200_000, root="bulk-skew", **LAKEHOUSE),
}
MOST_STAGES = 1_000
LEAST_SECONDS = 1.0  # stages whose longest task is shorter are ignored, because their ratio has no meaning


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=["S", "M"], help="skew: extreme popularity")
    parser.add_argument("--questions", type=int, default=100_000, help="answers to compare at each size")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--one", choices=SIZES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(_measure(options.one, options.questions)))
        return
    figures = {size: _apart(size, options.questions) for size in options.sizes}
    print(json.dumps(figures) if options.json else table({size: _rows(each) for size, each in figures.items()}))
    if any(each["different"] for each in figures.values()):
        raise SystemExit(1)


def _apart(size: str, questions: int) -> Figures:
    """The figures of a size, measured in a new process, so that its memory starts small."""
    print_progress(f"--- size {size}")
    command = [sys.executable, __file__, "--one", size, "--questions", str(questions)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    figures: Figures = json.loads(ran.stdout.splitlines()[-1])
    return figures


def _measure(name: str, asked: int) -> Figures:
    from grantpath.spark_sync import access
    from grantpath.spark_sync.mirroring.mirror import mirror_tenant

    size = SIZES[name]
    with ProcessPoolExecutor(1, get_context("spawn")) as other:  # not in the driver's memory
        more = _skew if name == "skew" else None
        estate = other.submit(estate_files, f"bulk-{name}", size, print_progress, more).result()
        root, seconds = other.submit(_loaded, size, estate).result()
    figures: Figures = {"load": seconds}
    use = ProcessUse()
    folder = Path(tempfile.mkdtemp(prefix="grantpath-bulk-"))
    try:
        out = folder / "snapshot"
        started = time.perf_counter()
        mirror_tenant(connection(), root, out, print_progress)
        figures["mirror"] = time.perf_counter() - started
        answered = access(out, NAMES, [], print_progress, in_process_limit=0)
        figures["access"] = answered.seconds
        figures["pairs"] = sum(answered.accessible.values())
        figures["memory"], figures["cpu"] = use.end()
        figures["here"] = _access_here(out)
        figures["files"] = sum(file.stat().st_size for file in out.rglob("*.parquet")) / MIB
        figures["skew"] = _task_ratios()
        figures |= _compared(out, estate, asked)
    finally:
        shutil.rmtree(folder)
    return figures


def _loaded(size: Size, estate: Path) -> tuple[str, float]:
    """The root, created again and loaded, and the seconds of the load."""
    with Authorizer.open(size.root, size.policy, create=True) as authorizer:
        registry.remove(authorizer.store, authorizer.tenant)
    with Authorizer.open(size.root, size.policy, create=True) as authorizer:
        started = time.perf_counter()
        importer.load(authorizer, estate)
        return authorizer.tenant, time.perf_counter() - started


def _access_here(out: Path) -> float | None:
    """The seconds of `grantpath access` in one process, from command to prompt; None if the estate is too large."""
    from grantpath.spark_sync import Snapshot
    from grantpath.spark_sync.bulk.bulk_access import IN_PROCESS_LIMIT

    if Snapshot(out).meta.counts["objects"] > IN_PROCESS_LIMIT:
        return None
    command = [str(Path(sys.executable).with_name("grantpath")), "access", str(out), "--names", ",".join(NAMES)]
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def _skew(estate: Path) -> None:
    """Adds a role that every user holds, 100,000 grants on one catalog, and 5,000 roles of one user."""
    subjects = pq.read_table(estate / "subjects.parquet")["ref"].to_pylist()
    users, roles = ([ref for ref in subjects if ref.startswith(kind)] for kind in ("user:", "role:"))
    pairs = {(user, roles[0]) for user in users} | {(users[0], role) for role in roles[:5_000]}
    _append(estate, "members", [{"member": member, "of": of} for member, of in sorted(pairs)])
    catalog = next(ref for ref in pq.read_table(estate / "objects.parquet")["ref"].to_pylist() if ref[:8] == "catalog:")
    grant = {"effect": "allow", "privilege": "SELECT_TABLE", "object": catalog}
    _append(estate, "grants", [{**grant, "subject": user} for user in users[:100_000]])


def _append(estate: Path, table: str, rows: list[dict[str, str]]) -> None:
    file = estate / f"{table}.parquet"
    old = pq.read_table(file)
    pq.write_table(pa.concat_tables([old, pa.Table.from_pylist(rows, old.schema)]), file)


def _task_ratios() -> float:
    """The largest ratio of a stage's longest task to its median task. Stages below LEAST_SECONDS are ignored."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.sql import SparkSession

    spark = SparkSession.getActiveSession()
    if spark is None:
        return 1.0
    context = spark.sparkContext
    assert context._jsc is not None and context._gateway is not None
    store = context._jsc.sc().statusStore()
    quantiles = context._gateway.new_array(context._gateway.jvm.double, 2)
    quantiles[0], quantiles[1] = 0.5, 1.0
    ratio = 1.0
    for stage in range(MOST_STAGES):
        try:
            attempt = store.lastStageAttempt(stage)
        except Py4JJavaError:
            continue  # the stage was skipped, or does not exist
        found = store.taskSummary(stage, attempt.attemptId(), quantiles)
        if attempt.numTasks() >= 3 and found.isDefined():
            median, longest = (found.get().duration().apply(at) / 1000 for at in range(2))
            if longest >= LEAST_SECONDS:
                ratio = max(ratio, longest / max(median, 0.001))
    return ratio


def _compared(out: Path, estate: Path, asked: int) -> Figures:
    """Compares answers of the snapshot with those of plain Python, and measures the seconds of one list of each
    kind."""
    from grantpath.spark_sync import Snapshot, ask
    from grantpath.spark_sync.bulk.bulk_questions import conditions, prepare
    from grantpath.spark_sync.bulk.verification import allowed

    questions = [each for each in sample_questions(estate, asked * 10 // 9 + 9, SEED) if each[1] in ASKED][:asked]
    seconds = []
    for question in (f"who can load_table on {questions[0][2]}", f"which table can {questions[0][0]} load_table"):
        started = time.perf_counter()
        ask(out, question)
        seconds.append(time.perf_counter() - started)
    source, plain = Snapshot(out), PlainEstate(estate)
    at = {ref: position for position, ref in enumerate(source.numbering.refs)}
    closure, different = source.closure(), 0
    for name in ASKED:
        mine: list[Question] = [each for each in questions if each[1] == name]
        listed, requirements = conditions(source.policy, [name])
        wanted = requirements[listed[0].condition]
        prepared = prepare(source, [wanted])
        targets = prepared.asked[0].targets
        people = np.unique(np.array([at[user] for user, _, _ in mine], np.int64))
        may = allowed(source, prepared, wanted, people, closure)
        for user, _, object_ in mine:
            rank = int(np.searchsorted(targets, at[object_]))
            found = any(low <= rank < high for low, high in may.get(at[user], ()))
            different += found is not plain.check((user, name, object_))
    return {"compared": len(questions), "different": different, "who": seconds[0], "which": seconds[1]}


def _rows(each: Figures) -> Iterator[FigureRow]:
    yield "load", f"{each['load']:.0f} s", "L: under 180 s"
    yield "mirror + access", f"{each['mirror']:.0f} + {each['access']:.0f} s", "M: under 45 s, L: under 240 s"
    here = "Spark answers" if each["here"] is None else f"{each['here']:.1f} s"
    yield "access in one process, from command to prompt", here, "M: under 15 s"
    yield "pairs of user and object", f"{each['pairs']:,}", ""
    yield "files", f"{each['files']:.0f} MiB", "L: under 250 MiB"
    yield "peak of the driver's Python", f"{each['memory']['driver']:.0f} MiB", "under 600 MiB, flat"
    yield "peak of the JVM", f"{each['memory']['JVM']:.0f} MiB", ""
    yield "peak of all Python workers", f"{each['memory']['workers']:.0f} MiB", ""
    cpu = each["cpu"]
    yield "CPU time of mirror + access", f"{sum(cpu.values()):.0f} s", ""
    shares = " / ".join(f"{cpu[kind]:.0f}" for kind in KINDS)
    yield f"  {', '.join(KINDS)}", f"{shares} s", ""
    yield "longest task / median task", f"{each['skew']:.1f}", "skew: at most 3"
    yield "ask who / which", f"{each['who']:.1f} / {each['which']:.1f} s", "L: under 3 s"
    yield "answers compared / different", f"{each['compared']:,} / {each['different']}", "100,000 / 0"


if __name__ == "__main__":
    os.environ.setdefault("GRANTPATH_SPARK_MEMORY", "6g")
    main()
