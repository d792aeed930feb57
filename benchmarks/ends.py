"""Measures grants that all end in the same second, while readers ask: is a question left without an answer?

In the same run: checks before the end, beside a bare `RETURN 1`.
"""

import argparse
import tempfile
import threading
import time
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

from figures import median

from grantpath.engine import Authorizer
from grantpath.engine.tenants import registry
from grantpath.engine.transfer.importer import load
from grantpath.graph.errors import GrantpathError
from grantpath.graph.language.ends import end_text

TABLES = 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--grants", type=int, default=100_000, help="grants that end at the same second")
    parser.add_argument("--readers", type=int, default=4, help="threads that ask meanwhile")
    parser.add_argument("--wait", type=float, default=60.0, help="seconds from now until the end")
    options = parser.parse_args()
    root = f"metalake:bench{uuid.uuid4().hex}"
    with Authorizer.open(root, "gravitino", create=True) as auth, tempfile.TemporaryDirectory() as folder:
        try:
            end = (datetime.now(UTC) + timedelta(seconds=options.wait)).replace(microsecond=0)
            _estate(Path(folder), options.grants, end_text(end))
            load(auth, Path(folder))
            left = (end - datetime.now(UTC)).total_seconds()
            print(f"loaded {options.grants:,} grants, {left:.0f} s before their end")
            _compare(auth, end, options.readers)
        finally:
            registry.remove(auth.store, auth.tenant)


def _estate(folder: Path, grants: int, end: str) -> None:
    roles = -(-grants // TABLES)
    tables = [f"table:c.s.t{number}" for number in range(TABLES)]
    (folder / "subjects.csv").write_text("ref\nuser:u\n" + "".join(f"role:r{number}\n" for number in range(roles)))
    (folder / "objects.csv").write_text("ref\ncatalog:c\nschema:c.s\n" + "".join(f"{table}\n" for table in tables))
    (folder / "members.csv").write_text("member,of\nuser:u,role:r0\n")
    rows = (f"allow,SELECT_TABLE,{tables[at % TABLES]},role:r{at // TABLES},{end}\n" for at in range(grants))
    stays = "allow,USE_CATALOG,catalog:c,role:r0,\nallow,USE_SCHEMA,schema:c.s,role:r0,\n"
    (folder / "grants.csv").write_text("effect,privilege,object,subject,until\n" + stays + "".join(rows))


def _compare(auth: Authorizer, end: datetime, readers: int) -> None:
    bare, before = median(lambda: auth.store.read("RETURN 1 AS one", {})), median(lambda: _ask(auth))
    print(f"a check before the end: {before:.2f} ms, {before / bare:.2f} x RETURN 1")
    waits: list[tuple[float, bool, float]] = []
    errors: list[GrantpathError] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            began = time.time()
            try:
                allowed = _ask(auth)
            except GrantpathError as error:
                errors.append(error)
            else:
                waits.append((began, allowed, time.time() - began))

    threads = [threading.Thread(target=read) for _ in range(readers)]
    for thread in threads:
        thread.start()
    time.sleep(max(0.0, end.timestamp() - time.time()) + 1.0)
    auth.expire()
    removed = time.time() - end.timestamp()
    time.sleep(2.0)
    done.set()
    for thread in threads:
        thread.join()
    late = sum(allowed for began, allowed, _ in waits if began >= end.timestamp())
    longest = max(wait for _, _, wait in waits)
    print(f"{len(waits):,} checks by {readers} threads: {len(errors):,} without an answer, {late:,} wrong")
    print(f"all were removed {removed:.1f} s after the end; the longest check took {longest:.1f} s")
    for error in errors[:3]:
        print(f"  {error}")
    assert not late, "a check had a grant that had ended"


def _ask(auth: Authorizer) -> bool:
    return auth.check("user:u", "SELECT_TABLE", "table:c.s.t1").allowed


if __name__ == "__main__":
    main()
