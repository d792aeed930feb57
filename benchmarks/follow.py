"""Measures how fast a follower describes the changes of a large root, and compares its tables with a new mirror."""

import argparse
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from estates import SEED, estate_files, usual_size
from figures import print_progress
from generate import Size

from grantpath.engine import Authorizer
from grantpath.engine.facts.snapshot.snapshot_reader import TABLES
from grantpath.engine.tenants import registry
from grantpath.engine.transfer import importer
from grantpath.graph.embedded.connect import connection
from grantpath.spark_sync.following.change_files import change_files
from grantpath.spark_sync.following.follower import Followed, follow
from grantpath.spark_sync.mirroring.mirror import mirror_tenant
from grantpath.spark_sync.session.snapshot import Snapshot

ROOT = "follow"
BATCH = 500  # statements of the backlog in one transaction; each is a revision of its own
LONGEST = 120.0  # seconds to wait for the description of one change
OFTEN = {"table": 4, "schema": 1, "revoke": 2, "member": 3, "remove": 3, "new table": 1, "new user": 1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=Size.users)
    parser.add_argument("--schemas", type=int, default=Size.schemas, help="per catalog; a schema has 100 tables")
    parser.add_argument("--backlog", type=int, default=20_000, help="changes that the follower finds when it starts")
    parser.add_argument("--singles", type=int, default=200, help="changes made one by one while the follower waits")
    options = parser.parse_args()
    size = replace(usual_size("gravitino", options.users, options.schemas), root=ROOT)
    estate = estate_files(f"follow-{options.users}-{options.schemas}", size, print_progress)
    with tempfile.TemporaryDirectory(prefix="grantpath-follow-") as folder:
        out, new, tenant = Path(folder) / "out", Path(folder) / "new", _loaded(estate)
        with Authorizer.open(tenant, timeout=60) as auth:
            mirror_tenant(connection(), tenant, out, print_progress)
            begin, changes = auth.revision_now(), ordinary_changes(estate, random.Random(SEED))
            while (made := auth.revision_now() - begin) < options.backlog:
                auth.given([next(changes) for _ in range(min(BATCH, options.backlog - made))])
            started = time.perf_counter()
            _following(tenant, out, lambda: _described(out) == begin + options.backlog)
            seconds = time.perf_counter() - started
            rows = sum(pq.read_metadata(each.path).num_rows for each in change_files(out))
            print(f"backlog of {options.backlog:,}: {options.backlog / seconds:.1f} changes a second, {rows:,} rows")
            _measure_singles(auth, out, changes, options.singles)
            mirror_tenant(connection(), tenant, new, print_progress)
            listed = [name for name in TABLES if (new / name).exists()]
            equal = all(_rows(out, name) == _rows(new, name) for name in listed)
            print(f"{len(listed)} tables: {'equal to' if equal else 'NOT'} those of a new mirror")
            registry.remove(auth.store, auth.tenant)
    raise SystemExit(not equal)


def _rows(snapshot: Path, table: str) -> dict[str, list[Any]]:
    """The rows of a table, by column."""
    return Snapshot(snapshot).table(table).to_pydict()  # type: ignore[no-any-return]


def _loaded(estate: Path) -> str:
    """The root, created again and loaded."""
    with Authorizer.open(ROOT, "gravitino", create=True, timeout=60) as auth:
        registry.remove(auth.store, auth.tenant)
    with Authorizer.open(ROOT, "gravitino", create=True, timeout=60) as auth:
        print_progress("loading")
        importer.load(auth, estate)
        return auth.tenant


def ordinary_changes(estate: Path, rng: random.Random) -> Iterator[str]:
    """Random changes: grants on tables and schemas to roles, revocations, memberships of users, new tables and
    users."""
    refs = [*_column(estate, "subjects", "ref"), *_column(estate, "objects", "ref")]
    users, groups, roles, schemas, tables = (
        [ref for ref in refs if ref.startswith(f"{type_}:")] for type_ in ("user", "group", "role", "schema", "table")
    )
    members = [*zip(_column(estate, "members", "member"), _column(estate, "members", "of"), strict=True)]
    granted = [each.values() for each in pq.read_table(estate / "grants.parquet").to_pylist()]
    kinds = [kind for kind, often in OFTEN.items() for _ in range(often)]
    number = 0
    while True:
        number += 1
        match rng.choice(kinds):
            case "table" | "schema" as type_:
                place = rng.choice(tables if type_ == "table" else schemas)
                yield f"allow {rng.choice(['SELECT_TABLE', 'MODIFY_TABLE'])} on {place} to {rng.choice(roles)}"
            case "revoke":
                effect, privilege, place, role = rng.choice(granted)
                if not place.startswith(("catalog:", "metalake:")):
                    yield f"revoke {effect} {privilege} on {place} from {role}"
            case "member":
                yield f"member {rng.choice(users)} of {rng.choice(rng.choice([groups, roles]))}"
            case "remove":
                member, container = rng.choice(members)
                yield f"remove {member} from {container}"
            case "new table":
                yield f"add table:{rng.choice(schemas).removeprefix('schema:')}.new{number}"
            case _:
                yield f"add user:new{number}"


def _column(estate: Path, table: str, name: str) -> list[str]:
    return pq.read_table(estate / f"{table}.parquet", columns=[name])[name].to_pylist()  # type: ignore[no-any-return]


def _following(tenant: str, out: Path, stop: Callable[[], bool]) -> None:
    def report(done: Followed) -> None:
        print_progress(f"described the revisions {done.first:,} to {done.last:,}: {done.rows:,} rows")

    follow(connection(), tenant, out, print_progress, report, stop)


def _described(out: Path) -> int:
    """The last revision that a file of changes describes."""
    return next((each.last for each in reversed(change_files(out))), 0)


def _measure_singles(auth: Authorizer, out: Path, changes: Iterator[str], count: int) -> None:
    """The time from the commit of a change to the file that describes it. The first change is not counted, because the
    follower reads the snapshot meanwhile."""
    ended, times = threading.Event(), list[float]()
    follower = threading.Thread(target=_following, args=(auth.tenant, out, ended.is_set))
    follower.start()
    try:
        while len(times) <= count:
            before = auth.revision_now()
            auth.given([next(changes)])
            committed = time.perf_counter()
            while _described(out) < auth.revision_now() and time.perf_counter() - committed < LONGEST:
                time.sleep(0.005)
            if auth.revision_now() > before:
                times.append(time.perf_counter() - committed)
    finally:
        ended.set()
        follower.join()
    p50, p99 = (statistics.quantiles(times[1:], n=100)[at] for at in (49, 98))
    print(f"one change, from its commit to its file: p50 {p50:.2f} s, p99 {p99:.2f} s ({count} changes)")


if __name__ == "__main__":
    main()
