"""grantpath.spark_sync"""

if __name__ != "grantpath.spark_sync":
    raise ImportError("import grantpath.spark_sync, not spark_sync")
