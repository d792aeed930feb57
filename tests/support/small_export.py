"""A small snapshot with odd names, and its exports, for the tests of `grantpath export`."""

from pathlib import Path

from grantpath.engine.policy.policy import load
from grantpath.engine.tenants.tenant_state import Entity
from grantpath.spark_sync import export
from grantpath.spark_sync.graph_reader import Graph, write
from grantpath.spark_sync.snapshot_export import Format, SnapshotExport
from grantpath.spark_sync.snapshot_folders import building

from .plain_access import no_spark

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
    refs = ["metalake:ml", *OBJECTS, *USERS, "role:r"]
    held = USERS[:20] if members else []
    graph = Graph(
        [Entity(ref, ref.partition(":")[0]) for ref in refs],
        held,
        ["role:r"] * len(held),
        ["HAS_ROLE"] * len(held),
        ["role:r"] * 2,
        ["ALLOW USE_CATALOG", "ALLOW SELECT_TABLE"],
        ["catalog:hr"] * 2,
    )
    with building(folder) as fresh:
        write(fresh, "metalake:ml", load("gravitino"), 7, graph, no_spark, lambda line: None)
    return folder


def exported(snapshot: Path, out: Path, format: Format) -> SnapshotExport:
    return export(snapshot, out, format, lambda line: None)
