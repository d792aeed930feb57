"""A thread of the process removes what ends, ahead of questions and changes."""

import gc
import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from threading import Event, Timer, enumerate
from typing import Any

import pytest

from grantpath.engine import Authorizer, Unavailable, Unknown
from grantpath.engine.memory.memory_authorizer import authorizer
from grantpath.graph.errors import GrantpathError
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
    end = end_text(datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=5))
    auth.change(f"{GRANT} until {end}")
    Authorizer(opened, auth.tenant, auth.policy, auth.root)
    assert stored(auth) == ["MODIFY_TABLE", "SELECT_TABLE"]
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


def test_user_who_may_only_read_is_not_watched_for_long(
    auth: Authorizer, timer: EndTimer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grantpath.graph.guard.store.ENDS_SECONDS", 0.1)
    auth.change(f"{GRANT} until {LATE}")
    clock(LATE)
    with as_reader(auth) as reader:
        reader.store.watch_ends(auth.tenant)
        until(lambda: timer._thread is None)
        assert (reader.store.only_reads, stored(auth)) == (True, ["SELECT_TABLE"])


def test_root_that_is_gone_is_not_watched_any_more(opened: Store, timer: EndTimer) -> None:
    opened.watch_ends("metalake:never_made")
    until(lambda: timer._thread is None)


class Answers:
    """A store that returns or raises these, one by one, and notes the questions."""

    def __init__(self, *answers: float | GrantpathError | None) -> None:
        self.answers, self.asked = list(answers), list[str]()

    def end_next(self, root: str) -> float | None:
        self.asked.append(root)
        answer = self.answers.pop(0)
        if isinstance(answer, GrantpathError):
            raise answer
        return answer


class Endless:
    """A store with a fact that ends soon, again and again."""

    def __init__(self) -> None:
        self.looked = Event()

    def end_next(self, _: str) -> float:
        self.looked.set()
        return 0.01


def test_error_that_may_pass_is_followed_by_another_look(timer: EndTimer) -> None:
    store = Answers(Unavailable("not now"), 0.01, Unknown("gone"))
    timer.watch(store, "metalake:a")
    until(lambda: timer._thread is None)
    assert store.asked == ["metalake:a"] * 3


def test_thread_that_has_ended_begins_again(timer: EndTimer) -> None:
    store = Answers(None, None)
    for _ in range(2):
        timer.watch(store, "metalake:a")
        until(lambda: timer._thread is None)
    assert store.asked == ["metalake:a"] * 2


def test_one_thread_watches_all_roots_of_all_stores(timer: EndTimer) -> None:
    first, second = Answers(0.01, None, None), Answers(None)
    timer.watch(first, "metalake:a")
    timer.watch(first, "metalake:b")
    timer.watch(second, "metalake:a")
    assert sum(each.name == "grantpath-ends" for each in enumerate()) == 1
    until(lambda: timer._thread is None)
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
    failed: list[object] = []
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
    until(lambda: timer._thread is None)
    assert failed == []


def test_forked_child_watches_nothing_until_it_opens_a_root(timer: EndTimer) -> None:
    store = Endless()
    timer.watch(store, "metalake:a")
    assert store.looked.wait(SECONDS)
    child = os.fork()
    if child == 0:
        os._exit(0 if timer._thread is None and not timer._next else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert timer._thread is not None


def test_thread_that_an_error_of_its_own_has_ended_is_replaced(
    timer: EndTimer, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed: list[object] = []
    monkeypatch.setattr("threading.excepthook", lambda failure: failed.append(failure.exc_type))
    broken, store = Answers(), Answers(None)
    timer.watch(broken, "metalake:a")
    thread = timer._thread
    assert thread is not None
    thread.join(SECONDS)
    assert failed == [IndexError]
    timer.watch(store, "metalake:a")
    until(lambda: timer._thread is None)
    assert store.asked == ["metalake:a"]


def test_root_in_memory_is_not_watched(timer: EndTimer) -> None:
    made = authorizer("gravitino", FACTS)
    made.change(f"{GRANT} until {LATE}")
    assert timer._thread is None
