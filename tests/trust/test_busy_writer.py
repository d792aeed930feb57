"""Reader processes during continuous writes: all answers are right, no reader starves, and the cost is printed."""

import json
import subprocess
import sys
import time
import uuid
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from math import ceil
from statistics import median
from threading import Event
from typing import Any

import pytest

from grantpath.engine import Authorizer
from grantpath.engine.answers.batches import MOST
from grantpath.engine.tenants import registry
from grantpath.graph.client.connection import Connection
from grantpath.graph.embedded.connect import connection
from grantpath.graph.guard.store import QUICK_TRIES, Store

from ..support import reader_process
from ..support.reader_process import ALWAYS, AT_TIMES, BOB, KINDS, PUBLIC, QUESTIONS, STAFF, TIMEOUT, Guard, Reader
from ..support.sizes import say, size
from ..support.tiers import others_slow
from .test_races import BYSTANDERS, FACTS

pytestmark = pytest.mark.trust

LONG = size(full=20, short=3)
SLOW = 1.0  # seconds that such a question takes at least
READERS = size(full=8, short=4)
SLICES = size(full=5, short=2)
ROUNDS = size(full=50, short=20)  # rounds of a reader in a slice: three checks, sometimes a batch and lists
PROGRESS = 20  # changes and torn answers that the test needs at least to prove anything
STANDING = [
    f"allow MODIFY_TABLE on {STAFF} to role:analyst",
    f"allow SELECT_TABLE on {STAFF} to role:analyst",
    f"deny SELECT_TABLE on {STAFF} to role:analyst",
]


def turns(root: str) -> list[list[str]]:
    """The changes of a round: a batch keeps ALWAYS yes and NEVER no; single changes turn AT_TIMES, or are noise."""
    return [
        [
            f"allow MODIFY_TABLE on {STAFF} to role:auditor",
            f"revoke allow MODIFY_TABLE on {STAFF} from role:analyst",
            f"deny SELECT_TABLE on {root} to role:auditor",
            f"revoke deny SELECT_TABLE on {STAFF} from role:analyst",
        ],
        [f"allow USE_SCHEMA on {PUBLIC} to role:analyst"],
        ["add role:noise"],
        [
            f"allow MODIFY_TABLE on {STAFF} to role:analyst",
            f"revoke allow MODIFY_TABLE on {STAFF} from role:auditor",
            f"deny SELECT_TABLE on {STAFF} to role:analyst",
            f"revoke deny SELECT_TABLE on {root} from role:auditor",
        ],
        [f"revoke allow USE_SCHEMA on {PUBLIC} from role:analyst"],
        ["drop role:noise"],
    ]


@dataclass
class Writer:
    """Changes the root continuously, and records the revisions that change the answer to AT_TIMES, first from no."""

    auth: Authorizer
    turned: list[int] = field(default_factory=list)
    changes: int = 0
    seconds: list[float] = field(default_factory=list)  # seconds of each call

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Writes until the block ends."""
        stop = Event()
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(self.write, stop)
            try:
                yield
            finally:
                stop.set()
            writing.result()

    def write(self, stop: Event) -> None:
        while not stop.is_set():
            self.round()

    def round(self) -> None:
        for statements in turns(self.auth.root.text):
            began = time.monotonic()
            made = self.auth.change_all(statements) if len(statements) > 1 else [self.auth.change(statements[0])]
            self.seconds.append(time.monotonic() - began)
            assert all(change.id for change in made), "each change changes something"
            self.changes += len(made)
            if "USE_SCHEMA" in statements[0]:
                self.turned.append(made[0].revision)

    def right(self, asked: tuple[str, str, str], revision: int) -> bool:
        """The right answer to a question at a revision."""
        return asked == ALWAYS or (asked == AT_TIMES and bisect_right(self.turned, revision) % 2 == 1)


class Process:
    """A reader in a process of its own."""

    def __init__(self, root: str, engine: str) -> None:
        command = [sys.executable, reader_process.__file__, root, engine]
        self.run = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def line(self) -> str:
        assert self.run.stdout
        line = self.run.stdout.readline()
        assert line, f"a reader died with {self.run.wait()}; its error is printed above"
        return line

    def ask(self) -> dict[str, Any]:
        """Makes the reader ask; returns its observations."""
        assert self.run.stdin
        self.run.stdin.write(f"{ROUNDS}\n")
        self.run.stdin.flush()
        saw: dict[str, Any] = json.loads(self.line())
        return saw


@contextmanager
def processes(root: str, engine: str) -> Iterator[list[Process]]:
    """The readers, ready to ask; ended with the block."""
    with ExitStack() as stack:
        readers = [Process(root, engine) for _ in range(READERS)]
        for reader in readers:
            stack.enter_context(reader.run)  # waits for the process to end
            stack.callback(reader.run.kill)
        for reader in readers:
            assert reader.line() == "ready\n"
        yield readers


class Phase:
    """The observations of the readers in one of the two phases, over all slices, in which all readers ask at once."""

    def __init__(self) -> None:
        self.saw: list[dict[str, Any]] = []
        self.took = 0.0
        self.guard = Counter[str]()

    def ask(self, readers: Sequence[Process]) -> None:
        with ThreadPoolExecutor(READERS) as pool:
            saw = list(pool.map(Process.ask, readers))
        self.saw += saw
        self.took += max(float(each["took"]) for each in saw)
        self.guard += sum((Counter(each["guard"]) for each in saw), Counter[str]())

    def seconds(self, kind: str) -> list[float]:
        """The sorted times of all questions of this kind."""
        return sorted(seconds for saw in self.saw for seconds in saw["seconds"][kind])

    def rate(self) -> float:
        """Questions per second."""
        return sum(len(self.seconds(kind)) for kind in KINDS) / self.took

    def summary(self) -> str:
        lines = [f"{READERS} processes, {self.took:.1f} s, {self.rate():.0f} questions a second"]
        for kind in KINDS:
            seconds = self.seconds(kind)
            p50, p99, most = (1_000 * seconds[int(part * (len(seconds) - 1))] for part in (0.5, 0.99, 1))
            lines.append(f"{len(seconds):,} x {kind}: p50 {p50:.1f} ms, p99 {p99:.0f} ms, at most {most:,.0f} ms")
        asked, torn, locked, memory = (self.guard[each] for each in ("asked", "torn", "locked", "memory"))
        guard = f"guard: {asked:,} queries, {torn:,} torn and asked again, {locked:,} under the lock"
        return "\n  ".join([*lines, f"{guard}; {memory:,} questions from memory"])

    def all_right(self, writer: Writer) -> Counter[bool]:
        """Compares each answer with the writer's record; returns how often AT_TIMES was yes and no."""
        at_times = Counter[bool]()
        for saw in self.saw:
            all_right(saw["seen"], writer)
            at_times.update(allowed for at, _, allowed in saw["seen"] if QUESTIONS[at] == AT_TIMES)
            for verb, name, listed in saw["lists"]:
                assert listed == ([{"who": BOB, "which": STAFF}[verb]] if name == ALWAYS[1] else []), (verb, name)
        return at_times


def all_right(seen: Sequence[tuple[int, int, bool]], writer: Writer) -> None:
    """Compares each decision with the writer's record, and checks that revisions never go back."""
    revisions = [revision for _, revision, _ in seen]
    assert revisions == sorted(revisions)
    for at, revision, allowed in seen:
        assert allowed is writer.right(QUESTIONS[at], revision), (QUESTIONS[at], revision)


@pytest.fixture
def writer(server: Connection) -> Iterator[Writer]:
    """A writer on a root of its own, after the server has planned the queries."""
    with Authorizer.open(f"metalake:busy{uuid.uuid4().hex}", "gravitino", server.uri, 60, create=True) as auth:
        try:
            assert not any(auth.given([*FACTS, *BYSTANDERS, *STANDING]))
            Reader(auth).round(0)
            Writer(auth).round()
            yield Writer(auth)
        finally:
            registry.remove(auth.store, auth.tenant)


@pytest.mark.parametrize("engine", others_slow(["cypher", "replica"]))
def test_readers_get_right_answers_during_continuous_writes(
    writer: Writer, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet, busy = Phase(), Phase()
    with processes(writer.auth.tenant, engine) as readers:
        Phase().ask(readers)  # the first questions take longer
        for _ in range(SLICES):  # alternating, because the server becomes faster over time
            quiet.ask(readers)
            with writer.busy():
                busy.ask(readers)
    say(capsys, f"{engine}, no writer: {quiet.summary()}")
    slower = median(busy.seconds("check")) / median(quiet.seconds("check"))
    say(
        capsys,
        f"{engine}, a busy writer: {busy.summary()}\n  {busy.rate() / quiet.rate():.2f} x the questions a"
        f" second, {slower:.1f} x the p50 of a check;"
        f" the writer: {writer.changes:,} changes, its slowest call {max(writer.seconds):.2f} s",
    )
    assert quiet.guard["torn"] == quiet.guard["locked"] == 0
    assert not quiet.all_right(writer)[True], "without a writer, AT_TIMES must be no"
    at_times = busy.all_right(writer)
    assert min(at_times[True], at_times[False]) >= PROGRESS
    assert min(busy.guard["torn" if engine == "cypher" else "memory"], writer.changes) >= PROGRESS
    assert max(busy.seconds("check")) < TIMEOUT, "a reader starved"


@pytest.mark.slow
def test_question_longer_than_the_pauses_of_writers_is_answered(
    writer: Writer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each try is torn, so the question is repeated once under the lock instead of twelve times in vain."""
    reader, many = Reader(writer.auth), list(QUESTIONS)
    quiet = 0.0
    while quiet < SLOW and len(many) < MOST:
        many = (many * 2)[:MOST]
        writer.auth.check_many(many)  # the server plans its queries first
        reader.batch(many)
        quiet = reader.seconds["check_many"][-1]
    store = Store(
        connection(), TIMEOUT
    )  # a separate store: in one store, questions and changes take turns before the lock
    reader = Reader(Authorizer(store, writer.auth.tenant, writer.auth.policy, writer.auth.root))
    guard = Guard(monkeypatch)
    queries = ceil(len(many) / MOST)  # of one batch
    with writer.busy():
        for _ in range(LONG):
            reader.batch(many)
            assert guard.count["asked"] < QUICK_TRIES * queries * len(reader.seconds["check_many"])
    seconds = reader.seconds["check_many"]
    say(
        capsys,
        f"{LONG} batches of {len(many):,} checks: {quiet:.1f} s in quiet, {median(seconds):.1f} s beside a busy writer,"
        f" {max(seconds):.1f} s at most; {guard.count['torn']} torn, {guard.count['locked']} under the lock;"
        f" the writer: {writer.changes:,} changes, its slowest call {max(writer.seconds):.2f} s",
    )
    all_right(reader.seen, writer)
    assert guard.count["locked"], "no question was disturbed, so nothing is proven"
    store.close()
