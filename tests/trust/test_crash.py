"""Servers and clients that are killed at any moment: nothing acknowledged is lost, nothing half done, nothing held."""

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Event

import neo4j
import pytest

from grantpath.engine import Authorizer, Inconsistent, Unavailable
from grantpath.engine.transfer import importer
from grantpath.graph.revision_guard import RevisionGuard

from ..support.own_server import OwnServer, own_server
from ..support.sizes import say, size

pytestmark = [pytest.mark.crash, pytest.mark.trust]

KILLS = size(full=20, short=2)
CLIENT_KILLS = size(full=30, short=3)  # of each way to write
ROOTS, WRITERS = 2, 4
ENOUGH = 40  # changes or batches before a kill
PATIENT, IMPATIENT = 90.0, 3.0  # seconds: one outlasts the server's coming back, so it reads back by itself
TIMEOUT = 10.0  # as an authorizer has it where nobody says anything else: the next one answers in this time
FACTS = ["add catalog:hr"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    with own_server(tmp_path_factory.mktemp("crash")) as mine:
        yield mine


# ---- what must be in the graph, told from the log alone --------------------------------------------------------------
def replayed(root: str, statements: Iterable[str]) -> tuple[set[str], set[tuple[str, ...]]]:
    """The entities and edges that these statements make; it knows the few kinds that are said in this file."""
    entities, links = {root}, set[tuple[str, ...]]()
    for statement in statements:
        match statement.split():
            case ["add", name]:
                entities.add(name)
            case ["drop", name]:
                entities.remove(name)
                links = {link for link in links if name not in link}
            case ["member", user, "of", role]:
                links.add(("HAS_ROLE", user, role))
            case ["remove", user, "from", role]:
                links.remove(("HAS_ROLE", user, role))
            case [("allow" | "deny") as effect, privilege, "on", object_, "to", role]:
                links.add((effect.upper(), role, object_, privilege))
            case ["revoke", effect, privilege, "on", object_, "from", role]:
                links.remove((effect.upper(), role, object_, privilege))
            case _:
                raise AssertionError(statement)
    return entities, links


def in_the_graph(auth: Authorizer) -> tuple[set[str], set[tuple[str, ...]]]:
    state = auth.ask("tenant_state")
    links = {
        (each["kind"], each["source"], each["target"], *([each["privilege"]] if each["privilege"] else []))
        for each in state["edges"]
    }
    return {each["ref"] for each in state["entities"] if not each["builtin"]}, links


def whole(auth: Authorizer) -> list[str]:
    """Holds the graph to its history, and the marks to each other; returns the ids of the changes."""
    log = auth.log(limit=10_000)
    at = [each.revision for each in log]
    assert at == sorted(set(at)) and at[-1] <= auth.revision_now()  # a change that was cut off leaves its number unused
    assert in_the_graph(auth) == replayed(auth.root.text, (each.statement for each in log))
    assert marks(auth) == (auth.revision_now(),) * 2
    return [each.id for each in log]


def marks(auth: Authorizer) -> tuple[int, int]:
    """As they stand: nothing mends them on the way."""
    [row] = auth.store.read(MARKS, {"root": auth.tenant})
    return row["revision"], row["begun"]


MARKS = "MATCH (mark:Revision {root: $root}) RETURN mark.revision AS revision, mark.begun AS begun"


# ---- the server is killed --------------------------------------------------------------------------------------------
@dataclass
class Writer:
    """Changes one root until it is stopped or cut off, and keeps what it was told of each change, by its id."""

    auth: Authorizer
    name: str
    told: dict[str, str] = field(default_factory=dict)
    said: dict[str, list[str]] = field(default_factory=dict)

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
        """Makes the changes under this id, and notes what it is told."""
        self.said[id_] = batch
        try:
            make(self.auth, id_, batch)
        except Unavailable as error:
            self.told[id_] = "unknown" if error.unknown else "not done"
            return False
        self.told[id_] = "done"
        return True


def make(auth: Authorizer, id_: str, batch: list[str]) -> None:
    if len(batch) == 1:
        auth.change(batch[0], id=id_)
    else:
        auth.change_all(batch, id=id_)


class Commits:
    """Hears of each commit: when it begins, and when it was not answered."""

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
    """Waits until enough was written, half a minute at most: a server that was just started is slow."""
    deadline = time.monotonic() + 30
    while sum(len(writer.told) for writer in writers) < ENOUGH and time.monotonic() < deadline:
        time.sleep(0.05)


def test_the_server_is_killed_under_writers(
    server: OwnServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = Commits(monkeypatch)
    rng, told, odd, back = random.Random("kills"), Counter[str](), 0, 0.0
    kept: list[set[str]] = [set() for _ in range(ROOTS)]  # ids that were acknowledged, of all rounds
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
            if kill % 2 == 0:  # any moment; else as near to a commit as can be
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
                told.update(writer.told.values())
                kept[number] |= {id_ for id_, what in writer.told.items() if what == "done"}
                again(writer, auth, found)
            assert kept[number] <= {id_.split(".")[0] for id_ in whole(auth)}
            auth.close()
        for writer in writers:
            writer.auth.close()
    say(
        capsys,
        f"{KILLS} kills under {WRITERS} writers: {commits.unanswered} commits not answered; told done"
        f" {told['done']:,}, not done {told['not done']}, unknown {told['unknown']}; acknowledged and lost 0, half"
        f" applied 0, wrongly told 0; odd marks mended {odd}; back after {back:.1f} s at most",
    )
    assert told["done"] >= ENOUGH * KILLS / 2 and told["not done"] + told["unknown"] >= KILLS


def classified(writer: Writer, found: set[str]) -> None:
    """What is in the log is what the writer was told, and batches are there whole or not at all."""
    for id_, what in writer.told.items():
        ids = pieces(id_, writer.said[id_])
        made = len(found & ids)
        assert made in (0, len(ids)), f"{id_} is half done"
        assert what != "done" or made, f"{id_} was acknowledged and is lost"
        assert what != "not done" or not made, f"{id_} was called not done and is done"


def pieces(id_: str, batch: list[str]) -> set[str]:
    """The ids in the log."""
    return {id_} if len(batch) == 1 else {f"{id_}.{at}" for at in range(len(batch))}


def again(writer: Writer, auth: Authorizer, found: set[str]) -> None:
    """What was cut off is said again under its id: done once, whether it was done before or not."""
    for id_, batch in writer.said.items():
        if writer.told[id_] == "done":
            continue
        before = auth.revision_now()
        make(auth, id_, batch)
        assert auth.revision_now() - before == (0 if found & pieces(id_, batch) else len(batch))


# ---- a client is killed ----------------------------------------------------------------------------------------------
CLIENT = """
import os, signal, sys
from itertools import count
from pathlib import Path
from grantpath.engine import Authorizer
from grantpath.engine.policy import policy
from grantpath.engine.transfer import importer
from grantpath.graph.embedded.connect import connection
from grantpath.graph.revision_guard import RevisionGuard
from grantpath.graph.store import Store

root, how, at, folder = sys.argv[1:]
model = policy.load("gravitino")
auth = Authorizer(Store(connection()), root, model, model.root(root))
first = auth.revision_now()

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

if at in ("before the mark", "behind the mark", "behind the commit"):
    if at == "before the mark":
        RevisionGuard._begin = die
    elif at == "behind the mark":
        RevisionGuard._commit = die
    else:
        RevisionGuard._end = die
importer.BATCH = 50
print("ready", flush=True)
for number in count(first):
    if how == "change":
        auth.change(f"add user:n{number}")
    elif how == "change_all":
        auth.change_all([f"add user:n{number}", f"add role:n{number}", f"member user:n{number} of role:n{number}"])
    else:
        importer.load(auth, Path(folder))
"""
MOMENTS = ["before the mark", "behind the mark", "behind the commit"]


def killed_client(auth: Authorizer, how: str, at: str, folder: Path, after: float) -> None:
    """A process that writes, killed by itself at a moment, or from outside after some seconds of work."""
    command = [sys.executable, "-c", CLIENT, auth.tenant, how, at, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout and client.stdout.readline() == "ready\n"
        if at == "any":
            time.sleep(after)
            client.kill()
        assert client.wait(60) == -signal.SIGKILL


def nothing_left(auth: Authorizer, number: int) -> float:
    """The next reader answers and the next writer writes, in time; returns how long that took."""
    began = time.monotonic()
    assert not auth.check("user:nobody", "USE_CATALOG", "catalog:hr")
    auth.change(f"add user:next{number}")
    seconds = time.monotonic() - began
    assert seconds < TIMEOUT
    return seconds


@pytest.mark.slow
@pytest.mark.parametrize("how", ["change", "change_all"])
def test_a_client_is_killed(server: OwnServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], how: str) -> None:
    root = f"killed_{how}"
    patient = server.tenant(root, "gravitino", 60.0)
    assert not any(patient.given(FACTS))
    patient.close()
    auth = server.tenant(root, "gravitino", TIMEOUT)
    nothing_left(auth, -1)
    rng, odd, slowest, size_ = random.Random(how), 0, 0.0, 1 if how == "change" else 3
    moments = [*MOMENTS, *["any"] * CLIENT_KILLS]
    for number, at in enumerate(moments):
        before = len(auth.log(limit=10_000))
        killed_client(auth, how, at, tmp_path, rng.uniform(0.1, 0.4))
        revision, begun = marks(auth)
        odd += revision != begun
        assert at == "any" or (revision != begun) is (at != "before the mark"), at
        slowest = max(slowest, nothing_left(auth, number))
        made = len(whole(auth)) - before - 1  # the last one is the next writer's
        assert made % size_ == 0, "half a batch"
        assert at == "any" or made == (size_ if at == "behind the commit" else 0), at
    auth.close()
    say(
        capsys,
        f"{how}: {len(moments)} clients killed, {odd} left an odd mark; the next answer and change came within"
        f" {slowest:.2f} s; half applied 0, changes without their fact or the reverse 0",
    )
    assert odd >= 2


def test_a_loading_client_is_killed(server: OwnServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody reads half a load; the lock is free, and the next load ends or undoes the killed one."""
    killed, kinds = 0, Counter[str]()
    folder = tmp_path / "estate"
    folder.mkdir()
    users = [f"user:u{number}" for number in range(3_000)]
    (folder / "subjects.csv").write_text("\n".join(["ref", "role:r", *users]) + "\n")
    (folder / "members.csv").write_text("\n".join(["member,of", *(f"{user},role:r" for user in users)]) + "\n")
    rng = random.Random("load")
    for number in range(CLIENT_KILLS):
        root = f"killed_load{number}"
        auth = server.tenant(root, "gravitino", TIMEOUT)
        assert not any(auth.given(FACTS))
        killed_client(auth, "load", "any", folder, rng.uniform(0.2, 2.0))
        killed += 1
        try:
            nothing_left(auth, number)
            kinds["before or behind"] += 1
        except Inconsistent:
            kinds["under way"] += 1
        began = time.monotonic()
        importer.load(auth, folder)
        assert time.monotonic() - began < 60
        assert auth.check("user:u2999", "USE_CATALOG", "catalog:hr").revision == auth.revision_now()
        entities, links = in_the_graph(auth)
        assert {*users, "role:r"} <= entities
        assert links == {("HAS_ROLE", user, "role:r") for user in users}
        assert len(set(marks(auth))) == 1
        auth.close()
    say(capsys, f"load: {killed} clients killed, {dict(kinds)}; each is whole after the next load")
