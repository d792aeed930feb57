"""With Spark Connect, the views and the data source work, and each other feature says that it does not."""

from pathlib import Path

import pytest

from ..oracle import oracle
from ..support.newest_spark import connect_folders, printed
from ..support.plain_access import write_access, write_snapshot
from ..support.random_world import ROOT_NAME
from .test_data_source import FACTS

pytestmark = [pytest.mark.slow, pytest.mark.newest, pytest.mark.spark]
TRY = """
import json, os, sys
from pathlib import Path
from grantpath.graph.artifacts.java import java_for
os.environ["JAVA_HOME"], os.environ["PYSPARK_PYTHON"] = str(java_for("spark-4.0")), sys.executable
from pyspark.sql import SparkSession
from grantpath.graph.errors import GrantpathError
from grantpath.spark_sync import Snapshot, access, register
from grantpath.spark_sync.session import spark_session
from grantpath.spark_sync.data_source import SnapshotSource

folder = sys.argv[1]
spark = SparkSession.builder.remote("local[1]").getOrCreate()
register(spark, folder)
reach = spark.sql("select subject, objects from grantpath.reach where name = 'SELECT_TABLE' and type = 'table'")
rows = reach.collect()
spark.dataSource.register(SnapshotSource)
source = spark.read.format("grantpath").load(folder)
found = {
    "kind": type(spark).__module__,
    "views": list(map(list, rows)),
    "source": sorted(row.ref for row in source.where("type = 'table'").collect()),
}
refused = []
for attempt in (
    lambda: Snapshot(Path(folder)).graph(spark),
    lambda: access(Path(folder), ["SELECT_TABLE"], [], print, in_process_limit=0),
    lambda: spark_session.engine(print),
):
    try:
        attempt()
    except GrantpathError as error:
        refused.append(str(error))
print(json.dumps(found | {"refused": refused}))
spark.stop()
"""


def test_views_and_data_source_work_and_the_rest_says_that_it_does_not(tmp_path: Path) -> None:
    made = oracle("gravitino", ROOT_NAME)
    for fact in FACTS:
        assert made.given(fact) == "done"
    snapshot = write_snapshot(made, tmp_path / "snapshot")
    write_access(snapshot, ["SELECT_TABLE"])
    found = printed(TRY, connect_folders("4.0"), str(snapshot))
    assert found["kind"].startswith("pyspark.sql.connect")
    assert found["views"] == [["user:ann", 3]]
    assert found["source"] == [f"table:hr.public.`it's {number}`" for number in range(3)]
    graph, *jobs = found["refused"]
    assert graph == "Snapshot.graph does not work with Spark Connect; use a process without it, or the views (register)"
    assert len(jobs) == 2
    assert all(text.startswith("mirror and access do not work with Spark Connect; run them in") for text in jobs)
