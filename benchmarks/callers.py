"""Measures single checks from memory by many callers of one process: threads, and tasks of an event loop.

All ask the next question as soon as they have an answer. A bare `RETURN 1` by the same number of threads is measured in
the same run.
"""

import argparse
import asyncio
import statistics
import threading
import time
from collections.abc import Callable, Sequence

from estates import ROOTS, SEED, usual_estate, usual_size
from figures import Figures, print_progress
from generate import Size
from questions import Question, sample_questions

from grantpath.engine import Authorizer
from grantpath.engine.authorizer.async_authorizer import AsyncAuthorizer
from grantpath.engine.transfer import importer

ROOT = ROOTS["gravitino"]
QUESTIONS = 20_000


def main() -> None:
    options = _arguments()
    directory = usual_estate(usual_size("gravitino", options.users, options.schemas), print_progress)
    questions = sample_questions(directory, QUESTIONS, SEED)
    with Authorizer.open(ROOT, "gravitino", create=True, timeout=60) as auth:
        if auth.revision_now() == 0:
            print_progress("loading")
            importer.load(auth, directory)
    figures: Figures = {}
    with Authorizer.open(ROOT, timeout=60, replica=True) as auth:
        works: dict[str, Callable[[Question], object]] = {
            "RETURN 1": lambda _: auth.store.read("RETURN 1 AS one", {}),
            "check": lambda each: auth.check(*each),
        }
        for name, work in works.items():
            for callers in (1, options.callers):
                figures[f"{name}, {callers} threads"] = _figure(_by_threads(work, questions, callers, options.seconds))
    for callers in (1, options.callers):
        times = asyncio.run(_by_tasks(questions, callers, options.seconds))
        figures[f"check, {callers} tasks"] = _figure(times)
    print(f"{'':<24} a second   p50 ms   p99 ms")
    for name, value in figures.items():
        print(f"{name:<24} {value}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=Size.users)
    parser.add_argument("--schemas", type=int, default=Size.schemas, help="per catalog; a schema has 100 tables")
    parser.add_argument("--callers", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each figure")
    return parser.parse_args()


Times = tuple[float, list[float]]
"""The seconds of a measurement, and of each question in it."""


def _by_threads(
    work: Callable[[Question], object], questions: Sequence[Question], callers: int, seconds: float
) -> Times:
    each_times: list[list[float]] = [[] for _ in range(callers)]
    end = time.perf_counter() + seconds

    def ask(caller: int) -> None:
        at = caller * 97
        while (start := time.perf_counter()) < end:
            work(questions[at % len(questions)])
            each_times[caller].append(time.perf_counter() - start)
            at += 1

    threads = [threading.Thread(target=ask, args=(caller,)) for caller in range(callers)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start, [each for times in each_times for each in times]


async def _by_tasks(questions: Sequence[Question], callers: int, seconds: float) -> Times:
    times: list[float] = []
    async with AsyncAuthorizer.open(ROOT, timeout=60, replica=True) as auth:
        begun = time.perf_counter()

        async def ask(caller: int) -> None:
            at = caller * 97
            while (start := time.perf_counter()) < begun + seconds:
                await auth.check(*questions[at % len(questions)])
                times.append(time.perf_counter() - start)
                at += 1

        await asyncio.gather(*(ask(caller) for caller in range(callers)))
        return time.perf_counter() - begun, times


def _figure(measured: Times) -> str:
    seconds, times = measured
    parts = statistics.quantiles(times, n=100)
    return f"{len(times) / seconds:8.0f} {parts[49] * 1_000:8.2f} {parts[98] * 1_000:8.2f}"


if __name__ == "__main__":
    main()
