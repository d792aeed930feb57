"""The job on real clusters: the same bytes as in this process, also if workers are killed in the middle."""

import contextlib
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from grantpath.graph.client.connection import Connection
from grantpath.spark_sync.bulk.bulk_access import access
from grantpath.spark_sync.mirroring.mirror import mirror_tenant

from ..conftest import Tenants
from ..support import cluster_program
from ..support.large_root import POLICY, load_generated
from ..support.packed_environment import packed_environment
from ..support.spark_cluster import Cluster, Submitted, standalone, submit
from ..support.table_sums import table_sums

pytestmark = [pytest.mark.spark, pytest.mark.slow]
SIZE = {"users": 2_000, "groups": 100, "roles": 200, "catalogs": 3, "schemas": 4, "tables": 20, "grants": 6_000}
NAMES, EXPAND = ["load_table", "SELECT_TABLE"], ["load_table"]
AGAIN = re.compile(r"Starting task \d+\.1 in stage")  # after the executor of the first try was lost
TASKS = 6  # after so many tasks, at least one range of the graph has been read


@dataclass(frozen=True)
class Estate:
    """A root, and the sums of its tables: this process reads its graph, and Spark computes its access in a local
    session."""

    root: str
    login: dict[str, str]
    sums: dict[str, str]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with standalone(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="module")
def estate(module_tenant: Tenants, server: Connection, tmp_path_factory: pytest.TempPathFactory) -> Estate:
    folder = tmp_path_factory.mktemp("local")
    login = {
        "NEO4J_URI": server.uri,
        "NEO4J_USER": server.user,
        "NEO4J_PASSWORD": server.password,
        "GRANTPATH_CLOSURE": "joins",
    }
    auth = module_tenant(POLICY)
    load_generated(auth, folder, SIZE)
    meta = mirror_tenant(server, auth.tenant, folder / "snapshot", print)
    assert meta.counts["closure"] > 30_000
    access(folder / "snapshot", NAMES, EXPAND, print, in_process_limit=0)
    return Estate(auth.tenant, login, table_sums(folder / "snapshot"))


def start(master: str, estate: Estate, out: Path, *options: str, **python: str) -> Submitted:
    """Starts an application that mirrors the root and computes its access."""
    arguments = [estate.root, str(out), "--names", ",".join(NAMES), "--expand", ",".join(EXPAND)]
    log = out.with_name("driver.log")
    return submit(master, log, arguments, estate.login | python, *options, program=cluster_program.__file__)


def command_lines() -> bytes:
    """The command lines of all processes of this machine."""
    found = b""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # the process has ended
            found += path.read_bytes()
    return found


def test_cluster_with_a_packed_environment_writes_the_same_bytes_and_shows_no_password(
    cluster: Cluster, estate: Estate, tmp_path: Path
) -> None:
    """The executors have only the packed environment: their Python imports grantpath from there. The password is in no
    log and on no command line."""
    packed, out, lines = packed_environment(tmp_path), tmp_path / "snapshot", b""
    python = {"PYSPARK_PYTHON": "./environment/bin/python", "PYSPARK_DRIVER_PYTHON": sys.executable}
    options = ["--properties-file", str(cluster.settings), "--archives", f"{packed}#environment"]
    running = start(cluster.master, estate, out, *options, **python)
    while running.process.poll() is None:
        lines += command_lines()
        time.sleep(0.2)
    logged = running.finish()
    assert table_sums(out) == estate.sums
    assert [*cluster.folder.glob("worker-*/app-*/*/environment/lib/python*/site-packages/grantpath")]
    logs = cluster.logs() + logged
    assert logs.count("Launching executor") >= 2 and "physicalPlanDescription" in logs
    assert b"CoarseGrainedExecutorBackend" in lines
    assert estate.login["NEO4J_PASSWORD"] not in logs and estate.login["NEO4J_PASSWORD"].encode() not in lines


def test_workers_that_are_killed_in_the_middle_cost_no_answer(cluster: Cluster, estate: Estate, tmp_path: Path) -> None:
    """One worker dies while it reads a range of the graph, and another while it computes the access of its users."""
    out = tmp_path / "snapshot"
    running = start(cluster.master, estate, out, "--properties-file", str(cluster.settings))
    running.wait_for("Finished task", TASKS)
    kill_in_a_task(cluster, "worker-0", running)
    cluster.add_worker("worker-0-again")
    running.wait_for("conditions over")
    kill_in_a_task(cluster, "worker-1", running)
    cluster.add_worker("worker-1-again")
    reading, _, then = running.finish().partition(" ranges, with 0 changes")
    for logged in reading, then.partition("conditions over")[2]:
        assert "Lost executor" in logged and AGAIN.search(logged)
    assert table_sums(out) == estate.sums


def kill_in_a_task(cluster: Cluster, worker: str, running: Submitted) -> None:
    """Suspends a worker with its executor, and kills both as soon as the executor has a task."""
    cluster.suspend(worker)
    time.sleep(0.5)  # for the messages that it has sent
    running.wait_for_task_of(cluster.executor(worker))
    cluster.kill(worker)
