"""A snapshot is answered without Spark: by processes in which pyspark cannot be imported."""

import errno
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine.facts.snapshot.snapshot_questions import ask
from grantpath.graph.errors import GrantpathError
from grantpath.spark_sync.bulk.bulk_access import access
from grantpath.spark_sync.session.snapshot import Snapshot

from ..oracle import oracle
from ..support.plain_access import write_snapshot
from ..support.table_sums import table_sums

HIDDEN = """
import importlib.util, json, sys
hidden, real = ("pyspark", "pandas", "graphframes"), importlib.util.find_spec
sys.modules.update(dict.fromkeys(hidden))
importlib.util.find_spec = lambda name, *rest: None if name in hidden else real(name, *rest)
"""
FACTS = [
    *("add catalog:hr", "add schema:hr.s", "add table:hr.s.a", "add table:hr.s.b", "add role:r", "add role:n"),
    *("member user:bob of role:r", "member user:ann of role:n", "allow USE_CATALOG on metalake:ml to role:r"),
    *("allow USE_SCHEMA on metalake:ml to role:r", "allow SELECT_TABLE on schema:hr.s to role:r"),
    "deny SELECT_TABLE on table:hr.s.b to role:r",
]


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = oracle("gravitino", "ml")
    for fact in FACTS:
        assert made.given(fact) == "done"
    return write_snapshot(made, tmp_path_factory.mktemp("plain") / "snapshot")


def hidden(program: str) -> Any:
    ran = subprocess.run([sys.executable, "-c", HIDDEN + program], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_access_ask_and_diff_need_no_spark(snapshot: Path) -> None:
    program = f"""
from grantpath.spark_sync import access, ask, diff, Snapshot
from grantpath.spark_sync.bulk.verification import exposed, widest
out = {str(snapshot)!r}
made = access(out, ["load_table"], ["load_table"])
found = [made.accessible["load_table", "table"], ask(out, "who can load_table on table:hr.s.a").answer]
found += [widest(out, "load_table", "table"), exposed(out, "load_table", "table")]
print(json.dumps([*found, diff(out, out, ["load_table"]).access[0].gained, sys.modules["pyspark"]]))
"""
    assert hidden(program) == [1, ["user:bob"], [["user:bob", 1]], [["table:hr.s.a", 1]], 0, None]


def test_what_needs_spark_names_the_extra(snapshot: Path) -> None:
    program = f"""
from grantpath.spark_sync import access
found = []
for work in (lambda: access({str(snapshot)!r}, ["load_table"], in_process_limit=0),
             lambda: __import__("grantpath.spark_sync.mirroring.mirror")):
    try:
        work()
    except ModuleNotFoundError as error:
        found.append(str(error))
print(json.dumps(found))
"""
    missing = "needs the extra `spark` (pyspark missing): pip install 'grantpath[spark]'"
    assert hidden(program) == [f"an estate of 10 entities {missing}", f"a mirror {missing}"]


def test_a_former_answer_stays_if_a_new_one_cannot_be_written(snapshot: Path) -> None:
    access(snapshot, ["load_table"])
    before = Snapshot(snapshot).table("access/reach").to_pylist()
    folder = snapshot / "access"
    assert [*folder.iterdir()] and before
    with pytest.raises(Exception, match="load_tabel"):
        access(snapshot, ["load_tabel"])
    assert Snapshot(snapshot).table("access/reach").to_pylist() == before
    assert ask(snapshot, "who can load_table on table:hr.s.a").answer == ["user:bob"]


def test_a_full_disk_leaves_the_former_answer(snapshot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    access(snapshot, ["load_table"], ["load_table"])
    before = table_sums(snapshot)

    def full(*given: Any, **named: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(GrantpathError, match="the disk is full"):
        patch.setattr("pyarrow.parquet.ParquetWriter.write_table", full)
        access(snapshot, ["SELECT_TABLE"])
    assert table_sums(snapshot) == before
    assert not [*snapshot.glob(".*")]


def test_an_estate_without_users_or_objects_has_empty_tables(tmp_path: Path) -> None:
    empty = write_snapshot(oracle("gravitino", "ml"), tmp_path / "empty")
    made = access(empty, ["load_table", "SELECT_TABLE"], ["load_table"])
    assert set(made.accessible.values()) == {0}
    assert made.reach_rows == 0
    assert [Snapshot(empty).table(f"access/{name}").num_rows for name in ("reach", "exposure", "expand")] == [0, 0, 0]
