"""Helpers for benchmarks: a table of figures with a column for each estate, progress, and the use of processes."""

import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import psutil

from grantpath.graph.embedded.home import server_home
from grantpath.graph.embedded.process import find

Figures = dict[str, Any]
FigureRow = tuple[str, str, str]  # what, measured, target
MIB = 2**20
KINDS = ("driver", "JVM", "workers", "database")


def print_progress(text: str) -> None:
    """Prints progress on standard error."""
    print(text, file=sys.stderr, flush=True)


def table(columns: dict[str, Iterable[FigureRow]]) -> str:
    """A table from columns that have the same rows. The targets are in the last column."""
    lines = [("", *columns, "target")]
    lines += [(rows[0][0], *(row[1] for row in rows), rows[0][2]) for rows in zip(*columns.values(), strict=True)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
    texts = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
    return "\n".join(text.rstrip() for text in texts)


def median(work: Callable[[], object]) -> float:
    """The median time of 300 runs of a piece of work, in milliseconds."""
    taken = []
    for _ in range(300):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1_000


class ProcessUse:
    """The memory and CPU time that this process (the driver), Spark's JVM, its Python workers and the embedded database
    use from now on.

    CPU time does not depend on other work: on a quiet machine with two cores, a step takes at least half of its CPU
    time.
    """

    def __init__(self) -> None:
        self._peaks = dict.fromkeys(KINDS, 0.0)
        self._cpu: dict[int, tuple[str, float, float]] = {}  # by process: its kind, seconds at first and at last
        self._ended = threading.Event()
        database = find(server_home(None, None))
        self._databases = [] if database is None else [psutil.Process(database)]
        self._look()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def end(self) -> tuple[dict[str, float], dict[str, float]]:
        """By kind, the largest resident memory of all its processes together in MiB, and their CPU time in seconds."""
        self._ended.set()
        self._thread.join()
        cpu = dict.fromkeys(KINDS, 0.0)
        for kind, first, last in self._cpu.values():
            cpu[kind] += last - first
        return self._peaks, cpu

    def _watch(self) -> None:
        while not self._ended.wait(0.2):
            self._look(new=0.0)

    def _look(self, new: float | None = None) -> None:
        """Reads all processes. The CPU time of a new process counts from now on; if `new` is 0.0, from its start."""
        now = dict.fromkeys(KINDS, 0.0)
        for process, kind in self._processes():
            try:
                now[kind] += process.memory_info().rss / MIB
                times = process.cpu_times()
            except psutil.Error:
                continue  # it has ended
            used = times.user + times.system
            first = self._cpu[process.pid][1] if process.pid in self._cpu else used if new is None else new
            self._cpu[process.pid] = kind, first, used
        self._peaks = {kind: max(peak, now[kind]) for kind, peak in self._peaks.items()}

    def _processes(self) -> Iterator[tuple[psutil.Process, str]]:
        me = psutil.Process()
        yield me, "driver"
        yield from ((each, "database") for each in self._databases)
        for each in me.children(recursive=True):
            if _runs(each, "pyspark"):
                yield each, "JVM" if _runs(each, "org.apache.spark") else "workers"


def _runs(process: psutil.Process, program: str) -> bool:
    try:
        return any(program in word for word in process.cmdline())
    except psutil.Error:
        return False  # it has ended
