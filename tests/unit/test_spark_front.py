"""The exports of `grantpath.spark_sync`, which do not import Spark."""

import subprocess
import sys

LAZY = """
import sys
import grantpath.spark_sync as front
assert "pyspark" not in sys.modules and "grantpath.spark_sync.session.snapshot" not in sys.modules
assert all(callable(getattr(front, name)) for name in front.__all__), front.__all__
assert not hasattr(front, "nothing")
print(*front.__all__)
"""


def test_bulk_functions_are_exported_and_imported_on_use() -> None:
    ran = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == (
        "Snapshot access ask diff duckdb_views export mirror register report verify\n",
        "",
    )
