"""A copy of the facts beside a server that is killed under a writer: no answer is stale, and the copy stays exact."""

import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from threading import Event

import pytest

from grantpath.engine import Authorizer, Unavailable

from ..support.own_server import OwnServer, own_server
from ..support.sizes import say, size
from ..support.with_replica import content, replica_of, with_replica
from .test_races import BOB, FACTS, STAFF

pytestmark = [pytest.mark.crash, pytest.mark.trust, pytest.mark.slow]

KILLS = size(full=20, short=1)
READERS = 2
ENOUGH = 30  # answers before a kill


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    with own_server(tmp_path_factory.mktemp("replica-crash")) as mine:
        yield mine


@dataclass
class Writer:
    """Changes the root until the server is killed; `revision` is that of the last acknowledged change."""

    auth: Authorizer
    revision: int = 0

    def work(self, kill: int, stop: Event) -> None:
        """Each batch moves an ALLOW and its DENY, so that every committed state denies."""
        with suppress(Unavailable):
            for number in count():
                role = f"role:k{kill}n{number}"
                grants = [f"deny SELECT_TABLE on {STAFF} to {role}", f"allow SELECT_TABLE on {STAFF} to {role}"]
                for batch in ([f"add {role}", *grants, f"member {BOB} of {role}"], [f"drop {role}"]):
                    if stop.is_set():
                        return
                    self.revision = self.auth.change_all(batch)[-1].revision


@dataclass
class Reader:
    """Asks a copy, and counts the answers and the errors."""

    auth: Authorizer
    answers: int = 0
    errors: int = 0
    wrong: list[str] = field(default_factory=list)

    def work(self, writer: Writer, stop: Event) -> None:
        while not stop.is_set():
            known = writer.revision
            try:
                decision = self.auth.check(BOB, "SELECT_TABLE", STAFF)
            except Unavailable:
                self.errors += 1
                continue
            self.answers += 1
            if decision.allowed or decision.revision < known:
                self.wrong.append(f"{decision!r} after revision {known}")


def test_copy_is_not_stale_after_a_kill(server: OwnServer, capsys: pytest.CaptureFixture[str]) -> None:
    rng, root = random.Random("replica kills"), "copied"
    plain = server.tenant(root, "gravitino", 60.0)
    assert not any(plain.given(FACTS))
    auth = with_replica(server.tenant(root, "gravitino", 3.0))
    answers = errors = 0
    for kill in range(KILLS):
        writer = Writer(server.tenant(root, "gravitino", 3.0))
        readers = [Reader(auth) for _ in range(READERS)]
        stop = Event()
        with ThreadPoolExecutor(READERS + 1) as pool:
            runs = [pool.submit(writer.work, kill, stop), *(pool.submit(each.work, writer, stop) for each in readers)]
            deadline = time.monotonic() + 300
            while min(each.answers for each in readers) < ENOUGH and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(rng.random())
            server.kill()
            server.start()
            plain.change(f"add user:after{kill}")  # repairs the marks of the writer that was interrupted
            before = replica_of(auth).answered
            while replica_of(auth).answered == before and time.monotonic() < deadline + 60:
                time.sleep(0.05)
            stop.set()
            for run in runs:
                run.result()
        writer.auth.close()
        answers += sum(each.answers for each in readers)
        errors += sum(each.errors for each in readers)
        assert not [each.wrong for each in readers if each.wrong]
        assert content(auth) == content(with_replica(plain))
    copy = replica_of(auth)
    say(
        capsys,
        f"{KILLS} kills: {answers:,} answers, {copy.answered:,} questions from memory and {copy.left:,} left to Cypher,"
        f" {errors:,} errors while the server was down, 0 stale, 0 torn",
    )
    assert copy.answered > KILLS
    for each in (plain, auth):
        each.close()
