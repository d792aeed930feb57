"""Measures what tags cost: the same estate without tags, and with a tag on every table and a grant on every tag."""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from bulk import NAMES, SIZES
from estates import SEED, estate_files
from figures import Figures, print_progress
from questions import Question, sample_questions

from grantpath.engine import Authorizer
from grantpath.engine.tenants import registry
from grantpath.engine.transfer import importer
from grantpath.graph.embedded.connect import connection
from grantpath.spark_sync import access
from grantpath.spark_sync.mirroring.mirror import mirror_tenant

SINGLE = 1_000  # checks, each on both roots beside a bare round trip
WARMING = 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="M")
    parser.add_argument("--tags", type=int, default=10_000)
    options = parser.parse_args()
    without, having = (replace(SIZES[options.size], root=root) for root in ("bench-untagged", "bench-tagged"))
    plain = estate_files(f"{without.root}-{options.size}", without, print_progress)
    more = partial(_tagged, number=options.tags)
    tagged = estate_files(f"{having.root}-{options.size}-{options.tags}", having, print_progress, more)
    with _loaded(without.root, plain) as one, _loaded(having.root, tagged) as other:
        figures = _checks(one, other, sample_questions(plain, SINGLE + WARMING, SEED))
        _, plainly, by_tags = _spark(one), _spark(one), _spark(other)  # the first starts Spark
        for step, seconds in plainly.items():
            figures[f"{step} without tags, s"] = round(seconds, 1)
            figures[f"{step} with tags, x without"] = round(by_tags[step] / seconds, 2)
        for each in (one, other):
            registry.remove(each.store, each.tenant)
    for name, value in figures.items():
        print(f"{name:<44} {value}")


def _tagged(directory: Path, number: int) -> None:
    """Adds tags to the files of an estate: one on each table, and a grant on each tag, seldom a DENY."""
    rng = random.Random(SEED)
    objects, grants = (pq.read_table(directory / f"{name}.parquet") for name in ("objects", "grants"))
    tables = [each for each in objects["ref"].to_pylist() if each.startswith("table:")]
    tags = [f"tag:t{at}" for at in range(number)]
    roles = grants["subject"].to_pylist()
    given = {
        "effect": ["deny" if rng.random() < 0.05 else "allow" for _ in tags],
        "privilege": ["SELECT_TABLE"] * number,
        "object": tags,
        "subject": rng.choices(roles, k=number),
    }
    added = pa.table({name: pa.array(given[name]) for name in grants.column_names}).cast(grants.schema)
    pq.write_table(
        pa.concat_tables([objects, pa.table({"ref": tags}).cast(objects.schema)]), directory / "objects.parquet"
    )
    pq.write_table(pa.concat_tables([grants, added]), directory / "grants.parquet")
    pq.write_table(pa.table({"object": tables, "tag": rng.choices(tags, k=len(tables))}), directory / "tags.parquet")


@contextmanager
def _loaded(root: str, estate: Path) -> Iterator[Authorizer]:
    with Authorizer.open(root, "lakehouse", create=True) as authorizer:
        registry.remove(authorizer.store, authorizer.tenant)
    with Authorizer.open(root, "lakehouse", create=True, timeout=60) as authorizer:
        print_progress(f"loading {root}")
        importer.load(authorizer, estate)
        yield authorizer


def _checks(one: Authorizer, other: Authorizer, questions: list[Question]) -> Figures:
    """Single checks by Cypher, on both roots by turns."""
    works: dict[str, Callable[[Question], object]] = {
        "RETURN 1": lambda _: one.store.read("RETURN 1 AS one", {}),
        "without tags": lambda each: one.check(*each),
        "with tags": lambda each: other.check(*each),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for at, question in enumerate(questions):
        for name, work in works.items():
            started = time.perf_counter()
            work(question)
            if at >= WARMING:
                times[name].append((time.perf_counter() - started) * 1_000)
    middle = {name: statistics.median(each) for name, each in times.items()}
    return {
        **{f"check, {name}, p50, ms": round(each, 2) for name, each in middle.items()},
        "check with tags, x without": round(middle["with tags"] / middle["without tags"], 2),
    }


def _spark(authorizer: Authorizer) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="grantpath-tags-") as folder:
        out = Path(folder) / "snapshot"
        started = time.perf_counter()
        mirror_tenant(connection(), authorizer.tenant, out, print_progress)
        mirrored = time.perf_counter() - started
        return {"mirror": mirrored, "access": access(out, NAMES, [], print_progress, in_process_limit=0).seconds}


if __name__ == "__main__":
    main()
