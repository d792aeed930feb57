"""A full disk of Spark's workers: one clear error, nothing under the final name, and the next run succeeds.

A limit on the size of the JVM's files stands for the full disk: the system refuses the write in the same way.
"""

import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from grantpath.engine.facts.snapshot_questions import ask
from grantpath.graph.connection import Connection
from grantpath.graph.errors import GrantpathError
from grantpath.spark_sync import graph_reader
from grantpath.spark_sync.bulk_access import access
from grantpath.spark_sync.graph_reader import mirror
from grantpath.spark_sync.spark_session import engine

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


def test_mirror_on_a_full_disk(
    server: Connection, tenant: Tenants, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth = tenant("gravitino", FACTS)
    monkeypatch.setattr(graph_reader, "SMALL", 0)
    mirror(server, auth.tenant, tmp_path / "before", print)  # Spark unpacks libraries when it writes for the first time
    shutil.rmtree(tmp_path / "before")
    with files_of_spark(500), pytest.raises(GrantpathError, match=MESSAGE) as raised:
        mirror(server, auth.tenant, tmp_path / "out", print)
    assert len(str(raised.value).splitlines()) == 1
    assert [*tmp_path.iterdir()] == []
    mirror(server, auth.tenant, tmp_path / "out", print)
    assert ask(tmp_path / "out", "which catalog can user:u load_catalog").answer == ["catalog:c"]


def test_access_on_a_full_disk_keeps_the_former_one(server: Connection, tenant: Tenants, tmp_path: Path) -> None:
    auth, out = tenant("gravitino", FACTS), tmp_path / "out"
    mirror(server, auth.tenant, out, print)
    access(out, ["load_catalog"], [], print)
    before = table_sums(out)
    with files_of_spark(500), pytest.raises(GrantpathError, match=MESSAGE):
        access(out, ["load_catalog", "drop_catalog"], [], print)
    assert table_sums(out) == before
    assert {each.name for each in out.iterdir()} >= {"access"} and not [*out.glob(".*")]
    access(out, ["load_catalog", "drop_catalog"], [], print)
    assert table_sums(out) != before
