"""Measures grantpath on a flat and a nested estate: load, checks, batches, lists, Spark's answers for all users."""

import argparse
import json
import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import psutil
from estates import ROOTS, SEED, usual_estate, usual_size
from figures import FigureRow, Figures, print_progress, table
from generate import Size
from plain import PlainEstate
from questions import Question, sample_questions

from grantpath.engine import Authorizer
from grantpath.engine.tenants import registry
from grantpath.engine.transfer import importer
from grantpath.graph.embedded.connect import connection

SINGLE = 2_000  # checks that are timed one by one, each beside a bare round trip
BATCH = 500
LISTS = 40
COMPARED = 300
SPARK_MEMORY = "8g"
TABLE_OPERATIONS = ["load_table", "alter_table", "drop_table", "create_table"]


def main() -> None:
    options = _arguments()
    progress = _silent if options.json else print_progress
    figures = {policy: _measure(policy, options, progress) for policy in options.policies}
    if options.json:
        print(json.dumps({"machine": _machine(), "seed": SEED, **figures}))
    else:
        _print(figures)
    if any(each["correct"]["different"] for each in figures.values()):
        raise SystemExit(1)


def _measure(policy: str, options: argparse.Namespace, progress: Callable[[str], None]) -> Figures:
    size = usual_size(policy, options.users, options.schemas)
    directory = usual_estate(size, progress)
    with Authorizer.open(size.root, policy, create=True) as authorizer:
        registry.remove(authorizer.store, authorizer.tenant)
    with Authorizer.open(size.root, policy, create=True) as authorizer:
        figures: Figures = {"load": _load(authorizer, directory, progress)}
        questions = sample_questions(directory, SINGLE + 20 * BATCH, SEED)
        figures["correct"] = _compare(authorizer, directory, questions, progress)
        figures["check"] = _checks(authorizer, questions, progress)
        figures["lists"] = _lists(authorizer, questions, progress)
        if not options.no_spark:
            figures["spark"] = _spark(authorizer, progress)
    return figures


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--users", type=int, default=Size.users, help="for 20 users, there are 1 group, 2 roles and 40 grants"
    )
    parser.add_argument("--schemas", type=int, default=Size.schemas, help="per catalog; a schema has 100 tables")
    parser.add_argument(
        "--policies", nargs="+", choices=ROOTS, default=list(ROOTS), help="gravitino: flat; lakehouse: nested"
    )
    parser.add_argument("--no-spark", action="store_true", help="omit mirror and access")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args()


def _silent(_: str) -> None:
    pass


def _machine() -> Figures:
    return {
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "python": platform.python_version(),
    }


def _load(authorizer: Authorizer, directory: Path, progress: Callable[[str], None]) -> Figures:
    progress("loading")
    start = time.perf_counter()
    report = importer.load(authorizer, directory)
    seconds = time.perf_counter() - start
    rows = sum(report.rows.values())
    return {"rows": rows, "seconds": seconds, "rows_per_second": rows / seconds}


def _compare(
    authorizer: Authorizer, directory: Path, questions: Sequence[Question], progress: Callable[[str], None]
) -> Figures:
    progress("comparing answers with plain Python")
    plain = PlainEstate(directory)
    asked = questions[:COMPARED]
    decisions = authorizer.check_many(asked)
    different = [each for each, decision in zip(asked, decisions, strict=True) if plain.check(each) != bool(decision)]
    for each in different[:5]:
        progress(f"DIFFERENT: {' '.join(each)}")
    return {"checks": len(asked), "allowed": sum(map(bool, decisions)), "different": len(different)}


def _checks(authorizer: Authorizer, questions: Sequence[Question], progress: Callable[[str], None]) -> Figures:
    """Measures bare round trips, checks and batches by turns, so that other work on the machine affects all three."""
    progress("checking")

    def bare() -> None:
        authorizer.store.read("RETURN 1 AS one", {})

    single, rest = questions[:SINGLE], questions[SINGLE:]
    batches = [rest[at : at + BATCH] for at in range(0, len(rest), BATCH)]
    for warming in range(0, SINGLE, 4):
        bare()
        authorizer.check(*single[warming])
    for batch in batches[:4]:
        authorizer.check_many(batch)
    times: dict[str, list[float]] = {"bare": [], "check": [], "batch": []}
    turns = max(1, len(single) // len(batches))
    for at, question in enumerate(single):
        times["bare"].append(_seconds(bare))
        times["check"].append(_seconds(partial(authorizer.check, *question)))
        if at % turns == 0 and at // turns < len(batches):
            batch = batches[at // turns]
            times["batch"].append(_seconds(partial(authorizer.check_many, batch)) / BATCH)
    figures: Figures = {
        f"{name}_{percent}_ms": _percentile(times[name], percent) * 1000 for name in times for percent in ("p50", "p95")
    }
    figures["check_ratio"] = figures["check_p50_ms"] / figures["bare_p50_ms"]
    figures["batch_ratio"] = figures["batch_p50_ms"] / figures["bare_p50_ms"]
    return figures


def _lists(authorizer: Authorizer, questions: Sequence[Question], progress: Callable[[str], None]) -> Figures:
    """Measures `who` and `which` for the first questions about tables."""
    progress("listing")
    asked = [each for each in questions if each[2].startswith("table:")][:LISTS]
    found: Figures = {}
    ways: dict[str, Callable[[Question], Iterable[str]]] = {
        "who": lambda each: authorizer.who(each[1], each[2]),
        "which": lambda each: authorizer.which("table", each[0], each[1]),
    }
    for name, ask in ways.items():
        counts, times = [], []
        for each in asked:
            start = time.perf_counter()
            counts.append(sum(1 for _ in ask(each)))
            times.append(time.perf_counter() - start)
        found[name] = {
            "p50_ms": _percentile(times, "p50") * 1000,
            "p95_ms": _percentile(times, "p95") * 1000,
            "ids": sum(counts),
            "ids_per_second": sum(counts) / sum(times),
        }
    return found


def _spark(authorizer: Authorizer, progress: Callable[[str], None]) -> Figures:
    os.environ.setdefault("GRANTPATH_SPARK_MEMORY", SPARK_MEMORY)
    from grantpath.spark_sync.bulk.bulk_access import access
    from grantpath.spark_sync.mirroring.mirror import mirror_tenant

    folder = Path(tempfile.mkdtemp(prefix="grantpath-bench-"))
    try:
        start = time.perf_counter()
        mirror_tenant(connection(), authorizer.tenant, folder / "snapshot", progress)
        middle = time.perf_counter()
        names = [*authorizer.policy.names.privileges, *TABLE_OPERATIONS]
        report = access(folder / "snapshot", names, [], progress)
        end = time.perf_counter()
    finally:
        shutil.rmtree(folder)
    pairs = sum(count for (name, _), count in report.accessible.items() if name in TABLE_OPERATIONS)
    return {"mirror_seconds": middle - start, "access_seconds": end - middle, "seconds": end - start, "pairs": pairs}


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _percentile(times: Sequence[float], name: str) -> float:
    return statistics.median(times) if name == "p50" else statistics.quantiles(times, n=20)[18]


def _print(figures: Figures) -> None:
    machine = _machine()
    print(f"\n{machine['cores']} cores, {machine['memory_gib']} GiB, Python {machine['python']}, seed {SEED}\n")
    print(table({policy: _rows(each) for policy, each in figures.items()}))


def _rows(figures: Figures) -> Iterator[FigureRow]:
    loaded, check, correct = figures["load"], figures["check"], figures["correct"]
    yield "rows loaded", f"{loaded['rows']:,}", ""
    yield "  in", f"{loaded['seconds']:.0f} s", "under 180 s"
    yield "  rows a second", f"{loaded['rows_per_second']:,.0f}", "15,000"
    yield "bare RETURN 1, p50 / p95", f"{check['bare_p50_ms']:.2f} / {check['bare_p95_ms']:.2f} ms", ""
    yield "operation check, p50 / p95", f"{check['check_p50_ms']:.2f} / {check['check_p95_ms']:.2f} ms", ""
    yield "  times a bare round trip", f"{check['check_ratio']:.2f}", "at most 2.5"
    yield f"check_many by {BATCH}, a check", f"{check['batch_p50_ms']:.3f} ms", ""
    yield "  times a bare round trip", f"{check['batch_ratio']:.2f}", "at most 0.45"
    for name, what in (("who", "who may use a table"), ("which", "which tables for a user")):
        each = figures["lists"][name]
        yield f"{what}, p50 / p95", f"{each['p50_ms']:.0f} / {each['p95_ms']:.0f} ms", ""
        yield "  references a second", f"{each['ids_per_second']:,.0f}", ""
    if spark := figures.get("spark"):
        yield "mirror + access", f"{spark['mirror_seconds']:.0f} + {spark['access_seconds']:.0f} s", "under 180 s"
        yield "  pairs of user and table counted", f"{spark['pairs']:,}", ""
    yield "checks compared with plain Python", f"{correct['checks']} ({correct['allowed']} allowed)", ""
    yield "  different", f"{correct['different']}", "0"


if __name__ == "__main__":
    main()
