"""Measures a copy of the facts in memory on one large root, and compares it with Cypher and with a bare round trip."""

import argparse
import gc
import json
import multiprocessing
import random
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from bench import BATCH, SINGLE
from estates import ROOTS, SEED, usual_estate, usual_size
from figures import Figures, print_progress
from generate import Size
from questions import Question, sample_questions

from grantpath.engine import Authorizer
from grantpath.engine.facts.copy.replica import Replica
from grantpath.engine.tenants import registry
from grantpath.engine.transfer import importer

ROOT = ROOTS["gravitino"]
LISTS = 40
FIRST_PAGE = 100
PROCESSES, SECONDS = 8, 10.0
COMPARED = 1_000
GRID = (1_000, 100)  # users and tables

_forked: list[Authorizer] = []


def main() -> None:
    options = _arguments()
    size = usual_size("gravitino", options.users, options.schemas)
    directory = usual_estate(size, print_progress)
    with Authorizer.open(ROOT, "gravitino", create=True, timeout=60) as plain:
        if plain.revision_now() == 0:
            print_progress("loading")
            importer.load(plain, directory)
        questions = sample_questions(directory, SINGLE + 20 * BATCH, SEED)
        figures = measure(plain, questions, directory, options.json)
        if options.drop:
            registry.remove(plain.store, plain.tenant)
    for name, value in figures.items():
        print(f"{name:<44} {value}")
    if figures["different"]:
        raise SystemExit(1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=Size.users)
    parser.add_argument("--schemas", type=int, default=Size.schemas, help="per catalog; a schema has 100 tables")
    parser.add_argument("--drop", action="store_true", help="remove the root afterwards; otherwise it is used again")
    parser.add_argument("--json", action="store_true", help="also print the figures as one JSON object")
    return parser.parse_args()


def measure(plain: Authorizer, questions: Sequence[Question], directory: Path, as_json: bool) -> Figures:
    """The figures by name. All kinds of questions are asked by turns."""
    gc.collect()
    before = psutil.Process().memory_info().rss
    start = time.perf_counter()
    auth = Authorizer(plain.store, plain.tenant, plain.policy, plain.root)
    auth.replica = Replica.of(plain.store, plain.tenant, plain.root, plain.policy)
    started = time.perf_counter() - start
    gc.collect()
    figures: Figures = {
        "start from the graph, s": round(started, 1),
        "memory of the copy, MiB": round((psutil.Process().memory_info().rss - before) / 2**20),
        **_checks(plain, auth, questions),
        **_columns(auth, questions, directory),
        **_lists(auth, questions, _popular(directory)),
        "different": _different(plain, auth, questions),
        **_processes(auth, questions),
    }
    figures["answered from memory, left to Cypher"] = f"{auth.replica.answered}, {auth.replica.left}"
    if as_json:
        print(json.dumps(figures))
    return figures


def _checks(plain: Authorizer, auth: Authorizer, questions: Sequence[Question]) -> Figures:
    single, rest = questions[:SINGLE], questions[SINGLE:]
    batches = [rest[at : at + BATCH] for at in range(0, len(rest), BATCH)]
    works: dict[str, Callable[[Question], object]] = {
        "RETURN 1": lambda _: plain.store.read("RETURN 1 AS one", {}),
        "check, from memory": lambda each: auth.check(*each),
        "check, Cypher": lambda each: plain.check(*each),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for at, question in enumerate([*single[:200], *single]):
        for name, work in works.items():
            seconds = _seconds(partial(work, question)) * 1_000
            if at >= 200:
                times[name].append(seconds)
    bare = times["RETURN 1"]
    return {
        **{f"{name}, p50 and p99, ms": f"{_at(each, 50):.2f} {_at(each, 99):.2f}" for name, each in times.items()},
        "check from memory, x RETURN 1, p50 and p99": " ".join(
            f"{_at(times['check, from memory'], part) / _at(bare, part):.2f}" for part in (50, 99)
        ),
        f"check_many by {BATCH}, checks a second, median and mean": _rates(auth, batches),
        "the same after gc.freeze()": _rates_when_frozen(auth, batches),
    }


def _rates(auth: Authorizer, batches: Sequence[Sequence[Question]]) -> str:
    """The checks per second of the median batch, and of all batches together."""
    times = [_seconds(partial(auth.check_many, each)) for each in batches]
    return " ".join(f"{BATCH / each:.0f}" for each in (statistics.median(times), statistics.mean(times)))


def _rates_when_frozen(auth: Authorizer, batches: Sequence[Sequence[Question]]) -> str:
    """The same while Python's garbage collector ignores the copy, as docs/python.md advises for a service."""
    gc.collect()
    gc.freeze()
    try:
        return _rates(auth, batches)
    finally:
        gc.unfreeze()


def _columns(auth: Authorizer, questions: Sequence[Question], directory: Path) -> Figures:
    """Checks in columns, and a filter of many objects."""
    refs = pq.read_table(directory / "objects.parquet").column("ref").to_pylist()
    tables = [each for each in refs if each.startswith("table:")]
    subjects = pq.read_table(directory / "subjects.parquet").column("ref").to_pylist()
    users, rng = [each for each in subjects if each.startswith("user:")], random.Random(SEED)
    grid = [*product(rng.sample(users, GRID[0]), rng.sample(tables, GRID[1]))]
    pairs = [(rng.choice(users), rng.choice(tables)) for _ in grid]
    figures: Figures = {}
    for label, asked in ((f"{GRID[0]} x {GRID[1]}", grid), (f"{len(pairs)} random pairs", pairs)):
        subject, object_ = (pa.array(each) for each in zip(*asked, strict=True))
        table = pa.table({"subject": subject, "name": pa.array(["load_table"] * len(asked)), "object": object_})
        times = [_seconds(partial(auth.check_table, table)) for _ in range(5)]
        figures[f"check_table, {label}, rows a second"] = round(len(asked) / statistics.median(times))
    for count in (500, 20_000, 100_000):
        some = rng.sample(tables, min(count, len(tables)))
        times = [_seconds(partial(auth.filter, questions[0][0], "load_table", some)) * 1_000 for _ in range(5)]
        figures[f"filter of {len(some)} tables, ms"] = round(statistics.median(times), 1)
    return figures


def _lists(auth: Authorizer, questions: Sequence[Question], popular: str) -> Figures:
    asked = [each for each in questions if each[2].startswith("table:")][:LISTS]
    ways: dict[str, Callable[[Question], object]] = {
        "which, all": lambda each: list(auth.which("table", each[0], each[1])),
        f"which, the first {FIRST_PAGE}": lambda each: list(auth.which("table", each[0], each[1], limit=FIRST_PAGE)),
        "who, all": lambda each: list(auth.who(each[1], each[2])),
        "who, in the catalog with most grants": lambda each: list(auth.who("load_table", popular)),
    }
    figures = {}
    for name, ask in ways.items():
        times = [_seconds(partial(ask, each)) * 1_000 for each in asked]
        figures[f"{name}, p50 and most, ms"] = f"{_at(times, 50):.1f} {max(times):.1f}"
    return figures


def _different(plain: Authorizer, auth: Authorizer, questions: Sequence[Question]) -> int:
    asked = questions[:COMPARED]
    found = sum(a != b for a, b in zip(plain.check_many(asked), auth.check_many(asked), strict=True))
    for _, name, object_ in asked[:10]:
        found += list(plain.who(name, object_)) != list(auth.who(name, object_))
    for subject, name, object_ in asked[:10]:
        if object_.startswith("table:"):
            found += list(plain.which("table", subject, name)) != list(auth.which("table", subject, name))
    return found


def _processes(auth: Authorizer, questions: Sequence[Question]) -> Figures:
    """Checks per second of one process and of several. These are forked, so they share the memory of the copy."""
    servers = [each for each in psutil.process_iter(["cmdline"]) if "CommunityEntryPoint" in str(each.info["cmdline"])]
    rates = {}
    _forked.append(auth)  # not passed as an argument, because an open connection cannot be sent to a process
    for number in (1, PROCESSES):
        cpu = sum(sum(each.cpu_times()[:2]) for each in servers)
        fork = multiprocessing.get_context("fork")
        with fork.Pool(number) as pool:
            start = time.perf_counter()
            asked = [pool.apply_async(_ask, (questions[at:],)) for at in range(number)]
            rates[number] = sum(each.get() for each in asked) / (time.perf_counter() - start)
        used = (sum(sum(each.cpu_times()[:2]) for each in servers) - cpu) / (time.perf_counter() - start)
        rates[-number] = used
    return {
        "checks a second, 1 process": f"{rates[1]:.0f} (the servers use {rates[-1]:.2f} cores)",
        f"checks a second, {PROCESSES} processes": f"{rates[PROCESSES]:.0f} (the servers use {rates[-PROCESSES]:.2f})",
        f"{PROCESSES} processes, x one": round(rates[PROCESSES] / rates[1], 2),
    }


def _ask(questions: Sequence[Question]) -> int:
    [auth] = _forked
    end, number = time.perf_counter() + SECONDS, 0
    while time.perf_counter() < end:
        auth.check(*questions[number % len(questions)])
        number += 1
    return number


def _popular(directory: Path) -> str:
    """A table in the catalog with the most grants."""
    grants = pq.read_table(directory / "grants.parquet").column("object").to_pylist()
    catalogs = [each for each in grants if each.startswith("catalog:")]
    catalog = statistics.mode(catalogs).removeprefix("catalog:")
    objects = pq.read_table(directory / "objects.parquet").column("ref").to_pylist()
    return str(next(each for each in objects if each.startswith(f"table:{catalog}.")))


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _at(times: Sequence[float], percent: int) -> float:
    return statistics.quantiles(times, n=100)[percent - 1]


if __name__ == "__main__":
    main()
