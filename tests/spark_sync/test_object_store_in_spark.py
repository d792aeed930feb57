"""Spark writes and reads snapshots in an object store: by its tasks, its views and GraphFrames' input, as on a disk."""

import os
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from grantpath.graph.client.connection import Connection
from grantpath.graph.errors import InvalidInput, ServerError
from grantpath.spark_sync.bulk.bulk_access import access
from grantpath.spark_sync.mirroring.mirror import mirror_tenant
from grantpath.spark_sync.session import spark_session
from grantpath.spark_sync.session.analyst_views import register

from ..conftest import Tenants
from ..support import cluster_program
from ..support.command_line import FACTS
from ..support.newest_spark import printed
from ..support.object_store import KEY, SECRET, hadoop_aws, object_store, remote
from ..support.plain_access import write_snapshot
from ..support.spark_cluster import submit
from ..support.table_sums import table_sums
from .test_object_store import ODD, world

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(not pyspark.__version__.startswith("3.5"), reason="the connector s3a is that of Spark 3.5"),
]
# A mirror in tasks, whatever the size of the root; then the access, the views, and what a GraphFrame reads.
PROGRAM = """
import json, sys
from grantpath.graph.embedded.connect import connection
from grantpath.spark_sync import Snapshot, access, register
from grantpath.spark_sync.mirroring.mirror import mirror_tenant
from grantpath.spark_sync.mirroring import mirror as mirroring
from grantpath.spark_sync.session import spark_session
from grantpath.spark_sync.session.graph_frame import _edges

mirroring.SMALL = 0
found = []
for out in sys.argv[2:]:
    mirror_tenant(connection(), sys.argv[1], out, print)
    access(out, ["load_table", "SELECT_TABLE"], ["load_table"], print, in_process_limit=0)
    spark = spark_session.engine(print).spark
    views = register(spark, out)
    rows = [sorted(map(str, spark.sql(f"select * from grantpath.{view}").collect())) for view in views]
    folder = Snapshot(out).folder
    objects = spark_session.read_parquet(spark, folder / "objects")
    edges = _edges(spark, folder, objects, ["MEMBER_OF", "HAS_ROLE", "ALLOW", "DENY", "OWNS", "CHILD_OF"]).collect()
    found.append([views, rows, sorted(map(str, edges))])
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with object_store() as uri:
        yield uri


@pytest.fixture(scope="module")
def jars() -> str:
    try:
        return ",".join(map(str, hadoop_aws()))
    except ServerError as error:
        pytest.skip(f"the connector s3a is not available: {error}")


def login(server: Connection) -> dict[str, str]:
    return {"NEO4J_URI": server.uri, "NEO4J_USER": server.user, "NEO4J_PASSWORD": server.password}


def test_tables_views_and_edges_are_those_of_a_snapshot_on_a_disk(
    bucket: str, jars: str, tenant: Tenants, server: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth = tenant("gravitino", [fact.replace("ROOT", "metalake:ml") for fact in FACTS])
    for name, value in login(server).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--jars {jars} pyspark-shell")
    here, there = tmp_path / "here", remote(f"{bucket}/x") / ODD
    on_disk, in_store = printed(PROGRAM, [], auth.tenant, str(here), str(there).replace("s3:", "s3a:"))
    assert in_store == on_disk and len(on_disk[0]) > 5 and len(on_disk[2]) > 10
    sums = table_sums(there)
    assert sums == table_sums(here) and {"closure", "access/reach", "access/expand"} <= {*sums}


def test_executors_of_a_cluster_read_and_write_an_object_store_and_log_no_login(
    bucket: str, jars: str, tenant: Tenants, server: Connection, tmp_path: Path
) -> None:
    auth, uri = tenant("gravitino", [fact.replace("ROOT", "metalake:ml") for fact in FACTS]), f"{bucket}/cluster"
    store = {"endpoint": os.environ["AWS_ENDPOINT_URL"], "path.style.access": "true"}
    options = [
        "--jars",
        jars,
        *(word for name in store for word in ("--conf", f"spark.hadoop.fs.s3a.{name}={store[name]}")),
    ]
    program, log = cluster_program.__file__, tmp_path / "driver.log"
    arguments = [auth.tenant, uri, "--expand", "load_table"]
    logged = submit("local-cluster[2,1,1024]", log, arguments, login(server), *options, program=program).finish()
    mirror_tenant(server, auth.tenant, tmp_path / "here", print)
    access(tmp_path / "here", None, ["load_table"], print, in_process_limit=0)
    assert table_sums(uri) == table_sums(tmp_path / "here")
    assert uri in logged and SECRET not in logged and KEY not in logged


def test_spark_without_the_connector_says_how_to_get_it(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    there = remote(f"{bucket}/without")
    write_snapshot(world(), there)
    spark = spark_session.engine(print).spark
    for command in (lambda: access(there, None, [], print, in_process_limit=0), lambda: register(spark, there)):
        with pytest.raises(InvalidInput, match=r"Spark cannot open it \(.*S3AFileSystem not found\); .*hadoop-aws:3"):
            command()
    assert {each.name for each in there.glob("*")} == {"current", "versions"}
