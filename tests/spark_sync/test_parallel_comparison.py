"""A follower compares a backlog in several processes: the result is that of one process, also if a child is killed."""

import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from grantpath.engine import Authorizer, GrantpathError
from grantpath.engine.facts.compare.comparison import ChangedAccess
from grantpath.graph.client.connection import Connection
from grantpath.spark_sync.following import follower, parallel_comparison
from grantpath.spark_sync.following.change_files import change_files
from grantpath.spark_sync.following.follower import follow
from grantpath.spark_sync.following.parallel_comparison import RevisionStep
from grantpath.spark_sync.mirroring.graph_reader import mirror
from grantpath.spark_sync.versions.snapshot_folders import alone

from ..conftest import Tenants
from ..oracle import oracle
from ..support.random_world import ROOT_NAME, random_statements, random_world
from ..support.table_sums import table_sums
from .test_follow import Row, rows_of, without_changes

PROCESSES = 3
CHANGES_MADE = 40

ORPHANS = """
import sys, time
import psutil
from grantpath.spark_sync.following import parallel_comparison
from grantpath.spark_sync.following.parallel_comparison import RevisionStep, compared

class Slow:
    def compared(self):
        time.sleep(0.02)
        return []

parallel_comparison._processes = lambda: 3
results = compared([Slow()] * 10_000)
next(results)
print(*(child.pid for child in psutil.Process().children()), flush=True)
time.sleep(60)
"""
LOCKED = """
import os, sys, time
from pathlib import Path
from grantpath.spark_sync.versions.snapshot_folders import alone

with alone(Path(sys.argv[1])):
    child = os.fork()
    if child:
        print(child, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def backlog(server: Connection, tenant: Tenants, tmp_path: Path) -> Authorizer:
    """A root that is mirrored to `out`, with changes after it."""
    rng, world = random.Random("backlog"), oracle("gravitino", ROOT_NAME)
    facts = random_world("gravitino", rng, 60)
    auth = tenant("gravitino", facts, root=ROOT_NAME)
    for fact in facts:
        world.given(fact)
    mirror(server, auth.tenant, tmp_path / "out", lambda _: None)
    end = auth.revision_now() + CHANGES_MADE
    while auth.revision_now() < end:
        for statement, by, as_role in random_statements("gravitino", world, rng, 20):
            with suppress(GrantpathError):
                auth.change(statement, by=by, as_role=as_role)
    return auth


def followed(server: Connection, auth: Authorizer, out: Path) -> tuple[list[Row], dict[str, str]]:
    """Follows all changes; returns the rows of `changes`, sorted, and the sums of the other tables."""
    end = auth.revision_now()
    stop = lambda: [each.last for each in change_files(out)][-1:] == [end]  # noqa: E731
    follow(server, auth.tenant, out, lambda _: None, stop=stop)
    return sorted(rows_of(out)), without_changes(table_sums(out))


def in_one_process(server: Connection, auth: Authorizer, out: Path) -> tuple[list[Row], dict[str, str]]:
    """The same with a copy of the snapshot."""
    copy = out.with_name("copy")
    shutil.copytree(out, copy, symlinks=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel_comparison, "_processes", lambda: 1)
        return followed(server, auth, copy)


@pytest.fixture
def several(monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform != "linux":
        pytest.skip("one process compares: forking is safe only on Linux")
    monkeypatch.setattr(parallel_comparison, "_processes", lambda: PROCESSES)
    monkeypatch.setattr(parallel_comparison, "FEWEST", 1)


PARENT = os.getpid()
Forks = Callable[[], int]


@pytest.fixture
def forks() -> Forks:
    """Counts the children that the test has forked. Children that run another program or are older do not count."""

    def forked() -> set[int]:
        me = psutil.Process()
        return {child.pid for child in me.children() if running(child.pid) and child.cmdline() == me.cmdline()}

    before = forked()
    return lambda: len(forked() - before)


@pytest.mark.usefixtures("several")
@pytest.mark.parametrize("rows", [follower.ROWS, 20])
def test_several_processes_find_what_one_finds(
    server: Connection, backlog: Authorizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    """Whether the backlog is described in one file or in many."""
    out, compared, by = tmp_path / "out", RevisionStep.compared, tmp_path / "by"
    by.mkdir()

    def noted(self: RevisionStep) -> list[ChangedAccess]:
        (by / f"{os.getpid()} {self.delta.revision}").touch()
        time.sleep(0.01)  # a turn for each process
        return compared(self)

    expected = in_one_process(server, backlog, out)
    monkeypatch.setattr(RevisionStep, "compared", noted)
    monkeypatch.setattr(follower, "ROWS", rows)
    assert followed(server, backlog, out) == expected
    assert len(expected[0]) > 100
    assert (len(change_files(out)) > 1) == (rows == 20)
    names = [each.name.split() for each in by.iterdir()]
    assert len({process for process, _ in names}) == PROCESSES
    assert len({revision for _, revision in names}) == len(names) >= CHANGES_MADE, "each revision once"


@pytest.mark.usefixtures("several")
def test_what_a_killed_child_had_begun_is_compared(
    server: Connection, backlog: Authorizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, compared, killed = tmp_path / "out", RevisionStep.compared, tmp_path / "killed"
    killed.mkdir()

    def killing(self: RevisionStep) -> list[ChangedAccess]:
        if os.getpid() != PARENT:
            (killed / str(os.getpid())).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.01)
        return compared(self)

    expected = in_one_process(server, backlog, out)
    monkeypatch.setattr(RevisionStep, "compared", killing)
    assert followed(server, backlog, out) == expected
    assert len([*killed.iterdir()]) == PROCESSES - 1


@pytest.mark.usefixtures("several")
def test_what_a_failed_child_had_taken_is_compared(
    server: Connection,
    backlog: Authorizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The child writes nothing: a thread of the parent may have locked the output."""
    compared = RevisionStep.compared

    def failing(self: RevisionStep) -> list[ChangedAccess]:
        if os.getpid() != PARENT:
            raise MemoryError
        time.sleep(0.01)
        return compared(self)

    expected = in_one_process(server, backlog, tmp_path / "out")
    monkeypatch.setattr(RevisionStep, "compared", failing)
    capfd.readouterr()
    assert followed(server, backlog, tmp_path / "out") == expected
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("several")
def test_an_error_in_a_child_is_an_error_of_the_follower(
    server: Connection, backlog: Authorizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forks: Forks
) -> None:
    def failing(self: RevisionStep) -> list[ChangedAccess]:
        raise GrantpathError(f"cannot compare revision {self.delta.revision}")

    monkeypatch.setattr(RevisionStep, "compared", failing)
    with pytest.raises(GrantpathError, match="cannot compare revision"):
        followed(server, backlog, tmp_path / "out")
    assert forks() == 0
    assert not change_files(tmp_path / "out")


@pytest.mark.usefixtures("several")
def test_children_end_if_a_file_cannot_be_written(
    server: Connection, backlog: Authorizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forks: Forks
) -> None:
    expected, children = in_one_process(server, backlog, tmp_path / "out"), list[int]()

    def full(*_: object) -> None:
        children.append(forks())
        raise OSError(errno.ENOSPC, "the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(follower, "append", full)
        patch.setattr(follower, "ROWS", 1)
        patch.setattr(parallel_comparison, "BUFFER", 4096)
        with pytest.raises(OSError, match="the disk is full") as error:
            followed(server, backlog, tmp_path / "out")
        assert children == [PROCESSES - 1]
        assert error.tb, "it keeps the frames of the follower alive"
        assert forks() == 0
    assert followed(server, backlog, tmp_path / "out") == expected


@pytest.mark.usefixtures("several")
def test_one_process_compares_if_no_other_can_be_started(
    server: Connection, backlog: Authorizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fork() -> int:
        raise OSError(errno.ENOMEM, "no memory")

    expected = in_one_process(server, backlog, tmp_path / "out")
    monkeypatch.setattr(os, "fork", fork)
    monkeypatch.setattr(follower, "PAGE", 2)
    before = psutil.Process().num_fds()
    assert followed(server, backlog, tmp_path / "out") == expected
    assert psutil.Process().num_fds() < before + CHANGES_MADE / 4, "each page closes its files"


def test_changes_that_take_much_memory_are_compared_in_parts(
    server: Connection, backlog: Authorizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = in_one_process(server, backlog, tmp_path / "out")
    monkeypatch.setattr(follower, "PAGE_BYTES", 0)
    assert followed(server, backlog, tmp_path / "out") == expected
    assert all(each.first == each.last for each in change_files(tmp_path / "out"))


@pytest.mark.usefixtures("several")
def test_children_end_after_a_killed_parent() -> None:
    run = subprocess.Popen([sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE, text=True)
    assert run.stdout
    children = [int(each) for each in run.stdout.readline().split()]
    assert len(children) == 2
    run.kill()
    run.wait()
    until = time.monotonic() + 10
    while time.monotonic() < until and any(running(child) for child in children):
        time.sleep(0.05)
    assert not any(running(child) for child in children)


def test_a_lock_ends_with_its_process_and_not_with_its_children(tmp_path: Path) -> None:
    run = subprocess.Popen([sys.executable, "-c", LOCKED, str(tmp_path / "out")], stdout=subprocess.PIPE, text=True)
    assert run.stdout
    child = int(run.stdout.readline())
    try:
        with pytest.raises(GrantpathError, match="being written"), alone(tmp_path / "out"):
            pass
        run.kill()
        run.wait()
        assert running(child)
        with alone(tmp_path / "out"):
            pass
    finally:
        os.kill(child, signal.SIGKILL)


def running(process: int) -> bool:
    """Whether the process has not ended."""
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
