"""Clients that are suspended in the middle of a change or a load: others continue in time, and no change is lost."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from grantpath.engine import Authorizer, GrantpathError
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.store import STALL_LIMIT, Store
from grantpath.graph.guard.transaction import Writing

from ..conftest import Tenants
from ..support.proxy import Proxy
from ..support.sizes import say, size
from ..support.tiers import all_slow

pytestmark = pytest.mark.trust

CLIENTS = size(full=50, short=2)
LIMIT = size(full=int(STALL_LIMIT), short=6)
STALL, SLOW = 5.0, 8.0  # seconds: the limit, and the time for which a live writer holds the lock
MARGIN = size(full=3, short=60)  # seconds: other tests share the machine in the short form
CLIENT = """
import os, signal, sys
from pathlib import Path
from grantpath.engine import Authorizer, GrantpathError
from grantpath.engine.policy import policy
from grantpath.engine.transfer import importer
from grantpath.graph.guard.bulk_write import Bulk
from grantpath.graph.guard.revision_marks import MarkBook
from grantpath.graph.guard.revision_guard import RevisionGuard
from grantpath.graph.embedded.connect import connection
from grantpath.graph.guard.store import Store

tenant, step, folder = sys.argv[1:]
model = policy.load("gravitino")
auth = Authorizer(Store(connection()), tenant, model, model.root("ml"))
of = {"begin": MarkBook, "write": Bulk, "finish": Bulk}.get(step, RevisionGuard)
done = getattr(of, step)

def stopping(*words):
    setattr(of, step, done)
    os.kill(os.getpid(), signal.SIGSTOP)
    return done(*words)

setattr(of, step, stopping)
try:
    importer.load(auth, Path(folder)) if of is Bulk else auth.change_all(["add user:bob", "add user:mine"], id="mine")
    print("done")
except GrantpathError as error:
    print("unknown" if getattr(error, "unknown", False) else "not done")
"""
STEPS = ["_commit", "write", "begin", "_begin", "finish", "_end"]


def stopped(auth: Authorizer, step: str, folder: Path, server: Connection | None = None) -> "subprocess.Popen[str]":
    """A client of this server, or of the shared one, that has suspended itself at that step."""
    command, variables = [sys.executable, "-c", CLIENT, auth.tenant, step, str(folder)], dict(os.environ)
    if server:
        variables |= {"NEO4J_URI": server.uri, "NEO4J_USER": server.user, "NEO4J_PASSWORD": server.password}
    client = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables)
    assert os.waitpid(client.pid, os.WUNTRACED)[1] & 0xFF == 0x7F
    return client


def answered(auth: Authorizer) -> float:
    """Asks until there is an answer, then makes a change; returns the seconds."""
    began = time.monotonic()
    while True:
        try:
            auth.check("user:bob", "USE_CATALOG", "catalog:hr")
            auth.change("add user:other")
            return time.monotonic() - began
        except GrantpathError:
            assert time.monotonic() - began < LIMIT + MARGIN
            time.sleep(0.1)


def test_suspended_client_blocks_others_at_most_for_the_limit(
    server: Connection, tenant: Tenants, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "subjects.csv").write_text("ref\nuser:bob\nuser:mine\n")
    slowest, outcomes = 0.0, dict[str, int]()
    store = Store(server, timeout=10.0, stall_limit=LIMIT)
    for number in range(CLIENTS):
        made = tenant("gravitino", ["add catalog:hr"])
        auth = Authorizer(store, made.tenant, made.policy, made.root)
        client = stopped(auth, STEPS[number % len(STEPS)], tmp_path)
        try:
            slowest = max(slowest, answered(auth))
        finally:
            os.kill(client.pid, signal.SIGCONT)
        outcome = client.communicate(timeout=120)[0].strip()
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        there = made.store.read(USERS, {"root": made.tenant})[0]["users"]
        assert there in (0, 2), "half of it"
        assert outcome == "unknown" or (outcome == "done") is bool(there), (
            f"{STEPS[number % len(STEPS)]}: {outcome}, {there}"
        )
    store.close()
    say(
        capsys,
        f"{CLIENTS} clients suspended: others went on within {slowest:.1f} s (limit {LIMIT} s); outcomes {outcomes}",
    )


@pytest.mark.parametrize("step", all_slow(["_commit", "write"]))
def test_vanished_host_blocks_others_at_most_for_the_limit(
    server: Connection, tenant: Tenants, tmp_path: Path, capsys: pytest.CaptureFixture[str], step: str
) -> None:
    """The server does not learn that the client is dead: the connections stay open."""
    (tmp_path / "subjects.csv").write_text("ref\nuser:bob\nuser:mine\n")
    store, proxy = Store(server, timeout=10.0, stall_limit=LIMIT), Proxy(server.uri)
    made = tenant("gravitino", ["add catalog:hr"])
    client = stopped(made, step, tmp_path, Connection(proxy.uri, server.user, server.password))
    proxy.frozen.set()
    client.kill()
    client.communicate()
    try:
        took = answered(Authorizer(store, made.tenant, made.policy, made.root))
    finally:
        store.close()
        proxy.close()
    assert made.store.read(USERS, {"root": made.tenant})[0]["users"] == 0
    assert took > LIMIT / 3, "the vanished client did not hold the lock"
    say(capsys, f"a host vanished at {step}: others went on after {took:.1f} s (limit {LIMIT} s)")


USERS = "MATCH (user:User {root: $root}) WHERE user.name IN ['bob', 'mine'] RETURN count(user) AS users"


@pytest.mark.slow
def test_slow_writer_that_is_alive_is_not_ended(server: Connection, tenant: Tenants) -> None:
    auth = tenant("gravitino", ["add catalog:hr"])
    slow, other = (Store(server, timeout=60.0, stall_limit=STALL) for _ in range(2))
    begun = Event()

    def work(writing: Writing) -> bool:
        begun.set()
        time.sleep(SLOW)
        return bool(writing.ask("RETURN true AS alive", {}))  # raises if its transaction was ended

    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(slow.write, auth.tenant, work)
        assert begun.wait(60)
        began = time.monotonic()
        Authorizer(other, auth.tenant, auth.policy, auth.root).change("add user:other")
        waited = time.monotonic() - began
        assert held.result()
    assert waited > SLOW - 1
    for each in (slow, other):
        each.close()
