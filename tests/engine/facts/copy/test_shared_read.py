"""A read is shared only by threads that asked before it began."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from grantpath.engine.facts.copy.shared_read import SharedRead
from grantpath.graph.errors import Unavailable

from ....support.lateness import Lateness

THREADS = 6
SECONDS = 30


class Reads:
    """Numbers the reads. Each waits until it is released, and fails with the errors that are given for its number."""

    def __init__(self, errors: dict[int, BaseException] | None = None) -> None:
        self.errors = errors or {}
        self.number = 0
        self.threads: list[int] = []
        self.begun = [threading.Event() for _ in range(10)]
        self.released = [threading.Event() for _ in range(10)]

    def __call__(self, meanwhile: Callable[[], None] | None) -> int:
        number, self.number = self.number, self.number + 1
        self.threads.append(threading.get_ident())
        if meanwhile is not None:
            meanwhile()
        self.begun[number].set()
        assert self.released[number].wait(SECONDS)
        if number in self.errors:
            raise self.errors[number]
        return number


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def waiting(shared: SharedRead[int]) -> int:
    """The threads that wait for the next read."""
    return len(shared._next.changed._waiters)  # type: ignore[attr-defined]


def asked_during_the_first(
    shared: SharedRead[int], reads: Reads, pool: ThreadPoolExecutor, work: Callable[[], None] | None = None
) -> tuple[Future[int], list[Future[int]]]:
    """A question whose read is in progress, and the questions that were asked meanwhile."""
    first = pool.submit(shared.run, reads, work)
    assert reads.begun[0].wait(SECONDS)
    others = [pool.submit(shared.run, reads, work) for _ in range(THREADS)]
    until(lambda: waiting(shared) == THREADS)
    return first, others


def test_a_lone_thread_reads_for_itself_each_time() -> None:
    shared, reads, called = SharedRead[int](SECONDS), Reads(), []
    for number in range(3):
        reads.released[number].set()
        assert shared.run(reads, lambda: called.append(threading.get_ident())) == number
    assert reads.threads == called == [threading.get_ident()] * 3


def test_threads_that_ask_during_a_read_share_the_next_one() -> None:
    shared, reads, called = SharedRead[int](SECONDS), Reads(), []
    with ThreadPoolExecutor(THREADS + 1) as pool:
        first, others = asked_during_the_first(shared, reads, pool, lambda: called.append(threading.get_ident()))
        reads.released[0].set()
        assert first.result(SECONDS) == 0
        assert reads.begun[1].wait(SECONDS)
        assert not any(each.done() for each in others)
        reads.released[1].set()
        assert [each.result(SECONDS) for each in others] == [1] * THREADS
    assert reads.number == 2
    assert len(set(called)) == len(called) == THREADS + 1  # each thread did its own work, once


def test_an_error_of_a_shared_read_is_raised_for_each_question() -> None:
    reads = Reads({1: Unavailable("the server is away")})
    shared = SharedRead[int](SECONDS)
    with ThreadPoolExecutor(THREADS + 1) as pool:
        first, others = asked_during_the_first(shared, reads, pool)
        for released in reads.released[:2]:
            released.set()
        assert first.result(SECONDS) == 0
        errors = [each.exception(SECONDS) for each in others]
    assert {str(each) for each in errors} == {"the server is away"}
    assert {type(each) for each in errors} == {Unavailable}
    assert len({id(each) for each in errors}) == THREADS  # a caller adds its question to its own error
    copies = [each for each in errors if each is not None and each is not reads.errors[1]]
    assert all(each.__cause__ is None and each.__suppress_context__ for each in copies)
    assert reads.number == 2


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), RuntimeError("a fault of the program")], ids=["interrupt", "fault"]
)
def test_another_thread_reads_if_the_first_is_interrupted(error: BaseException) -> None:
    reads = Reads({1: error})
    shared = SharedRead[int](SECONDS)
    with ThreadPoolExecutor(THREADS + 1) as pool:
        first, others = asked_during_the_first(shared, reads, pool)
        for released in reads.released:
            released.set()
        assert first.result(SECONDS) == 0
        raised = [each.exception(SECONDS) for each in others]
    assert raised.count(None) == THREADS - 1
    assert [each for each in raised if each is not None] == [error]
    assert min(each.result() for each in others if each.exception() is None) == 2


def test_a_thread_that_waits_too_long_reads_for_itself() -> None:
    shared, reads = SharedRead[int](0.5), Reads()
    reads.released[1].set()
    with ThreadPoolExecutor(THREADS + 1) as pool:
        first = pool.submit(shared.run, reads)
        assert reads.begun[0].wait(SECONDS)
        assert pool.submit(shared.run, reads).result(SECONDS) == 1
        assert not first.done()
        reads.released[0].set()
        assert first.result(SECONDS) == 0
    reads.released[2].set()
    assert shared.run(reads) == 2  # the late end of the first read did not confuse the order


def test_many_threads_share_the_reads_of_a_server_that_hangs() -> None:
    """Before this was corrected, each thread made a read of its own, after waiting for those of all others."""
    shared, timeout, reads = SharedRead[int](1.0), 1.0, []

    def hang(_: Callable[[], None] | None) -> int:
        reads.append(1)
        time.sleep(timeout)
        raise Unavailable("the server is away")

    def ask() -> float:
        began = time.monotonic()
        with pytest.raises(Unavailable):
            shared.run(hang)
        return time.monotonic() - began

    with Lateness() as lateness, ThreadPoolExecutor(THREADS * 10) as pool:
        seconds = [each.result(SECONDS) for each in [pool.submit(ask) for _ in range(THREADS * 10)]]
    assert max(seconds) < 4 * timeout + 2 * lateness.worst  # 7 s before
    assert len(reads) < THREADS * 5


def test_no_shared_read_began_before_its_question() -> None:
    state, shared = [0], SharedRead[int](SECONDS)
    stale, rounds, seconds = [], 300, 0.0002

    def read(_: Callable[[], None] | None) -> int:
        found = state[0]
        time.sleep(seconds)
        return found

    def ask() -> None:
        for _ in range(rounds):
            known = state[0]
            stale.append(shared.run(read) < known)

    def write() -> None:
        while len(stale) < rounds * THREADS:
            state[0] += 1
            time.sleep(seconds / 4)

    with ThreadPoolExecutor(THREADS + 1) as pool:
        for done in [pool.submit(write), *(pool.submit(ask) for _ in range(THREADS))]:
            done.result(SECONDS)
    assert len(stale) == rounds * THREADS
    assert not any(stale)
