"""Processes that ask beside a writer that never stops: all answers are right, nobody starves; the cost is printed."""

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
from statistics import median
from threading import Event
from typing import Any

import pytest

from grantpath.engine import Authorizer
from grantpath.engine.tenants import registry
from grantpath.graph.connection import Connection
from grantpath.graph.embedded.connect import connection
from grantpath.graph.store import QUICK_TRIES, Store

from ..support import reader_process
from ..support.reader_process import ALWAYS, AT_TIMES, BOB, KINDS, PUBLIC, QUESTIONS, STAFF, TIMEOUT, Guard, Reader
from ..support.sizes import say, size
from .test_races import BYSTANDERS, FACTS

pytestmark = pytest.mark.trust

LONG = size(full=20, short=3)
SLOW = 1.0  # seconds, and more, that such a question takes
READERS = size(full=8, short=4)
SLICES = size(full=5, short=2)
ROUNDS = size(full=50, short=20)  # of each reader in a slice: three checks, now and then a batch and lists
PROGRESS = 20  # changes that the writer must have made, and answers that must have been torn: else nothing is shown
STANDING = [
    f"allow MODIFY_TABLE on {STAFF} to role:analyst",
    f"allow SELECT_TABLE on {STAFF} to role:analyst",
    f"deny SELECT_TABLE on {STAFF} to role:analyst",
]


def turns(root: str) -> list[list[str]]:
    """What the writer does in a round: a batch leaves ALWAYS yes and NEVER no; alone come AT_TIMES, and noise."""
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
    """Changes the root without a pause, and knows at which revisions the answer to AT_TIMES turned; first it is no."""

    auth: Authorizer
    turned: list[int] = field(default_factory=list)
    changes: int = 0
    seconds: list[float] = field(default_factory=list)  # of each call

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Writes for as long as the block takes."""
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
        """The answer to a question at a revision."""
        return asked == ALWAYS or (asked == AT_TIMES and bisect_right(self.turned, revision) % 2 == 1)


class Process:
    """A reader in a process of its own."""

    def __init__(self, root: str) -> None:
        command = [sys.executable, reader_process.__file__, root]
        self.run = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def line(self) -> str:
        assert self.run.stdout
        line = self.run.stdout.readline()
        assert line, f"a reader died with {self.run.wait()}; what it raised stands above"
        return line

    def ask(self) -> dict[str, Any]:
        """Lets it ask; returns what it saw."""
        assert self.run.stdin
        self.run.stdin.write(f"{ROUNDS}\n")
        self.run.stdin.flush()
        saw: dict[str, Any] = json.loads(self.line())
        return saw


@contextmanager
def processes(root: str) -> Iterator[list[Process]]:
    """The readers, each ready to ask; ended with the block."""
    with ExitStack() as stack:
        readers = [Process(root) for _ in range(READERS)]
        for reader in readers:
            stack.enter_context(reader.run)  # it waits for the end
            stack.callback(reader.run.kill)
        for reader in readers:
            assert reader.line() == "ready\n"
        yield readers


class Phase:
    """What the readers saw in one of the two phases, over all its slices; in each all of them ask at once."""

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
        """How long each question of this kind took, from the quickest to the slowest."""
        return sorted(seconds for saw in self.saw for seconds in saw["seconds"][kind])

    def rate(self) -> float:
        """Questions a second."""
        return sum(len(self.seconds(kind)) for kind in KINDS) / self.took

    def told(self) -> str:
        lines = [f"{READERS} processes, {self.took:.1f} s, {self.rate():.0f} questions a second"]
        for kind in KINDS:
            seconds = self.seconds(kind)
            p50, p99, most = (1_000 * seconds[int(part * (len(seconds) - 1))] for part in (0.5, 0.99, 1))
            lines.append(f"{len(seconds):,} x {kind}: p50 {p50:.1f} ms, p99 {p99:.0f} ms, at most {most:,.0f} ms")
        asked, torn, locked = (self.guard[each] for each in ("asked", "torn", "locked"))
        return "\n  ".join(
            [*lines, f"guard: {asked:,} queries, {torn:,} torn and asked again, {locked:,} behind the lock"]
        )

    def all_right(self, writer: Writer) -> Counter[bool]:
        """Holds each answer to what the writer did; how often AT_TIMES was yes, and how often no."""
        at_times = Counter[bool]()
        for saw in self.saw:
            all_right(saw["seen"], writer)
            at_times.update(allowed for at, _, allowed in saw["seen"] if QUESTIONS[at] == AT_TIMES)
            for verb, name, listed in saw["lists"]:
                assert listed == ([{"who": BOB, "which": STAFF}[verb]] if name == ALWAYS[1] else []), (verb, name)
        return at_times


def all_right(seen: Sequence[tuple[int, int, bool]], writer: Writer) -> None:
    """Holds each decision to what the writer did, and none older than the one before."""
    revisions = [revision for _, revision, _ in seen]
    assert revisions == sorted(revisions)
    for at, revision, allowed in seen:
        assert allowed is writer.right(QUESTIONS[at], revision), (QUESTIONS[at], revision)


@pytest.fixture
def writer(server: Connection) -> Iterator[Writer]:
    """Of a root of its own, with the plans made that the server needs."""
    with Authorizer.open(f"metalake:busy{uuid.uuid4().hex}", "gravitino", server.uri, 60, create=True) as auth:
        try:
            assert not any(auth.given([*FACTS, *BYSTANDERS, *STANDING]))
            Reader(auth).round(0)
            Writer(auth).round()
            yield Writer(auth)
        finally:
            registry.remove(auth.store, auth.tenant)


def test_readers_beside_a_writer_that_never_stops(writer: Writer, capsys: pytest.CaptureFixture[str]) -> None:
    quiet, busy = Phase(), Phase()
    with processes(writer.auth.tenant) as readers:
        Phase().ask(readers)  # what is asked first takes longer
        for _ in range(SLICES):  # in turns, as the server grows quicker all the time
            quiet.ask(readers)
            with writer.busy():
                busy.ask(readers)
    say(capsys, f"no writer: {quiet.told()}")
    slower = median(busy.seconds("check")) / median(quiet.seconds("check"))
    say(
        capsys,
        f"a busy writer: {busy.told()}\n  {busy.rate() / quiet.rate():.2f} x the questions a second, {slower:.1f} x the"
        f" p50 of a check; the writer: {writer.changes:,} changes, its slowest call {max(writer.seconds):.2f} s",
    )
    assert quiet.guard["torn"] == quiet.guard["locked"] == 0
    assert not quiet.all_right(writer)[True], "in quiet AT_TIMES is no"
    at_times = busy.all_right(writer)
    assert min(at_times[True], at_times[False]) >= PROGRESS
    assert min(busy.guard["torn"], writer.changes) >= PROGRESS
    assert max(busy.seconds("check")) < TIMEOUT, "a reader starved"


@pytest.mark.slow
def test_a_question_that_takes_longer_than_the_writer_pauses(
    writer: Writer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is torn each time: it isn't asked twelve times in vain, but once more with the writer kept out."""
    reader, many = Reader(writer.auth), list(QUESTIONS)
    quiet = 0.0
    while quiet < SLOW:
        many *= 2
        writer.auth.check_many(many)  # the server has plans to make
        reader.batch(many)
        quiet = reader.seconds["check_many"][-1]
    store = Store(connection(), TIMEOUT)  # of its own: in one store questions and changes take turns before the lock
    reader = Reader(Authorizer(store, writer.auth.tenant, writer.auth.policy, writer.auth.root))
    guard = Guard(monkeypatch)
    with writer.busy():
        for _ in range(LONG):
            reader.batch(many)
            assert guard.count["asked"] <= QUICK_TRIES // 2 * len(reader.seconds["check_many"])
    seconds = reader.seconds["check_many"]
    say(
        capsys,
        f"{LONG} batches of {len(many):,} checks: {quiet:.1f} s in quiet, {median(seconds):.1f} s beside a busy writer,"
        f" {max(seconds):.1f} s at most; {guard.count['torn']} torn, {guard.count['locked']} behind the lock;"
        f" the writer: {writer.changes:,} changes, its slowest call {max(writer.seconds):.2f} s",
    )
    all_right(reader.seen, writer)
    assert guard.count["locked"], "none was disturbed: nothing is shown"
    store.close()
