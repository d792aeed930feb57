"""A thread of the process removes what ends, ahead of questions and changes."""

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from threading import Event, Thread, Timer
from typing import Any

import pytest

from grantpath.engine import Authorizer, Unavailable, Unknown
from grantpath.engine.change.ending import end_due
from grantpath.engine.memory.memory_authorizer import authorizer
from grantpath.graph.guard import end_timer
from grantpath.graph.guard.end_timer import EndTimer
from grantpath.graph.guard.store import Store
from grantpath.graph.language.ends import end_text

from ...conftest import Tenants
from ...support.with_replica import as_reader
from .conftest import Clock

FACTS = ["add catalog:hr", "add schema:hr.s", "add table:hr.s.t", "add role:r"]
GRANT = "allow SELECT_TABLE on table:hr.s.t to role:r"
OTHER = "allow MODIFY_TABLE on table:hr.s.t to role:r"
LATE = "2900-01-01T00:00:00Z"
SECONDS = 30.0  # that a busy machine may need for what takes a moment


@pytest.fixture
def timer(monkeypatch: pytest.MonkeyPatch) -> Iterator[EndTimer]:
    """A timer that looks often, for the stores of this process."""
    monkeypatch.setattr(end_timer, "FIRST", 0.01)
    monkeypatch.setattr(end_timer, "LOOK", 0.05)
    timer = EndTimer()
    monkeypatch.setattr("grantpath.graph.guard.store.timer", timer)
    yield timer
    until(lambda: timer._thread is None)


@pytest.fixture
def auth(tenant: Tenants, monkeypatch: pytest.MonkeyPatch) -> Authorizer:
    """A client that only removes what has ended when it is asked."""
    auth = tenant("gravitino", FACTS)
    monkeypatch.setattr(auth.store, "watch_ends", lambda _: None)
    return auth


@pytest.fixture
def opened(auth: Authorizer, timer: EndTimer) -> Iterator[Store]:
    """A store that is closed at the end of the test, so that its roots are not watched any more."""
    store = Store(auth.store.connection, timeout=60)
    yield store
    store.close()


def until(true: Callable[[], object]) -> None:
    """Waits until something is true."""
    deadline = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < deadline, "it did not become true"
        time.sleep(0.01)


def stored(auth: Authorizer) -> list[str]:
    """The privileges that are stored, read without the guard, which would remove what has ended."""
    rows = auth.store.read(
        "MATCH (:Entity {root: $root, ref: 'role:r'})-[edge:ALLOW]->() RETURN edge.privilege AS name ORDER BY name",
        {"root": auth.tenant},
    )
    return [row["name"] for row in rows]


def test_fact_is_removed_when_it_ends_though_nobody_asks(auth: Authorizer, opened: Store) -> None:
    auth.change(f"{OTHER} until {LATE}")  # the first fact that ends takes longer
    Authorizer(opened, auth.tenant, auth.policy, auth.root)
    end = end_text(datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=10))
    auth.change(f"{GRANT} until {end}")
    until(lambda: stored(auth) == ["MODIFY_TABLE"])
    [entry] = auth.log(limit=1)
    assert (entry.statement, end_text(entry.at)) == (f"ended: {GRANT} until {end}", end)


def test_fact_that_another_client_writes_later_is_removed(auth: Authorizer, opened: Store, clock: Clock) -> None:
    auth.change(f"{OTHER} until {LATE}")
    Authorizer(opened, auth.tenant, auth.policy, auth.root)
    auth.change(f"{GRANT} until 2100-01-01T00:00:00Z")
    clock("2100-01-01T00:00:00Z")
    until(lambda: stored(auth) == ["MODIFY_TABLE"])


def test_client_that_follows_its_root_to_the_first_fact_that_ends_removes_it(
    auth: Authorizer, opened: Store, clock: Clock
) -> None:
    other = Authorizer(opened, auth.tenant, auth.policy, auth.root)
    auth.change(f"{GRANT} until {LATE}")
    assert not other.check("user:bob", "SELECT_TABLE", "table:hr.s.t")  # finds the later format
    clock(LATE)
    until(lambda: stored(auth) == [])


def test_root_without_facts_that_end_is_not_watched(auth: Authorizer, opened: Store, timer: EndTimer) -> None:
    Authorizer(opened, auth.tenant, auth.policy, auth.root).check("user:bob", "SELECT_TABLE", "table:hr.s.t")
    assert timer._thread is None


def test_user_who_may_only_read_is_tried_again_later(
    auth: Authorizer, timer: EndTimer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database may only be read-only for a while."""
    auth.change(f"{GRANT} until {LATE}")
    clock(LATE)
    with as_reader(auth) as reader:
        reader.store.watch_ends(auth.tenant)
        until(lambda: reader.store.only_reads)
        assert stored(auth) == ["SELECT_TABLE"]
        monkeypatch.setattr(reader.store._guard, "end_piece", auth.store._guard.end_piece)
        reader.store._reader_until = 0.0
        until(lambda: stored(auth) == [])


def test_root_that_is_created_after_the_first_look_is_watched(
    auth: Authorizer, opened: Store, timer: EndTimer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened.ends_by(end_due)
    looked, end_next = Event(), opened.end_next

    def noted(root: str) -> float | None:
        found = end_next(root)
        looked.set()
        return found

    monkeypatch.setattr(opened, "end_next", noted)
    opened.watch_ends("metalake:ends_later")
    assert looked.wait(SECONDS)
    late = Authorizer.open("metalake:ends_later", "gravitino", create=True)
    try:
        late.given([*FACTS, f"{GRANT} until {LATE}"])
        clock(LATE)
        until(lambda: stored(late) == [])
    finally:
        late.close()
        Authorizer.drop_root("metalake:ends_later", confirm="metalake:ends_later")


class Answers:
    """A store that returns or raises these, one by one, and notes the questions."""

    def __init__(self, *answers: float | Exception | None) -> None:
        self.answers, self.asked = list(answers), list[str]()

    def end_next(self, root: str) -> float | None:
        self.asked.append(root)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Endless:
    """A store with a fact that ends soon, again and again."""

    def __init__(self) -> None:
        self.looked = Event()

    def end_next(self, _: str) -> float:
        self.looked.set()
        return 0.01


def test_error_is_followed_by_another_look_and_keeps_no_other_root_waiting(
    timer: EndTimer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(end_timer, "AFTER_ERROR", 0.02)
    store, other = Answers(Unavailable("not now"), ZeroDivisionError(), Unknown("gone"), None), Answers(0.01, None)
    timer.watch(store, "metalake:a")
    timer.watch(other, "metalake:b")
    until(lambda: timer._thread is None)
    assert (store.asked, other.asked) == (["metalake:a"] * 4, ["metalake:b"] * 2)
    assert [each.getMessage() for each in caplog.records if each.exc_info] == [
        "metalake:a: what has ended is left to the next question"
    ]


def test_thread_that_has_ended_begins_again(timer: EndTimer) -> None:
    store = Answers(None, None)
    for _ in range(2):
        timer.watch(store, "metalake:a")
        until(lambda: timer._thread is None)
    assert store.asked == ["metalake:a"] * 2


def test_one_thread_watches_all_roots_of_all_stores(timer: EndTimer) -> None:
    first, second = Answers(0.01, None, None), Answers(None)
    timer.watch(first, "metalake:a")
    thread = timer._thread
    timer.watch(first, "metalake:b")
    timer.watch(second, "metalake:a")
    assert thread is not None
    thread.join(SECONDS)
    assert ({*first.asked}, len(first.asked), second.asked) == ({"metalake:a", "metalake:b"}, 3, ["metalake:a"])


def test_store_that_nothing_needs_any_more_is_forgotten(timer: EndTimer) -> None:
    store = Endless()
    looked = store.looked
    timer.watch(store, "metalake:a")
    assert looked.wait(SECONDS)
    del store
    gc.collect()
    until(lambda: timer._thread is None)


def test_store_that_is_closed_waits_for_the_look_in_progress(timer: EndTimer) -> None:
    looking, may_end = Event(), Event()

    class Slow:
        ended = False

        def end_next(self, _: str) -> float:
            looking.set()
            may_end.wait(SECONDS)
            self.ended = True
            return 0.01

    store, other = Slow(), Endless()
    timer.watch(store, "metalake:a")
    assert looking.wait(SECONDS)
    timer.forget(other)  # does not wait for another store
    assert not store.ended
    Timer(0.1, may_end.set).start()
    timer.forget(store)
    assert store.ended
    until(lambda: timer._thread is None)


def test_closed_store_asks_nothing_more(auth: Authorizer, timer: EndTimer) -> None:
    """Of many that are closed at random moments, none is in the middle of a query then."""
    failed, begun = list[object](), 0
    auth.change(f"{OTHER} until {LATE}")
    for at in range(30):
        store = Store(auth.store.connection, timeout=60)
        looks, end_next = list[str](), store.end_next

        def counted(root: str, looks: list[str] = looks, end_next: Callable[[str], float | None] = end_next) -> Any:
            looks.append("begun")
            try:
                return end_next(root)
            except BaseException as error:
                failed.append(error)
                raise
            finally:
                looks.append("ended")

        store.end_next = counted  # type: ignore[method-assign]
        store.watch_ends(auth.tenant)
        time.sleep(0.002 * at)
        store.close()
        assert looks.count("begun") == looks.count("ended")
        begun += len(looks)
    until(lambda: timer._thread is None)
    assert failed == []
    assert begun, "no store was closed after a look"


def test_forked_child_watches_nothing_until_it_opens_a_root(timer: EndTimer) -> None:
    store = Endless()
    timer.watch(store, "metalake:a")
    assert store.looked.wait(SECONDS)
    child = os.fork()
    if child == 0:
        os._exit(0 if timer._thread is None and not timer._next else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert timer._thread is not None


def test_store_that_a_finalizer_closes_in_the_thread_waits_for_nothing(timer: EndTimer) -> None:
    class Closing:
        closed = False

        def end_next(self, _: str) -> float:
            timer.forget(self)
            self.closed = True
            return 0.01

    store = Closing()
    timer.watch(store, "metalake:a")
    until(lambda: store.closed)
    timer.forget(store)


def test_process_ends_while_a_look_is_in_progress() -> None:
    """Then the thread does not run any more, and a finalizer that closes the store must not wait for it."""
    program = """
import time
from grantpath.graph.guard import end_timer
from grantpath.graph.guard.end_timer import timer

class Slow:
    def end_next(self, root):
        print("looks", flush=True)
        time.sleep(1_000)

    def __del__(self):
        timer.forget(self)
        print("closed", flush=True)

end_timer.FIRST = 0.0
store = Slow()
timer.watch(store, "metalake:a")
while timer._looks_at is None:
    time.sleep(0.01)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=SECONDS)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("looks")


def test_process_that_may_start_no_thread_leaves_it_to_the_questions(
    timer: EndTimer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    store = Answers(None)
    with monkeypatch.context() as patch:
        patch.setattr(Thread, "start", refused)
        timer.watch(store, "metalake:a")
    assert timer._thread is None
    timer.watch(store, "metalake:a")
    until(lambda: timer._thread is None)
    assert store.asked == ["metalake:a"]


def test_root_in_memory_is_not_watched(timer: EndTimer) -> None:
    made = authorizer("gravitino", FACTS)
    made.change(f"{GRANT} until {LATE}")
    assert timer._thread is None
