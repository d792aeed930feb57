"""Bulk answers: a mirror of a root in Parquet, and the access of all users, in this process or by Spark.

Start at `mirror.py`, which writes a snapshot; `bulk_access.py` answers from it for all users. The exported names
are imported on first use. `access` of small estates, `ask`, `diff` and `verify` need numpy and pyarrow, which are in
the extras `cli` and `replica`; all else needs the extra `spark`. Without it, the import raises a ModuleNotFoundError
that tells how to install it.
"""

from typing import TYPE_CHECKING, Any

from grantpath.graph.extras import require_extra

if __name__ != "grantpath.spark_sync":
    raise ImportError("import grantpath.spark_sync, not spark_sync")

require_extra("replica", "a snapshot")

if TYPE_CHECKING:
    from grantpath.engine.facts.snapshot.snapshot_questions import ask as ask
    from grantpath.spark_sync.bulk.bulk_access import access as access
    from grantpath.spark_sync.bulk.difference import diff as diff
    from grantpath.spark_sync.bulk.verification import verify as verify
    from grantpath.spark_sync.mirroring.mirror import mirror as mirror
    from grantpath.spark_sync.reporting.report_page import report as report
    from grantpath.spark_sync.session.analyst_views import duckdb_views as duckdb_views
    from grantpath.spark_sync.session.analyst_views import register as register
    from grantpath.spark_sync.session.snapshot import Snapshot as Snapshot
    from grantpath.spark_sync.tables.snapshot_export import export as export

_HOMES = {
    "Snapshot": "grantpath.spark_sync.session.snapshot",
    "access": "grantpath.spark_sync.bulk.bulk_access",
    "ask": "grantpath.engine.facts.snapshot.snapshot_questions",
    "diff": "grantpath.spark_sync.bulk.difference",
    "duckdb_views": "grantpath.spark_sync.session.analyst_views",
    "export": "grantpath.spark_sync.tables.snapshot_export",
    "mirror": "grantpath.spark_sync.mirroring.mirror",
    "register": "grantpath.spark_sync.session.analyst_views",
    "report": "grantpath.spark_sync.reporting.report_page",
    "verify": "grantpath.spark_sync.bulk.verification",
}
__all__ = ["Snapshot", "access", "ask", "diff", "duckdb_views", "export", "mirror", "register", "report", "verify"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
