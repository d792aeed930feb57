"""Many threads share one Authorizer: waiting makes no call fail, and the error of a long wait names the holder."""

import os
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier, Event, Thread

import pytest

from grantpath.engine import Authorizer, Decision, GrantpathError, Inconsistent, Unavailable
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.store import Store
from grantpath.graph.guard.writer_queue import Turns

from ..conftest import Tenants
from ..support.one_grant import ALLOWED, FACTS
from ..support.sizes import say, size

pytestmark = pytest.mark.trust

THREADS, CALLS = size(full=500, short=120), size(full=20, short=3)
TIMEOUT = 60.0


def test_no_call_fails_when_many_threads_share_an_authorizer(
    tenant: Tenants, server: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every other thread writes continuously; the others ask."""
    made = tenant(given=[*FACTS, *(f"add role:r{number}" for number in range(THREADS))])
    auth, barrier = Authorizer(Store(server, TIMEOUT), made.tenant, made.policy, made.root), Barrier(THREADS)
    before = auth.revision_now()

    def call(number: int, turn: int) -> bool:
        if number % 2:
            word, to = ("revoke allow", "from") if turn % 2 else ("allow", "to")
            return auth.change(f"{word} USE_CATALOG on catalog:hr {to} role:r{number}").id is not None
        return auth.check(*ALLOWED).allowed

    def run(number: int) -> list[tuple[object, float]]:
        barrier.wait(60)
        outcomes = []
        for turn in range(CALLS):
            began = time.monotonic()
            try:
                what: object = call(number, turn)
            except GrantpathError as error:
                what = error
            outcomes.append((what, time.monotonic() - began))
        return outcomes

    began = time.monotonic()
    with ThreadPoolExecutor(THREADS) as pool:
        outcomes = [outcome for run in pool.map(run, range(THREADS)) for outcome in run]
    seconds, slowest = time.monotonic() - began, max(took for _, took in outcomes)
    wrong = [what for what, _ in outcomes if what is not True]
    say(
        capsys,
        f"{THREADS} threads, {CALLS} calls each: {len(wrong)} errors, the slowest call {slowest:.1f} s,"
        f" {len(outcomes) / seconds:.0f} calls a second",
    )
    assert wrong == [] and slowest < TIMEOUT
    assert auth.revision_now() - before == THREADS // 2 * CALLS
    auth.close()


@pytest.fixture
def auth(tenant: Tenants, server: Connection) -> Iterator[Authorizer]:
    """An authorizer with a short timeout."""
    made = tenant(given=FACTS)
    store = Store(server, timeout=3.0)
    yield Authorizer(store, made.tenant, made.policy, made.root)
    store.close()


@contextmanager
def kept(auth: Authorizer) -> Iterator[None]:
    """Keeps a thread named `busy-writer` in the middle of a change until the block ends."""
    begun, end = Event(), Event()

    def work(_: object) -> None:
        begun.set()
        end.wait(60)

    thread = Thread(target=lambda: auth.store.write(auth.tenant, work), name="busy-writer")
    thread.start()
    assert begun.wait(60)
    try:
        yield
    finally:
        end.set()
        thread.join(60)


def test_change_that_waits_too_long_names_the_active_thread(auth: Authorizer) -> None:
    with kept(auth), pytest.raises(Unavailable) as raised:
        auth.change("add role:other")
    text = str(raised.value)
    assert re.search(rf"{auth.tenant} was not free within 3 s: thread busy-writer of this process", text)
    assert "with a change" in text and raised.value.unknown is False
    assert auth.change("add role:other").id


def test_load_that_waits_too_long_names_the_active_thread(auth: Authorizer) -> None:
    with (
        kept(auth),
        pytest.raises(Inconsistent, match="thread busy-writer of this process"),
        auth.store.locked(auth.tenant, "a load"),
    ):
        pytest.fail("two writers at once")


def test_question_under_the_lock_takes_its_turn(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grantpath.graph.guard.store.QUICK_TRIES", 0)
    with kept(auth), pytest.raises(Unavailable, match="thread busy-writer of this process"):
        auth.check(*ALLOWED)
    assert isinstance(auth.check(*ALLOWED), Decision)


# ---- the queue -----------------------------------------------------------------------------------------------------
def test_threads_are_served_in_order() -> None:
    turns, served, threads = Turns(), list[int](), list[Thread]()

    def take(number: int) -> None:
        with turns.turn("metalake:ml", "work", 60):
            served.append(number)

    with turns.turn("metalake:ml", "work", 60):
        for number in range(20):
            threads.append(Thread(target=take, args=(number,)))
            threads[-1].start()
            while len(turns._lines["metalake:ml"].waiting) < number + 1:
                time.sleep(0.001)
    for thread in threads:
        thread.join(60)
    assert served == list(range(20)) and turns._lines == {}


def test_waiting_questions_share_a_turn() -> None:
    turns, together = Turns(), Barrier(3)

    def ask() -> None:
        with turns.turn("metalake:ml", "a question", 60, shared=True):
            together.wait(60)

    threads = [Thread(target=ask) for _ in range(3)]
    with turns.turn("metalake:ml", "a change", 60):
        for number, thread in enumerate(threads):
            thread.start()
            while len(turns._lines["metalake:ml"].waiting) < number + 1:
                time.sleep(0.001)
    for thread in threads:
        thread.join(60)
    assert not together.broken and not turns.busy("metalake:ml")


def test_thread_that_has_a_turn_does_not_wait_for_itself() -> None:
    turns = Turns()
    with turns.turn("metalake:ml", "`load tables`", 60, brief=False):
        with (
            pytest.raises(Inconsistent, match="`load tables` of this thread is under way"),
            turns.turn("metalake:ml", "a question", 60, shared=True),
        ):
            pass
        assert turns.busy("metalake:ml")
    assert not turns.busy("metalake:ml")


def test_queues_of_two_roots_are_separate() -> None:
    turns = Turns()
    with turns.turn("metalake:a", "work", 60), turns.turn("metalake:b", "work", 0.1):
        pass


def test_queue_of_a_forked_child_is_empty() -> None:
    turns = Turns()
    with turns.turn("metalake:ml", "work", 60):
        pid = os.fork()
        if pid == 0:
            with turns.turn("metalake:ml", "work", 5):
                os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
