"""A server that is killed under writers: no acknowledged change is lost, and none is half done."""

import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from threading import Event

import neo4j
import pytest

from grantpath.engine import Authorizer, Inconsistent, Unavailable
from grantpath.graph.guard.revision_guard import RevisionGuard

from ..support.crashes import FACTS, marks, whole
from ..support.own_server import OwnServer, own_server
from ..support.sizes import say, size

pytestmark = [pytest.mark.crash, pytest.mark.trust]

KILLS = size(full=20, short=1)
ROOTS, WRITERS = 2, 4
ENOUGH = 40  # changes or batches before a kill
PATIENT, IMPATIENT = (
    90.0,
    3.0,
)  # seconds: one is longer than a restart of the server, so that writer reads back by itself


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    with own_server(tmp_path_factory.mktemp("crash")) as mine:
        yield mine


@dataclass
class Writer:
    """Changes one root until it is stopped or interrupted, and records the outcome of each change by its id."""

    auth: Authorizer
    name: str
    outcomes: dict[str, str] = field(default_factory=dict)
    batches: dict[str, list[str]] = field(default_factory=dict)

    def work(self, stop: Event) -> None:
        for number in count():
            user, role = f"user:{self.name}n{number}", f"role:{self.name}n{number}"
            for at, batch in enumerate(
                [
                    [f"add {user}"],
                    [f"add {role}", f"allow USE_CATALOG on catalog:hr to {role}", f"member {user} of {role}"],
                    [f"revoke allow USE_CATALOG on catalog:hr from {role}"],
                    [f"deny USE_SCHEMA on catalog:hr to {role}", f"remove {user} from {role}", f"drop {user}"],
                ]
            ):
                if stop.is_set() or not self.say(f"{self.name}n{number}c{at}", batch):
                    return

    def say(self, id_: str, batch: list[str]) -> bool:
        """Makes the changes with this id, and records the outcome."""
        self.batches[id_] = batch
        try:
            make(self.auth, id_, batch)
        except Unavailable as error:
            self.outcomes[id_] = "unknown" if error.unknown else "not done"
            return False
        except Inconsistent:  # the impatient writer gave up before the marks of a killed one were repaired
            self.outcomes[id_] = "not done"
            return False
        self.outcomes[id_] = "done"
        return True


def make(auth: Authorizer, id_: str, batch: list[str]) -> None:
    if len(batch) == 1:
        auth.change(batch[0], id=id_)
    else:
        auth.change_all(batch, id=id_)


class Commits:
    """Observes each commit: its start, and whether it was answered."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.under_way = Event()
        self.unanswered = 0
        commit = RevisionGuard._commit

        def heard(guard: RevisionGuard, tx: neo4j.Transaction) -> None:
            self.under_way.set()
            try:
                commit(guard, tx)
            except Unavailable:
                self.unanswered += 1
                raise

        monkeypatch.setattr(RevisionGuard, "_commit", heard)


def warm_up(writers: Sequence[Writer]) -> None:
    """Waits until enough was written, at most five minutes: a newly started server is slow."""
    deadline = time.monotonic() + 300
    while sum(len(writer.outcomes) for writer in writers) < ENOUGH and time.monotonic() < deadline:
        time.sleep(0.05)


def test_killed_server_loses_no_acknowledged_change(
    server: OwnServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = Commits(monkeypatch)
    rng, outcomes, odd, back = random.Random("kills"), Counter[str](), 0, 0.0
    kept: list[set[str]] = [set() for _ in range(ROOTS)]  # acknowledged ids of all rounds
    for kill in range(KILLS):
        names = [f"crash{number}" for number in range(ROOTS)]
        for auth in [server.tenant(name, "gravitino", 60.0) for name in names]:
            if not auth.revision_now():
                assert not any(auth.given(FACTS))
            auth.close()
        writers = [
            Writer(server.tenant(names[at % ROOTS], "gravitino", IMPATIENT if at < ROOTS else PATIENT), f"k{kill}w{at}")
            for at in range(WRITERS)
        ]
        stop = Event()
        with ThreadPoolExecutor(WRITERS) as pool:
            runs = [pool.submit(writer.work, stop) for writer in writers]
            warm_up(writers)
            if kill % 2 == 0:  # any moment; in the other rounds, as near to a commit as possible
                time.sleep(rng.random())
            else:
                commits.under_way.clear()
                commits.under_way.wait(10)
                time.sleep(rng.uniform(0, 0.004))
            server.kill()
            stop.set()
            began = time.monotonic()
            server.start()
            back = max(back, time.monotonic() - began)
            for run in runs:
                run.result()
        for number, name in enumerate(names):
            auth = server.tenant(name, "gravitino", 60.0)
            odd += len(set(marks(auth))) > 1
            found = set(whole(auth))
            for writer in writers[number::ROOTS]:
                classified(writer, found)
                outcomes.update(writer.outcomes.values())
                kept[number] |= {id_ for id_, what in writer.outcomes.items() if what == "done"}
                again(writer, auth, found)
            assert kept[number] <= {id_.split(".")[0] for id_ in whole(auth)}
            auth.close()
        for writer in writers:
            writer.auth.close()
    say(
        capsys,
        f"{KILLS} kills under {WRITERS} writers: {commits.unanswered} commits not answered; reported done"
        f" {outcomes['done']:,}, not done {outcomes['not done']}, unknown {outcomes['unknown']}; acknowledged and"
        f" lost 0, half applied 0, wrongly reported 0; unequal marks repaired {odd}; back after {back:.1f} s at most",
    )
    assert outcomes["done"] >= ENOUGH * KILLS / 2 and outcomes["not done"] + outcomes["unknown"] >= KILLS


def classified(writer: Writer, found: set[str]) -> None:
    """The log agrees with the outcomes that the writer recorded, and batches are complete or absent."""
    for id_, what in writer.outcomes.items():
        ids = pieces(id_, writer.batches[id_])
        made = len(found & ids)
        assert made in (0, len(ids)), f"{id_} is half done"
        assert what != "done" or made, f"{id_} was acknowledged and is lost"
        assert what != "not done" or not made, f"{id_} was called not done and is done"


def pieces(id_: str, batch: list[str]) -> set[str]:
    """The ids in the log."""
    return {id_} if len(batch) == 1 else {f"{id_}.{at}" for at in range(len(batch))}


def again(writer: Writer, auth: Authorizer, found: set[str]) -> None:
    """Repeats interrupted changes with their ids: each is made once, whether or not it was made before."""
    for id_, batch in writer.batches.items():
        if writer.outcomes[id_] == "done":
            continue
        before = auth.revision_now()
        make(auth, id_, batch)
        assert auth.revision_now() - before == (0 if found & pieces(id_, batch) else len(batch))
