"""SQL on a snapshot's views, in Spark and in DuckDB."""

from pathlib import Path
from typing import Any

import duckdb
from pyspark.sql import SparkSession

from grantpath.spark_sync import duckdb_views, register

Rows = list[tuple[Any, ...]]


class BothEngines:
    """The views of one snapshot, registered in both engines, which must give the same answers."""

    def __init__(self, spark: SparkSession, snapshot: Path, schema: str) -> None:
        self.schema = schema
        self.names = register(spark, snapshot, schema)
        self._spark = spark
        self._duckdb = duckdb.connect()
        self._duckdb.execute(duckdb_views(snapshot, schema))

    def rows(self, sql: str) -> Rows:
        """The rows of a query, which both engines return in the same order if it has one."""
        own = sql.replace("grantpath.", f"{self.schema}.")
        by_spark = [tuple(row) for row in self._spark.sql(own).collect()]
        by_duckdb = self._duckdb.execute(own).fetchall()
        if "order by" not in sql.lower():
            by_spark, by_duckdb = (sorted(rows, key=repr) for rows in (by_spark, by_duckdb))
        assert by_spark == by_duckdb, f"Spark and DuckDB differ: {sql}"
        return by_spark

    def set(self, sql: str) -> set[tuple[Any, ...]]:
        """The rows of a query, which must not have duplicates."""
        rows = self.rows(sql)
        assert rows and len(rows) == len(set(rows)), f"no rows, or duplicates: {sql}"
        return set(rows)

    def close(self) -> None:
        """Removes the views from Spark."""
        self._spark.sql(f"drop schema {self.schema} cascade")
        self._duckdb.close()
