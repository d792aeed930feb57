"""Measures a mix of requests that arrive at a given rate, whatever the answers take: 90% checks, 8% lists, 1% changes.

The other 1% are explanations. A request that waits because all callers are busy is late from the moment at which it
was due, so a slow answer is not hidden by the requests that it delays. A bare `RETURN 1` is measured in the same run.
"""

import argparse
import random
import statistics
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from estates import ROOTS, SEED, usual_estate, usual_size
from figures import print_progress
from generate import Size
from questions import Question, sample_questions

from grantpath.engine import Authorizer
from grantpath.engine.transfer import importer

ROOT = ROOTS["gravitino"]
QUESTIONS = 20_000
MIX = {"check": 90, "list": 8, "explain": 1, "change": 1}
FIRST_PAGE = 100
WARM = 100  # requests of each kind before a rate is measured, which also plan the queries
SLOW = 0.05  # seconds: the p99 up to which a rate is served
Request = tuple[float, str, int]  # when it is due, in seconds from the beginning; its kind; its number


def main() -> None:
    options = _arguments()
    directory = usual_estate(usual_size("gravitino", options.users, options.schemas), print_progress)
    questions = sample_questions(directory, QUESTIONS, SEED)
    with Authorizer.open(ROOT, "gravitino", create=True, timeout=60) as auth:
        if auth.revision_now() == 0:
            print_progress("loading")
            importer.load(auth, directory)
        bare = _bare(auth)
    print(f"RETURN 1: p50 {bare[49] * 1_000:.2f} ms, p99 {bare[98] * 1_000:.2f} ms")
    print(f"{'':<12} {'a second':>9} {'served':>7} {'p50':>7} {'p99':>8}   p99 of {', '.join(MIX)} (ms)")
    for name, in_memory in (("from memory", True), ("by Cypher", False)):
        with Authorizer.open(ROOT, timeout=60, replica=in_memory) as auth:
            highest = 0.0
            for rate in options.rates:
                if _measure(auth, name, questions, rate, options.seconds, options.callers) < SLOW:
                    highest = rate
            print(
                f"{name}: the highest of these rates with a p99 under {SLOW * 1_000:.0f} ms is {highest:,.0f} a second"
            )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=Size.users)
    parser.add_argument("--schemas", type=int, default=Size.schemas, help="per catalog; a schema has 100 tables")
    parser.add_argument("--rates", type=float, nargs="+", default=[250, 500, 1_000, 2_000, 3_000, 4_000])
    parser.add_argument("--callers", type=int, default=64, help="threads that serve the requests")
    parser.add_argument("--seconds", type=float, default=20.0, help="for each rate")
    return parser.parse_args()


def _bare(auth: Authorizer) -> Sequence[float]:
    taken = []
    for _ in range(2_000):
        began = time.perf_counter()
        auth.store.read("RETURN 1 AS one", {})
        taken.append(time.perf_counter() - began)
    return statistics.quantiles(taken, n=100)


def _arrivals(rate: float, seconds: float) -> Iterator[Request]:
    """Requests that arrive independently of each other."""
    rng, due, number = random.Random(SEED), 0.0, 0
    while (due := due + rng.expovariate(rate)) < seconds:
        yield due, rng.choices([*MIX], [*MIX.values()])[0], number
        number += 1


def _measure(
    auth: Authorizer, name: str, questions: Sequence[Question], rate: float, seconds: float, callers: int
) -> float:
    """The p99 of all requests, in seconds. Prints a line."""
    works = _works(auth, questions)
    for number in range(WARM):
        for work in works.values():
            work(number)
    requests, lock = _arrivals(rate, seconds), threading.Lock()
    late: dict[str, list[float]] = defaultdict(list)
    errors: list[Exception] = []
    start = time.perf_counter() + 0.2  # when all threads are there

    def serve() -> None:
        while True:
            with lock:
                request = next(requests, None)
            if request is None:
                return
            due, kind, number = request
            time.sleep(max(0.0, start + due - time.perf_counter()))
            try:
                works[kind](number)
            except Exception as error:
                errors.append(error)
            late[kind].append(time.perf_counter() - start - due)

    threads = [threading.Thread(target=serve) for _ in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - start
    assert not errors, errors[:3]
    every = [each for times in late.values() for each in times]
    parts = statistics.quantiles(every, n=100)
    of_kinds = ", ".join(f"{statistics.quantiles(late[kind], n=100)[98] * 1_000:.0f}" for kind in MIX)
    served = len(every) / took
    print(
        f"{name:<12} {rate:>9,.0f} {served:>7,.0f} {parts[49] * 1_000:>7.1f} {parts[98] * 1_000:>8.1f}   {of_kinds}",
        flush=True,
    )
    return parts[98]


def _works(auth: Authorizer, questions: Sequence[Question]) -> dict[str, Callable[[int], object]]:
    """What serves a request of each kind. Each change adds a role, and the next one drops it."""
    prefix, made = f"role:open{uuid.uuid4().hex[:8]}_", threading.Lock()
    added: list[str] = []

    def change(number: int) -> None:
        with made:
            role = added.pop() if added else None
        if role is None:
            auth.change(f"add {prefix}{number}")
            with made:
                added.append(f"{prefix}{number}")
        else:
            auth.change(f"drop {role}")

    def listed(number: int) -> object:
        subject, operation, ref = questions[number % len(questions)]
        if number % 2:
            return auth.which(ref.partition(":")[0], subject, operation, limit=FIRST_PAGE)
        return auth.who(operation, ref, limit=FIRST_PAGE)

    return {
        "check": lambda number: auth.check(*questions[number % len(questions)]),
        "list": listed,
        "explain": lambda number: auth.explain(*questions[number % len(questions)]),
        "change": change,
    }


if __name__ == "__main__":
    main()
