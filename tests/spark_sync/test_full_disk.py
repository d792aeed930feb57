"""A full disk of Spark's workers: one clear error, nothing under the final name, and the next run succeeds.

The disk is a small file system in memory, which only root may mount. Without it, a limit on the size of the JVM's files
stands for the full disk: the system refuses the write in the same way.
"""

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from grantpath.engine.facts.snapshot.snapshot_questions import ask
from grantpath.graph.client.connection import Connection
from grantpath.graph.errors import GrantpathError
from grantpath.spark_sync.bulk.bulk_access import access
from grantpath.spark_sync.mirroring import mirror as mirroring
from grantpath.spark_sync.mirroring.mirror import mirror_tenant
from grantpath.spark_sync.session.spark_session import engine, write_parquet
from grantpath.spark_sync.versions.snapshot_folders import building

from ..conftest import Tenants
from ..support.table_sums import table_sums

pytestmark = [pytest.mark.spark, pytest.mark.slow]
MESSAGE = r"out.*: the disk is full, and nothing was written \(.*\); free some space there and in Spark's local folders"
FACTS = ["add user:u", "add catalog:c", "owner user:u of catalog:c"]


@contextmanager
def files_of_spark(most: int) -> Iterator[None]:
    """Spark's JVM cannot write more than this into a file."""
    jvm = engine(print).spark.sparkContext._jvm
    assert jvm is not None
    process = jvm.java.lang.ProcessHandle.current().pid()
    soft, hard = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 KiB. `grow` gives it more."""
    at = tmp_path / "disk"
    at.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24k", "tmpfs", at], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"a file system cannot be mounted here: {made.stderr.strip()}")
    try:
        yield at
    finally:
        subprocess.run(["umount", "--lazy", at], check=True)


def grow(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)


def test_mirror_on_a_small_file_system_leaves_nothing(
    server: Connection, tenant: Tenants, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth = tenant("gravitino", FACTS)
    monkeypatch.setattr(mirroring, "SMALL", 0)
    with pytest.raises(GrantpathError, match=MESSAGE) as raised:
        mirror_tenant(server, auth.tenant, disk / "out", print)
    assert len(str(raised.value).splitlines()) == 1
    assert [*disk.iterdir()] == []
    grow(disk)
    mirror_tenant(server, auth.tenant, disk / "out", print)
    assert ask(disk / "out", "which catalog can user:u load_catalog").answer == ["catalog:c"]


def test_access_with_full_local_folders_of_spark_leaves_nothing(
    server: Connection, tenant: Tenants, disk: Path, tmp_path: Path
) -> None:
    """The rows that workers exchange do not fit."""
    auth, out = tenant("gravitino", FACTS), tmp_path / "out"
    mirror_tenant(server, auth.tenant, out, print)
    command = [sys.executable, "-m", "grantpath.spark_sync.job", "access", str(out), "--broadcast-limit", "0"]
    own = {"SPARK_LOCAL_DIRS": str(disk), "GRANTPATH_CLOSURE": "joins"}
    for code, message in ((2, "the disk is full, and nothing was written"), (0, "rows of reach")):
        ran = subprocess.run(command, env=os.environ | own, capture_output=True, text=True)
        assert (ran.returncode, "Traceback" in ran.stderr) == (code, False), ran.stderr
        assert message in (ran.stdout + ran.stderr).splitlines()[-1]
        assert (out / "access").exists() is (code == 0) and not [*out.glob(".*")]
        grow(disk)


def test_mirror_on_a_full_disk_leaves_nothing(
    server: Connection, tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth = tenant("gravitino", FACTS)
    monkeypatch.setattr(mirroring, "SMALL", 0)
    # Spark unpacks libraries when it writes for the first time
    mirror_tenant(server, auth.tenant, tmp_path / "before", print)
    shutil.rmtree(tmp_path / "before")
    with files_of_spark(500), pytest.raises(GrantpathError, match=MESSAGE) as raised:
        mirror_tenant(server, auth.tenant, tmp_path / "out", print)
    assert len(str(raised.value).splitlines()) == 1
    assert not (tmp_path / "out").exists()
    mirror_tenant(server, auth.tenant, tmp_path / "out", print)
    assert ask(tmp_path / "out", "which catalog can user:u load_catalog").answer == ["catalog:c"]


def test_tasks_of_a_job_that_failed_do_not_disturb_the_next_one(tmp_path: Path) -> None:
    """They go on for a while, and make their folder again."""
    spark, out = engine(print).spark, tmp_path / "out"

    def one_fails(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if 0 in batch["id"].to_pylist():
                raise ValueError("no more")
            time.sleep(3.0)
            yield batch

    folders: list[Path] = []
    with pytest.raises(Exception, match="no more"), building(out) as folder:
        folders.append(folder)
        write_parquet(spark.range(0, 2, 1, 2).mapInArrow(one_fails, "id long").write, folder / "table")
    with building(out) as folder:
        time.sleep(4.0)
        folders.append(folder)
        assert [*folder.iterdir()] == [], "nothing is written into the folder of another run"
        write_parquet(spark.range(2).write, folder / "table")
    assert folders[0] != folders[1] and spark.read.parquet(str(out / "table")).count() == 2


def test_access_on_a_full_disk_keeps_the_former_one(server: Connection, tenant: Tenants, tmp_path: Path) -> None:
    auth, out = tenant("gravitino", FACTS), tmp_path / "out"
    mirror_tenant(server, auth.tenant, out, print)
    access(out, ["load_catalog"], [], print, in_process_limit=0)
    before = table_sums(out)
    with files_of_spark(500), pytest.raises(GrantpathError, match=MESSAGE):
        access(out, ["load_catalog", "drop_catalog"], [], print, in_process_limit=0)
    assert table_sums(out) == before
    assert {each.name for each in out.iterdir()} >= {"access"} and not [*out.glob(".*")]
    access(out, ["load_catalog", "drop_catalog"], [], print, in_process_limit=0)
    assert table_sums(out) != before
