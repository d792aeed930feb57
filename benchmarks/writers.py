"""Measures changes by many writers of one root: threads of one process, and of several processes.

Each writer makes its next change as soon as it has the outcome of the one before. In the same run: changes of a lone
writer, a bare `RETURN 1`, and the statements of `change_all(each=True)` beside as many calls of `change`.
"""

import argparse
import multiprocessing
import statistics
import threading
import time
import uuid
from collections.abc import Callable

from grantpath.engine import Authorizer, Change
from grantpath.engine.tenants import registry

USERS = 32
STATEMENTS = 200  # of one `change_all(each=True)`


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=32, help="writers in one process")
    parser.add_argument("--processes", type=int, default=4, help="processes, each with eight writers")
    parser.add_argument("--seconds", type=float, default=5.0, help="measured for each figure")
    options = parser.parse_args()
    root = f"metalake:bench{uuid.uuid4().hex}"
    with Authorizer.open(root, "gravitino", create=True) as auth:
        try:
            users = [f"user:u{number}" for number in range(USERS)]
            facts = ["add role:admin", f"allow CREATE_ROLE on {auth.root} to role:admin"]
            members = [f"member {user} of role:admin" for user in users]
            assert not any(auth.given([*facts, *members]))
            _compare(auth, root, options.threads, options.processes, options.seconds)
        finally:
            registry.remove(auth.store, auth.tenant)


def _compare(auth: Authorizer, root: str, threads: int, processes: int, seconds: float) -> None:
    for _ in range(200):
        auth.store.read("RETURN 1 AS one", {})
    _line("RETURN 1, one thread", *_by_threads(lambda _: auth.store.read("RETURN 1 AS one", {}), 1, seconds))
    for kind, by in (("facts", False), ("by as many actors", True)):
        work = _changes(auth, by, "a" if by else "f")
        _by_threads(work, threads, 2.0)  # plans the queries
        _line(f"changes, {kind}, one thread", *_by_threads(work, 1, seconds))
        _line(f"changes, {kind}, {threads} threads", *_by_threads(work, threads, seconds))
        _compare_each(auth, "user:u0" if by else None, kind)
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        rates = pool.starmap(_in_process, [(root, number, seconds) for number in range(processes)])
    print(f"changes, facts, {processes} processes of 8 threads: {sum(rates):,.0f} a second")
    auth.verify_log()  # raises if the log is not whole


def _compare_each(auth: Authorizer, by: str | None, kind: str) -> None:
    """Makes statements by `change`, one after the other, and by `change_all(each=True)`, by turns."""
    rates: dict[str, list[float]] = {"alone": [], "each": []}
    for _ in range(3):
        for way, taken in rates.items():
            for verb in ("add", "drop"):
                statements = [f"{verb} role:{way}{number}" for number in range(STATEMENTS)]
                began = time.perf_counter()
                if way == "each":
                    done = auth.change_all(statements, by=by, each=True)
                else:
                    done = [auth.change(statement, by=by) for statement in statements]
                taken.append(STATEMENTS / (time.perf_counter() - began))
                assert all(isinstance(each, Change) and each.id for each in done), "each change changes something"
    alone, each = (statistics.median(taken) for taken in rates.values())
    print(f"{STATEMENTS} statements, {kind}: {alone:,.0f} a second, with each=True {each:,.0f}: {each / alone:.1f} x")


def _changes(auth: Authorizer, by: bool, where: str) -> Callable[[int], object]:
    """The change of a writer: its role is added and dropped by turns."""
    turns: dict[int, int] = {}

    def change(writer: int) -> None:
        turns[writer] = turn = turns.get(writer, 0) + 1
        verb = "add" if turn % 2 else "drop"
        done = auth.change(f"{verb} role:{where}{writer}", by=f"user:u{writer % USERS}" if by else None)
        assert done.id, "each change changes something"

    return change


def _in_process(root: str, number: int, seconds: float) -> float:
    with Authorizer.open(root, "gravitino") as auth:
        work = _changes(auth, False, f"p{number}")
        _by_threads(work, 8, 1.0)
        return _by_threads(work, 8, seconds)[0]


def _by_threads(work: Callable[[int], object], threads: int, seconds: float) -> tuple[float, list[float]]:
    """How often each second the threads do the work together, and the seconds that it takes each time."""
    taken: list[list[float]] = [[] for _ in range(threads)]
    end = time.perf_counter() + seconds

    def run(writer: int) -> None:
        while (began := time.perf_counter()) < end:
            work(writer)
            taken[writer].append(time.perf_counter() - began)

    running = [threading.Thread(target=run, args=(writer,)) for writer in range(threads)]
    began = time.perf_counter()
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    every = sorted(each for times in taken for each in times)
    return len(every) / (time.perf_counter() - began), every


def _line(what: str, rate: float, taken: list[float]) -> None:
    p99 = taken[int(len(taken) * 0.99)]
    print(f"{what}: {rate:,.0f} a second, p50 {statistics.median(taken) * 1_000:.2f} ms, p99 {p99 * 1_000:.2f} ms")


if __name__ == "__main__":
    main()
