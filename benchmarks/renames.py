"""Measures a rename of a catalog with many tables: how long it takes, and how long a check beside it waits.

In the same run: checks before, beside a bare `RETURN 1`, and how soon a copy in memory has the new names.
"""

import argparse
import tempfile
import threading
import time
import uuid
from pathlib import Path

from figures import median

from grantpath.engine import Authorizer
from grantpath.engine.tenants import registry
from grantpath.engine.transfer.importer import load

SCHEMAS = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=100_000, help="tables in the catalog")
    parser.add_argument("--times", type=int, default=3, help="renames")
    options = parser.parse_args()
    root = f"metalake:bench{uuid.uuid4().hex}"
    with Authorizer.open(root, "gravitino", create=True, timeout=60) as auth, tempfile.TemporaryDirectory() as folder:
        try:
            _estate(Path(folder), options.tables)
            load(auth, Path(folder))
            _rename(auth, root, options.tables, options.times)
        finally:
            registry.remove(auth.store, auth.tenant)


def _estate(folder: Path, tables: int) -> None:
    objects = ["catalog:c", "catalog:other", *(f"schema:c.s{number}" for number in range(SCHEMAS))]
    objects += [f"table:c.s{number % SCHEMAS}.t{number}" for number in range(tables)]
    (folder / "subjects.csv").write_text("ref\nuser:u\nrole:r\n")
    (folder / "objects.csv").write_text("ref\n" + "".join(f"{each}\n" for each in objects))
    (folder / "members.csv").write_text("member,of\nuser:u,role:r\n")
    (folder / "grants.csv").write_text(
        "effect,privilege,object,subject\nallow,USE_CATALOG,catalog:other,role:r\nallow,SELECT_TABLE,catalog:c,role:r\n"
    )


def _rename(auth: Authorizer, root: str, tables: int, times: int) -> None:
    bare, before = median(lambda: auth.store.read("RETURN 1 AS one", {})), median(lambda: _ask(auth))
    print(f"a check before: {before:.2f} ms, {before / bare:.2f} x RETURN 1")
    with Authorizer.open(root, replica=True, timeout=60) as copied:
        copied.check("user:u", "USE_CATALOG", "catalog:other")
        for number in range(times):
            here, there = ("c", "renamed") if number % 2 == 0 else ("renamed", "c")
            waits: list[float] = []
            done = threading.Event()
            reader = threading.Thread(target=_ask_until, args=(auth, done, waits))
            reader.start()
            began = time.perf_counter()
            renamed = auth.rename(f"catalog:{here}", to=there)
            took = time.perf_counter() - began
            done.set()
            reader.join()
            while copied.replica and copied.replica.current(copied.policy, renamed.revision) is None:
                time.sleep(0.01)
            current = time.perf_counter() - began - took
            print(
                f"a rename of {tables:,} tables: {took:.1f} s; the longest of {len(waits):,} checks beside it: "
                f"{max(waits):.1f} s; a copy had it {current:.1f} s later"
            )
            assert auth.check("user:u", "SELECT_TABLE", f"table:{there}.s1.t1"), "the grants stay"


def _ask_until(auth: Authorizer, done: threading.Event, waits: list[float]) -> None:
    while not done.is_set():
        began = time.perf_counter()
        _ask(auth)
        waits.append(time.perf_counter() - began)


def _ask(auth: Authorizer) -> bool:
    return auth.check("user:u", "USE_CATALOG", "catalog:other").allowed


if __name__ == "__main__":
    main()
