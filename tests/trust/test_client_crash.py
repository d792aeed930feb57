"""Clients that are killed at any moment: nothing is half done, and the next client is neither blocked nor misled."""

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from grantpath.engine import Authorizer, Inconsistent
from grantpath.engine.transfer import importer

from ..support.crashes import FACTS, TIMEOUT, in_the_graph, marks, whole
from ..support.own_server import OwnServer, own_server
from ..support.sizes import say, size
from ..support.with_replica import content, replica_of, with_replica

pytestmark = [pytest.mark.crash, pytest.mark.trust]

CLIENT_KILLS = size(full=30, short=2)  # of each way to write


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    with own_server(tmp_path_factory.mktemp("crash")) as mine:
        yield mine


CLIENT = """
import os, signal, sys
from itertools import count
from pathlib import Path
from grantpath.engine import Authorizer
from grantpath.engine.policy import policy
from grantpath.engine.transfer import fact_writer, importer
from grantpath.graph.embedded.connect import connection
from grantpath.graph.guard.revision_guard import RevisionGuard
from grantpath.graph.guard.store import Store

root, how, at, folder = sys.argv[1:]
model = policy.load("gravitino")
auth = Authorizer(Store(connection()), root, model, model.root(root))
first = auth.revision_now()

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

if at in ("before the mark", "after the mark", "after the commit"):
    if at == "before the mark":
        RevisionGuard._begin = die
    elif at == "after the mark":
        RevisionGuard._commit = die
    else:
        RevisionGuard._end = die
fact_writer.BATCH = 50
print("ready", flush=True)
for number in count(first):
    if how == "change":
        auth.change(f"add user:n{number}")
    elif how == "change_all":
        auth.change_all([f"add user:n{number}", f"add role:n{number}", f"member user:n{number} of role:n{number}"])
    else:
        importer.load(auth, Path(folder))
"""
MOMENTS = ["before the mark", "after the mark", "after the commit"]


def killed_client(auth: Authorizer, how: str, at: str, folder: Path, after: float) -> None:
    """A writing process, killed by itself at a given moment, or from outside after some seconds."""
    command = [sys.executable, "-c", CLIENT, auth.tenant, how, at, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout and client.stdout.readline() == "ready\n"
        if at == "any":
            time.sleep(after)
            client.kill()
        assert client.wait(60) == -signal.SIGKILL


def nothing_left(auth: Authorizer, number: int, limit: float = TIMEOUT) -> float:
    """Checks that the next reader and the next writer finish in time; returns the seconds."""
    began = time.monotonic()
    assert not auth.check("user:nobody", "USE_CATALOG", "catalog:hr")
    auth.change(f"add user:next{number}")
    seconds = time.monotonic() - began
    assert seconds < limit
    return seconds


@pytest.mark.slow
@pytest.mark.parametrize("how", ["change", "change_all"])
def test_killed_client_leaves_no_half_change_and_no_lock(
    server: OwnServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    root = f"killed_{how}"
    patient = server.tenant(root, "gravitino", 60.0)
    assert not any(patient.given(FACTS))
    nothing_left(patient, -1, 60.0)  # a newly started server takes long to plan its first queries
    patient.close()
    auth = server.tenant(root, "gravitino", TIMEOUT)
    copied = with_replica(auth)
    rng, odd, slowest, size_ = random.Random(how), 0, 0.0, 1 if how == "change" else 3
    moments = [*MOMENTS, *["any"] * CLIENT_KILLS]
    for number, at in enumerate(moments):
        before = len(auth.log(limit=10_000))
        killed_client(auth, how, at, tmp_path, rng.uniform(0.1, 0.4))
        revision, begun = marks(auth)
        odd += revision != begun
        assert at == "any" or (revision != begun) is (at != "before the mark"), at
        slowest = max(slowest, nothing_left(copied if number % 2 else auth, number))
        assert copied.check("user:nobody", "USE_CATALOG", "catalog:hr").revision == auth.revision_now()
        made = len(whole(auth)) - before - 1  # the last change is the next writer's
        assert made % size_ == 0, "half a batch"
        assert at == "any" or made == (size_ if at == "after the commit" else 0), at
    assert content(copied) == content(with_replica(auth))
    assert replica_of(copied).answered
    auth.close()
    say(
        capsys,
        f"{how}: {len(moments)} clients killed, {odd} left a begin mark without an end mark; the next answer and"
        f" change came within {slowest:.2f} s; half applied 0, changes without their fact or the reverse 0",
    )
    assert odd >= 2


@pytest.mark.slow
def test_killed_load_is_completed_or_undone(
    server: OwnServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No reader sees half a load, the lock is free, and the next load completes or undoes the killed one."""
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
        copied = with_replica(auth)
        killed_client(auth, "load", "any", folder, rng.uniform(0.2, 2.0))
        killed += 1
        try:
            nothing_left(copied if number % 2 else auth, number)
            kinds["before or after"] += 1
        except Inconsistent:
            kinds["under way"] += 1
        began = time.monotonic()
        importer.load(auth, folder)
        assert time.monotonic() - began < 60
        for each in (auth, copied):
            assert each.check("user:u2999", "USE_CATALOG", "catalog:hr").revision == auth.revision_now()
        entities, links = in_the_graph(auth)
        assert {*users, "role:r"} <= entities
        assert links == {("HAS_ROLE", user, "role:r") for user in users}
        assert len(set(marks(auth))) == 1
        auth.close()
    say(capsys, f"load: {killed} clients killed, {dict(kinds)}; each is whole after the next load")
