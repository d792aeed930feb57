"""The data source `grantpath` of Spark 4.x reads what is in the files, and Spark 4.1 or newer lets it filter them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from grantpath.engine.facts.snapshot.snapshot_reader import CHANGES, TABLES
from grantpath.graph.errors import ServerError
from grantpath.spark_sync.following.change_files import GAINED, LOST, ChangeRows, append

from ..oracle import oracle
from ..support.newest_spark import printed, pyspark_folder
from ..support.plain_access import write_access, write_snapshot
from ..support.random_world import ROOT_NAME

# A session for both tests: each takes long to start.
PROGRAM = """
import json, sys
from pathlib import Path
from grantpath.spark_sync.session import spark_session
from grantpath.spark_sync.following.change_files import LOST, ChangeRows, append
from grantpath.spark_sync.data_source import SnapshotSource

folder, followed, checkpoint = sys.argv[1:4]
tables, conditions = map(json.loads, sys.argv[4:])
spark = spark_session.engine(lambda line: None).spark
spark.dataSource.register(SnapshotSource)
load = lambda table, **options: spark.read.format("grantpath").options(table=table, **options).load(folder)
found = {"rows": {table: sorted(map(list, load(table).collect())) for table in tables}}
plain = [load(table).where(condition) for table, condition in conditions]
found["filtered by Spark"] = [sorted(map(list, rows.collect())) for rows in plain]
spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
filtered = [load(table, filters="true").where(condition) for table, condition in conditions]
found["filtered"] = [sorted(map(list, rows.collect())) for rows in filtered]
plans = [rows._jdf.queryExecution().executedPlan().toString() for rows in filtered]
steps = [[line.lstrip(" :+-*()0123456789") for line in plan.splitlines()] for plan in plans]
found["left to Spark"] = [any(step.startswith("Filter") for step in each) for each in steps]
errors = []
for path, table, filters in (
    (folder, "objekts", "true"),
    (folder + "/no", "objects", "true"),
    (None, "objects", "true"),
    (folder, "access/expand", "true"),
    (folder, "objects", "yes"),
):
    try:
        spark.read.format("grantpath").options(table=table, filters=filters).load(path).collect()
    except Exception as error:
        errors.append(str(error))
batches = []

def run():
    rows = spark.readStream.format("grantpath").option("table", "changes").load(followed)
    query = rows.writeStream.option("checkpointLocation", checkpoint).foreachBatch(
        lambda batch, number: batches.append([number, sorted(map(list, batch.collect()))])
    ).start()
    query.processAllAvailable()
    query.stop()

run()
rows = ChangeRows()
rows.add(4, LOST, ["user:ann"], ["load_table"], "table", ["table:hr.public.x"])
append(Path(followed), "made", 2, 4, 4, rows)
run()
print(json.dumps(found | {"errors": errors, "version": spark.version, "batches": batches}))
"""
FACTS = [
    *(f"add user:{name}" for name in ("ann", "bob")),
    "add role:reader",
    "member user:ann of role:reader",
    "add catalog:hr",
    "add schema:hr.public",
    *(f"add table:hr.public.`it's {number}`" for number in range(3)),
    "allow SELECT_TABLE on catalog:hr to role:reader",
]
CONDITIONS = [
    ("objects", "type = 'table'"),
    ("objects", "position >= 2 and position < 5"),
    ("objects", "ref in ('catalog:hr', 'user:ann')"),
    ("objects", "ref = 'schema:hr.public' and exists"),
    ("members", "kind is not null and source <> target"),
    ("access/reach", "name = 'SELECT_TABLE' and objects > 0"),
]


def test_spark_3_5_refuses_the_data_source_and_names_the_views() -> None:
    with pytest.raises(
        ServerError, match=r"needs Spark 4\.0 or newer; with Spark 3\.5 use grantpath\.spark_sync\.register"
    ):
        import grantpath.spark_sync.data_source  # noqa: F401


@dataclass(frozen=True)
class Printed:
    """What the program printed in a line of Spark, and the snapshot that it read."""

    line: str
    found: dict[str, Any]
    snapshot: Path


@pytest.fixture(scope="module", params=["4.0", "4.1", "4.3"])
def printed_by(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Printed:
    made, folder = oracle("gravitino", ROOT_NAME), tmp_path_factory.mktemp("source")
    for fact in FACTS:
        assert made.given(fact) == "done"
    snapshot, followed = (write_snapshot(made, folder / name) for name in ("odd [name] {x}", "followed"))
    write_access(snapshot, ["SELECT_TABLE", "load_table"])
    for number in range(2):
        rows = ChangeRows()
        rows.add(number + 2, GAINED, ["user:ann", "user:bob"], ["load_table"], "table", [], ["schema:hr.public"])
        append(followed, "made", number, number + 2, number + 2, rows)
    given = [*map(str, (snapshot, followed, folder / "checkpoint")), json.dumps(tables()), json.dumps(CONDITIONS)]
    return Printed(request.param, printed(PROGRAM, [pyspark_folder(request.param)], *given), snapshot)


@pytest.mark.slow
@pytest.mark.newest
@pytest.mark.spark
def test_the_data_source_reads_the_tables_and_filters_them(printed_by: Printed) -> None:
    line, found, snapshot = printed_by.line, printed_by.found, printed_by.snapshot
    assert found["version"].startswith(line)
    for table in tables():
        rows = pq.read_table(snapshot / table, columns=list(TABLES[table])).to_pylist()
        assert found["rows"][table] == sorted(list(row.values()) for row in rows), table
    for (table, condition), rows in zip(CONDITIONS, found["filtered"], strict=True):
        assert rows, condition
        assert all(row in found["rows"][table] for row in rows)
    assert found["filtered by Spark"] == found["filtered"], "the settings that Spark has by default"
    position, ref, kind = 0, 3, 4
    objects = found["rows"]["objects"]
    assert found["filtered"][0] == [row for row in objects if row[kind] == "table"]
    assert found["filtered"][1] == [row for row in objects if 2 <= row[position] < 5]
    assert found["filtered"][2] == [row for row in objects if row[ref] in ("catalog:hr", "user:ann")]
    # Spark 4.0 evaluates all conditions itself; newer ones only those that the source returns
    assert found["left to Spark"] == ([True] * 6 if line == "4.0" else [False, False, False, False, True, False])
    unknown, missing, nowhere, later, neither = found["errors"]
    assert "a snapshot has no table 'objekts'; the tables are objects, subjects" in unknown
    assert "does not exist; write a snapshot with" in missing
    assert 'needs the folder of a snapshot; use .load(\\"OUT\\")' in nowhere or 'use .load("OUT")' in nowhere
    assert "has no table access/expand; write it with `grantpath access " in later
    assert " --expand NAME`" in later
    assert "filters=yes is not valid; write true or false" in neither


@pytest.mark.slow
@pytest.mark.newest
@pytest.mark.spark
def test_the_changes_of_a_snapshot_are_a_stream(printed_by: Printed) -> None:
    """A query that is started again continues after the files that it has read."""
    batches = printed_by.found["batches"]
    first, second = [row for _, rows in batches[:-1] for row in rows], batches[-1][1]
    gained = [[GAINED, user, "load_table", "table", "schema:hr.public", True] for user in ("user:ann", "user:bob")]
    assert sorted(first) == [[revision, *row] for revision in (2, 3) for row in gained]
    assert second == [[4, LOST, "user:ann", "load_table", "table", "table:hr.public.x", False]]


def tables() -> list[str]:
    return [table for table in TABLES if table not in ("access/expand", CHANGES)]
