"""A small snapshot with odd names, and its exports, for the tests of `grantpath export`."""

from pathlib import Path

from grantpath.spark_sync import export
from grantpath.spark_sync.tables.snapshot_export import Format, SnapshotExport

from ..oracle import oracle
from .plain_access import write_snapshot

FORMATS = ("delta", "iceberg")
USERS = [f"user:u{number}" for number in range(30)]
OBJECTS = [
    "catalog:hr",
    "schema:hr.public",
    "table:hr.public.`päy roll`",
    *(f"table:hr.public.t{at}" for at in range(9)),
]


def mirrored(folder: Path, members: bool = True) -> Path:
    """A small snapshot without bulk answers."""
    made = oracle("gravitino", "ml")
    facts = [f"add {ref}" for ref in (*OBJECTS, *USERS, "role:r")]
    facts += [f"member {user} of role:r" for user in USERS[:20] if members]
    facts += [f"allow {name} on catalog:hr to role:r" for name in ("USE_CATALOG", "SELECT_TABLE")]
    assert {made.given(fact) for fact in facts} == {"done"}
    return write_snapshot(made, folder, 7)


def exported(snapshot: Path, out: Path, format: Format) -> SnapshotExport:
    return export(snapshot, out, format, lambda line: None)
