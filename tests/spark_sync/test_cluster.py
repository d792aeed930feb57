"""The job on real clusters: the same bytes as in a local session, also if a worker is killed in the middle."""

import contextlib
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from grantpath.engine.facts.snapshot.snapshot_reader import SnapshotReader
from grantpath.graph.client.connection import Connection

from ..conftest import Tenants
from ..support.large_root import POLICY, load_large_root
from ..support.packed_environment import packed_environment
from ..support.spark_cluster import Cluster, standalone, submit
from ..support.table_sums import table_sums

pytestmark = [pytest.mark.spark, pytest.mark.slow]
NAMES = "load_table,SELECT_TABLE"
TASKS = 5  # after so many tasks, a worker is killed


@dataclass(frozen=True)
class Estate:
    """A root that is large enough for Spark's tasks to read it, and the sums of its tables from a local session."""

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
    load_large_root(auth, folder)
    run("local[2]", auth.tenant, login, folder / "snapshot")
    return Estate(auth.tenant, login, sums(folder / "snapshot"))


def run(master: str, root: str, login: dict[str, str], out: Path, *options: str) -> None:
    """Mirrors the root and computes its access, with two applications."""
    for arguments in mirror(root, out), access(out):
        submit(master, out.with_name(f"{arguments[0]}.log"), arguments, login, *options).finish()


def mirror(root: str, out: Path) -> list[str | Path]:
    return ["mirror", root, out]


def access(out: Path) -> list[str | Path]:
    return ["access", out, "--names", NAMES, "--expand", "load_table"]


def sums(snapshot: Path) -> dict[str, str]:
    assert SnapshotReader(snapshot).meta.counts["closure"] > 200_000
    return table_sums(snapshot)


def test_local_cluster_writes_the_same_bytes_and_shows_no_password_on_command_lines(
    estate: Estate, tmp_path: Path
) -> None:
    out, master, lines = tmp_path / "snapshot", "local-cluster[2,1,2048]", b""
    running = submit(master, tmp_path / "mirror.log", mirror(estate.root, out), estate.login)
    while running.process.poll() is None:
        lines += command_lines()
        time.sleep(0.2)
    running.finish()
    assert b"CoarseGrainedExecutorBackend" in lines
    assert estate.login["NEO4J_PASSWORD"].encode() not in lines
    submit(master, tmp_path / "access.log", access(out), estate.login).finish()
    assert sums(out) == estate.sums


def command_lines() -> bytes:
    """The command lines of all processes of this machine."""
    found = b""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # the process has ended
            found += path.read_bytes()
    return found


def test_standalone_cluster_with_a_packed_environment_writes_the_same_bytes_and_shows_no_password(
    cluster: Cluster, estate: Estate, tmp_path: Path
) -> None:
    """The executors have only the packed environment: their Python imports grantpath from there."""
    packed = packed_environment(tmp_path)
    python = {"PYSPARK_PYTHON": "./environment/bin/python", "PYSPARK_DRIVER_PYTHON": sys.executable}
    options = ["--properties-file", str(cluster.settings), "--archives", f"{packed}#environment"]
    run(cluster.master, estate.root, estate.login | python, tmp_path / "snapshot", *options)
    assert sums(tmp_path / "snapshot") == estate.sums
    assert [*cluster.folder.glob("worker-*/app-*/*/environment/lib/python*/site-packages/grantpath")]
    logs = cluster.logs() + "".join(path.read_text(errors="replace") for path in tmp_path.glob("*.log"))
    assert logs.count("Launching executor") >= 2
    assert estate.login["NEO4J_PASSWORD"] not in logs


def test_worker_that_is_killed_in_the_middle_costs_no_answer(cluster: Cluster, estate: Estate, tmp_path: Path) -> None:
    """One worker dies while it reads the graph, and its successor while it computes the access."""
    out, settings = tmp_path / "snapshot", ("--properties-file", str(cluster.settings))
    for victim, arguments in ("worker-0", mirror(estate.root, out)), ("worker-1", access(out)):
        running = submit(cluster.master, tmp_path / f"{victim}.log", arguments, estate.login, *settings)
        running.wait_for_tasks(TASKS)
        cluster.kill(victim)
        assert "Lost executor" in running.finish()
        cluster.add_worker(f"{victim}-again")
    assert sums(out) == estate.sums
