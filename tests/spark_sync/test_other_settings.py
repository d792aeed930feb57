"""Parquet that Spark writes by the settings of a session: in snapshots they have no effect, and loads read it."""

import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from grantpath.engine.facts.snapshot.snapshot_questions import ask
from grantpath.engine.transfer import table_files
from grantpath.engine.transfer.tables import TABLES, Problems
from grantpath.graph.client.connection import Connection
from grantpath.spark_sync.mirroring import mirror as mirroring
from grantpath.spark_sync.session.snapshot import Snapshot
from grantpath.spark_sync.session.spark_session import engine

from ..conftest import Tenants
from ..support.random_world import ROOT_NAME, random_world
from ..support.table_files import ESTATE
from ..support.table_sums import table_sums

pytestmark = pytest.mark.spark
SETTINGS = {
    "parquet.writer.version": "v2",
    "parquet.enable.dictionary": "false",
    "parquet.bloom.filter.enabled": "true",
}


@pytest.fixture
def spark() -> Iterator[SparkSession]:
    """The session of the tests, with settings for another form of Parquet."""
    found = engine(print).spark
    kept = found.sparkContext._jsc.hadoopConfiguration()
    for name, value in SETTINGS.items():
        kept.set(name, value)
    found.conf.set("spark.sql.parquet.compression.codec", "gzip")
    yield found
    for name in SETTINGS:
        kept.unset(name)
    found.conf.unset("spark.sql.parquet.compression.codec")


def encodings(folder: Path) -> set[str]:
    footers = [pq.read_metadata(file) for file in folder.rglob("*.parquet")]
    columns = [
        footer.row_group(group).column(at)
        for footer in footers
        for group in range(footer.num_row_groups)
        for at in range(footer.num_columns)
    ]
    return {each for column in columns for each in (*column.encodings, column.compression)}


def test_settings_of_the_session_do_not_change_a_snapshot(
    server: Connection, tenant: Tenants, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirroring, "SMALL", 0)  # the tasks of Spark write
    auth = tenant("gravitino", random_world("gravitino", random.Random("settings"), 100), root=ROOT_NAME)
    mirroring.mirror_tenant(server, auth.tenant, tmp_path / "out", print)
    assert encodings(tmp_path / "out") <= {"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY", "SNAPPY"}
    table = next(ref for ref in Snapshot(tmp_path / "out").numbering.refs if ref.startswith("table:"))
    assert ask(tmp_path / "out", f"who can load_table on {table}").answer == [*auth.who("load_table", table)]
    spark.read.parquet(str(tmp_path / "out" / "objects")).write.parquet(str(tmp_path / "other"))
    assert {"DELTA_BYTE_ARRAY", "GZIP"} <= encodings(tmp_path / "other"), "the settings have no effect"
    sums = table_sums(tmp_path / "out")
    for file in (tmp_path / "out" / "objects").iterdir():
        file.unlink()
    for file in (tmp_path / "other").glob("*.parquet"):
        file.rename(tmp_path / "out" / "objects" / file.name)
    assert table_sums(tmp_path / "out") == sums
    assert ask(tmp_path / "out", f"who can load_table on {table}").answer == [*auth.who("load_table", table)]


@pytest.mark.parametrize("form", ["parquet", "csv", "csv.gz", "json", "json.gz"])
def test_tables_that_spark_writes_are_loaded(spark: SparkSession, tmp_path: Path, form: str) -> None:
    """A table of Spark in several part files, and one without rows."""
    format_, _, packed = form.partition(".")
    for name, rows in {**ESTATE, "owners": []}.items():
        types = ", ".join(f"{column} string" for column in TABLES[name])
        frame = spark.createDataFrame([tuple(row) for row in rows], types).repartition(3 if rows else 1)
        writer = frame.write.format(format_).option("header", True).option("escape", '"')
        (writer.option("compression", "gzip") if packed else writer).save(str(tmp_path / name))
    problems = Problems()
    found = table_files.read(tmp_path, problems, lambda *_: None)
    problems.raise_any()
    for name, rows in {**ESTATE, "owners": []}.items():
        listed = [found[name].columns[column] for column in TABLES[name]]
        columns = [[one.values[code] for code in one.codes] for one in listed]
        assert sorted(zip(*columns, strict=True)) == sorted(map(tuple, rows)), name
