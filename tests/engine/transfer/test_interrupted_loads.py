"""Interrupted, killed and concurrent loads are done completely or not at all, and other calls raise meanwhile."""

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grantpath.engine import Authorizer, Inconsistent, InvalidInput
from grantpath.engine.transfer import fact_writer, importer
from grantpath.graph.embedded.connect import connection
from grantpath.graph.guard.store import Store

from ...conftest import Tenants
from ...support.table_files import ESTATE, GIVEN, dump, history, marks, settled, write
from ...support.tiers import others_slow


# ---- concurrent calls ----------------------------------------------------------------------------------------------
class Stop(Exception):
    """Raised inside a load."""


def attempts(auth: Authorizer) -> Iterator[Callable[[], object]]:
    """All kinds of questions and changes."""
    yield lambda: auth.check("user:bob", "load_table", "table:hr.`a.b`.staff")
    yield lambda: auth.check_many([("user:bob", "SELECT_TABLE", "metalake:ml")])
    yield lambda: list(auth.which("catalog", "user:bob", "load_catalog"))
    yield lambda: list(auth.who("load_metalake", "metalake:ml"))
    yield lambda: auth.change("add user:new")


def all_raise(auth: Authorizer) -> None:
    for attempt in attempts(auth):
        with pytest.raises(Inconsistent, match=r"`load .*` is under way.*run it again"):
            attempt()


def all_raise_beside_a_killed_load(auth: Authorizer) -> None:
    """Uses a long stall limit, so that the load is not taken for dead on a slow machine."""
    patient = Store(connection(), timeout=60, stall_limit=3600)
    all_raise(Authorizer(patient, auth.tenant, auth.policy, auth.root))
    patient.close()


def test_other_calls_raise_while_a_load_writes(
    tenant: Tenants, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fact_writer, "BATCH", 4)
    monkeypatch.setattr(store._guard, "_timeout", 600.0)  # the load takes as long as all these calls
    auth, other = tenant(), tenant(given=GIVEN)
    seen: list[int] = []

    def look(what: str, done: int, of: int) -> None:
        if what == "writing" and done > 0:
            all_raise(auth)
            assert other.check("user:bob", "load_table", "table:hr.`a.b`.staff")
            seen.append(done)

    importer.load(auth, write(tmp_path, ESTATE), look)
    assert len(seen) > 4
    assert auth.check("user:bob", "load_table", "table:hr.`a.b`.staff")


def test_question_raises_while_a_load_writes_even_if_its_first_try_took_long(
    tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grantpath.graph.guard.store.QUICK_SECONDS", 0.0)
    auth, seen = tenant(), list[int]()

    def ask(what: str, done: int, of: int) -> None:
        if what == "writing" and done > 0:
            # in the thread of the load, which would wait for itself if this question waited for its turn
            with pytest.raises(Inconsistent, match="is under way"):
                auth.check("user:bob", "load_table", "table:hr.`a.b`.staff")
            seen.append(done)

    importer.load(auth, write(tmp_path, ESTATE), ask)
    assert seen


def test_load_that_raises_leaves_nothing(tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fact_writer, "BATCH", 4)
    auth = tenant(given=["add catalog:hr", "add user:bob"])
    before = dump(auth)

    def stop(what: str, done: int, of: int) -> None:
        if what == "writing" and done >= 16:
            raise Stop

    with pytest.raises(Stop):
        importer.load(auth, write(tmp_path, ESTATE), stop)
    assert dump(auth) == before
    assert marks(auth) == settled(3)  # not 2: a check that ran meanwhile must not mistake the old state for the new one
    assert history(auth) == ["add catalog:hr", "add user:bob"]


def test_second_load_waits_or_names_the_first(
    tenant: Tenants, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth = tenant()
    started, go_on = threading.Event(), threading.Event()

    def wait(what: str, done: int, of: int) -> None:
        if what == "writing":
            started.set()
            assert go_on.wait(60)

    first = threading.Thread(target=lambda: importer.load(auth, write(tmp_path / "a", ESTATE), wait))
    first.start()
    try:
        assert started.wait(60)
        monkeypatch.setattr(store._guard, "_timeout", 1.0)
        with pytest.raises(Inconsistent, match=r"busy for .* with `load a`"):
            importer.load(auth, write(tmp_path / "b", ESTATE))
    finally:
        go_on.set()
        first.join()
    monkeypatch.undo()
    assert not importer.load(auth, tmp_path / "b").changed


# ---- killed loads --------------------------------------------------------------------------------------------------
KILLED = """
import os, signal, sys
from pathlib import Path
from grantpath.engine import Authorizer
from grantpath.engine.policy import policy
from grantpath.engine.transfer import fact_writer, importer
from grantpath.graph.embedded.connect import connection
from grantpath.graph.guard.store import Store

tenant, folder, at = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
fact_writer.BATCH = 4
model = policy.load("gravitino")

def die(what, done, of):
    if what == sys.argv[4] and done >= at:
        os.kill(os.getpid(), signal.SIGKILL)

importer.load(Authorizer(Store(connection()), tenant, model, model.root("ml")), folder, die)
"""


def killed(auth: Authorizer, folder: Path, at: int, what: str = "writing") -> None:
    command = [sys.executable, "-c", KILLED, auth.tenant, str(folder), str(at), what]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.returncode == -signal.SIGKILL, run.stderr


@pytest.mark.crash
@pytest.mark.parametrize("at", others_slow([9, 0, 15, 18]))
def test_killed_load_is_replaced_by_the_next_load(tenant: Tenants, tmp_path: Path, at: int) -> None:
    auth = tenant(given=["add user:eve"])
    folder = write(tmp_path, ESTATE)
    killed(auth, folder, at)
    all_raise_beside_a_killed_load(auth)
    assert importer.load(auth, folder).changed
    assert dump(auth) == dump(tenant(given=["add user:eve", *GIVEN]))
    assert marks(auth) == settled(3)
    assert len(history(auth)) == 2
    assert auth.check("user:bob", "load_table", "table:hr.`a.b`.staff")


@pytest.mark.slow
@pytest.mark.crash
def test_killed_load_is_undone_even_if_the_next_is_killed_or_bad(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant(given=["add catalog:hr", "add user:bob"])
    before = dump(auth)
    estate = write(tmp_path / "estate", ESTATE)
    killed(auth, estate, 14)
    killed(auth, estate, 3, "undoing")
    all_raise_beside_a_killed_load(auth)
    bad = write(tmp_path / "bad", {"subjects": [["user"]]})
    with pytest.raises(InvalidInput):
        importer.load(auth, bad)
    assert dump(auth) == before
    assert marks(auth) == settled(3)
    killed(auth, estate, 12)
    importer.load(auth, write(tmp_path / "other", {"subjects": [["user:other"]]}))
    assert dump(auth) == dump(tenant(given=["add catalog:hr", "add user:bob", "add user:other"]))
