"""While the server is stopped, hung or refuses the login, every question raises Unavailable in time."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Any

import neo4j
import pytest

from grantpath import cypher
from grantpath.engine import Authorizer, Decision, Unavailable
from grantpath.graph.guard.store import Store

from ..support.lateness import Lateness
from ..support.own_server import OwnServer, own_server
from ..support.sizes import say, size

pytestmark = [pytest.mark.crash, pytest.mark.trust]

CHECKS = size(full=1_000, short=200)
THREADS = 50
TIMEOUT = 2.0  # the timeout of the authorizer
MARGIN = 1.0  # seconds for 50 Python threads to take turns
WAITS = 4  # waits of a call; a busy machine can end each of them late
KEEP_ALIVE = 8.0  # the embedded server sends a sign of life within this time; a running change waits for it
SOON = 120.0  # seconds until answers return: a newly started server plans slowly, even more so on a busy machine
FACTS = [
    "add catalog:hr",
    "add user:ann",
    "add user:bob",
    "add role:analyst",
    "allow USE_CATALOG on catalog:hr to role:analyst",
    "member user:bob of role:analyst",
    "owner user:ann of metalake:ml",
]
YES, NO = ("user:bob", "USE_CATALOG", "catalog:hr"), ("user:bob", "CREATE_SCHEMA", "catalog:hr")


@dataclass
class Outcome:
    """The error or the answer of one question, and the seconds that it took."""

    what: object
    seconds: float


def tried(ask: Callable[[], object]) -> Outcome:
    began = time.monotonic()
    try:
        what: object = ask()
    except Exception as error:
        what = error
    return Outcome(what, time.monotonic() - began)


@pytest.fixture(autouse=True)
def lateness() -> Iterator[Lateness]:
    with Lateness() as measured:
        yield measured


def late(outcomes: list[Outcome], lateness: Lateness, limit: float = TIMEOUT + MARGIN) -> list[Outcome]:
    """The outcomes that are not Unavailable, or are so after the limit in seconds and what the machine was late."""
    limit += WAITS * lateness.worst
    return [each for each in outcomes if not isinstance(each.what, Unavailable) or each.seconds > limit]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    with own_server(tmp_path_factory.mktemp("down")) as mine:
        yield mine


@pytest.fixture
def patient(server: OwnServer) -> Iterator[Authorizer]:
    """The same root with a long timeout: a newly started server takes long to plan its first queries."""
    mine = server.tenant("ml", "gravitino", timeout=60.0)
    if not mine.revision_now():
        assert not any(mine.given(FACTS))
    answers(mine)
    yield mine
    mine.close()


@pytest.fixture
def auth(server: OwnServer, patient: Authorizer) -> Iterator[Authorizer]:
    """An authorizer whose connections were in use before the failure."""
    mine = Authorizer(Store(server.connection, TIMEOUT), patient.tenant, patient.policy, patient.root)
    for _ in range(5):  # a login is slow
        with ThreadPoolExecutor(THREADS) as pool:
            warm = [outcome.what for outcome in pool.map(lambda _: tried(partial(mine.check, *YES)), range(THREADS))]
        if all(isinstance(what, Decision) for what in warm):
            break
    yield mine
    mine.close()


def answers(auth: Authorizer) -> None:
    assert auth.check(*YES) and not auth.check(*NO)


def all_refused(auth: Authorizer, capsys: pytest.CaptureFixture[str], how: str, lateness: Lateness) -> None:
    """Checks that all checks of all threads, and one question of each other kind, raise in time."""
    with ThreadPoolExecutor(THREADS) as pool:
        outcomes = list(pool.map(lambda number: tried(lambda: auth.check(*(YES, NO)[number % 2])), range(CHECKS)))
    raised = [outcome for outcome in outcomes if isinstance(outcome.what, Unavailable)]
    slowest = max(outcome.seconds for outcome in outcomes)
    say(
        capsys,
        f"{how}: {len(outcomes):,} checks from {THREADS} threads, {len(raised):,} raised Unavailable,"
        f" {len(outcomes) - len(raised)} did anything else; the slowest after {slowest:.2f} s of {TIMEOUT:.0f} s;"
        f" a thread was woken at most {lateness.worst:.2f} s late",
    )
    assert late(outcomes, lateness) == []
    questions: list[Callable[[], object]] = [
        lambda: auth.check_many([YES, NO]),
        lambda: auth.explain(*YES),
        lambda: auth.revocation(*YES),
        lambda: list(auth.who("USE_CATALOG", "catalog:hr")),
        lambda: list(auth.which("catalog", "user:bob", "USE_CATALOG")),
        lambda: auth.log(),
        lambda: auth.revision_now(),
    ]
    with ThreadPoolExecutor(len(questions)) as pool:
        assert late(list(pool.map(tried, questions)), lateness) == []


def back(auth: Authorizer, capsys: pytest.CaptureFixture[str], how: str) -> None:
    """Checks that the same authorizer gets right answers again, from as many threads, and no wrong one until then."""
    began = time.monotonic()
    while True:
        with ThreadPoolExecutor(THREADS) as pool:
            outcomes = list(pool.map(lambda number: tried(partial(auth.check, *(YES, NO)[number % 2])), range(THREADS)))
        answered = [not isinstance(outcome.what, Unavailable) for outcome in outcomes]
        right = [
            isinstance(outcome.what, Decision) and bool(outcome.what) is (number % 2 == 0)
            for number, outcome in enumerate(outcomes)
        ]
        assert [outcomes[at] for at in range(THREADS) if answered[at] and not right[at]] == []
        if all(answered):
            break
        assert time.monotonic() - began < SOON, f"{how}: no answer {SOON:.0f} s after it was over"
    say(capsys, f"{how}: right answers {time.monotonic() - began:.1f} s after it was over")


@pytest.mark.slow
def test_questions_raise_while_the_server_is_stopped(
    server: OwnServer,
    auth: Authorizer,
    patient: Authorizer,
    lateness: Lateness,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server.stop()
    try:
        all_refused(auth, capsys, "stopped", lateness)
        change = tried(lambda: auth.change("add user:eve", by="user:ann", id="eve"))
        assert late([change], lateness, 2 * TIMEOUT + MARGIN) == []
    finally:
        server.start()
    answers(patient)
    back(auth, capsys, "stopped")
    assert patient.log(id="eve") == []


def test_questions_raise_while_the_server_hangs(
    server: OwnServer,
    auth: Authorizer,
    patient: Authorizer,
    lateness: Lateness,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server.suspend()
    try:
        all_refused(auth, capsys, "hung", lateness)
        change = tried(lambda: auth.change("add user:eve", by="user:ann", id="eve"))
        assert late([change], lateness, KEEP_ALIVE + 2 * TIMEOUT + MARGIN) == []
        say(capsys, f"hung: a change raised after {change.seconds:.1f} s")
    finally:
        server.resume()
    back(auth, capsys, "hung")
    assert patient.log(id="eve") == []


def test_question_under_the_lock_raises_while_the_server_hangs(
    server: OwnServer,
    auth: Authorizer,
    patient: Authorizer,
    lateness: Lateness,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A question that writers disturb is repeated under the lock, and raises in time there, too."""
    run, question, began = neo4j.Transaction.run, cypher.load("check").sent, 0.0

    def suspended(self: neo4j.Transaction, text: Any, *given: Any, **named: Any) -> neo4j.Result:
        nonlocal began
        if text == question:  # the lock is held
            server.suspend()
            began = time.monotonic()
        return run(self, text, *given, **named)

    with monkeypatch.context() as patch:
        patch.setattr("grantpath.graph.guard.store.QUICK_TRIES", 0)
        patch.setattr("grantpath.graph.guard.store.is_consistent", lambda row: False)
        answers(patient)
        patch.setattr(neo4j.Transaction, "run", suspended)
        try:
            assert isinstance(tried(partial(auth.check, *YES)).what, Unavailable)
            took = time.monotonic() - began
        finally:
            server.resume()
    say(capsys, f"hung under the lock: a check raised after {took:.1f} s of {1.5 * TIMEOUT:.0f} s")
    assert took <= 1.5 * TIMEOUT + MARGIN + WAITS * lateness.worst
    back(auth, capsys, "hung under the lock")


@pytest.mark.slow
def test_running_checks_end_in_time_when_the_server_hangs(
    server: OwnServer, auth: Authorizer, lateness: Lateness, capsys: pytest.CaptureFixture[str]
) -> None:
    """Running questions get right answers or none, in time."""
    stop = Event()

    def ask() -> list[Outcome]:
        outcomes = []
        while not stop.is_set():
            outcomes.append(tried(lambda: auth.check(*YES)))
        return outcomes

    with ThreadPoolExecutor(THREADS) as pool:
        runs = [pool.submit(ask) for _ in range(THREADS)]
        time.sleep(1.0)
        server.suspend()
        try:
            time.sleep(2 * TIMEOUT)
            stop.set()
            outcomes = [outcome for run in runs for outcome in run.result()]
        finally:
            stop.set()
            server.resume()
    answered = [outcome for outcome in outcomes if not isinstance(outcome.what, Exception)]
    say(capsys, f"hung at work: {len(answered):,} answered before, {len(outcomes) - len(answered):,} raised after")
    assert answered and len(outcomes) - len(answered) >= THREADS
    assert all(outcome.what for outcome in answered)
    assert late([outcome for outcome in outcomes if outcome not in answered], lateness) == []
    back(auth, capsys, "hung at work")


def test_questions_raise_while_the_server_refuses_the_login(
    server: OwnServer, auth: Authorizer, lateness: Lateness, capsys: pytest.CaptureFixture[str]
) -> None:
    """The password has changed, and the connections that used the old one are closed."""
    right, wrong = server.connection.password, "another-password"
    login = (server.connection.user, right)
    with (
        neo4j.GraphDatabase.driver(server.connection.uri, auth=login) as driver,
        driver.session(database="system") as admin,
    ):
        admin.run(PASSWORD, old=right, new=wrong).consume()
        try:
            mine = admin.run(CONNECTION).single(strict=True)["id"]
            ids = [each["id"] for each in admin.run(CONNECTIONS) if each["id"] != mine]
            assert ids  # how many calls overlapped depends on the machine
            admin.run(CLOSE, ids=ids).consume()
            all_refused(auth, capsys, "refusing logins", lateness)
        finally:
            admin.run(PASSWORD, old=wrong, new=right).consume()
    back(auth, capsys, "refusing logins")


CONNECTION = (  # of this query; an earlier one may still be ending
    "SHOW TRANSACTIONS YIELD connectionId AS id, currentQuery WHERE currentQuery STARTS WITH 'SHOW TRANS' RETURN id"
)
CONNECTIONS = "CALL dbms.listConnections() YIELD connectionId AS id RETURN id"
CLOSE = "CALL dbms.killConnections($ids)"
PASSWORD = "ALTER CURRENT USER SET PASSWORD FROM $old TO $new"
