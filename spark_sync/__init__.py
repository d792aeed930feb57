"""The same in bulk: a mirror of a root in Parquet, and what Spark computes from it for all users at once.

Needs the extra `spark`: without it, the import raises ModuleNotFoundError, which says how to install it.
"""

from grantpath.graph.extras import need_extra

if __name__ != "grantpath.spark_sync":
    raise ImportError("import grantpath.spark_sync, not spark_sync")

need_extra("spark", "Spark")
