"""A root with more facts than a mirror reads in one process, from the generator of the benchmarks."""

import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from grantpath.engine import Authorizer
from grantpath.engine.policy import policy
from grantpath.engine.tenants import registry
from grantpath.engine.transfer import importer
from grantpath.graph.store import Store

GENERATOR = Path(__file__).parents[2] / "benchmarks" / "generate.py"
POLICY = "lakehouse"
SIZE = {"users": 30_000, "groups": 1_000, "roles": 2_000, "catalogs": 5, "schemas": 10, "tables": 100, "grants": 90_000}


@contextmanager
def large_root(store: Store, folder: Path) -> Iterator[str]:
    """Loads a root of about 230,000 entities and facts with nested groups and roles, and removes it at the end."""
    sizes = [word for name, number in SIZE.items() for word in (f"--{name}", str(number))]
    command = [sys.executable, str(GENERATOR), *sizes, "--policy", POLICY, "--nested", "--out", str(folder / "tables")]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    model = policy.load(POLICY)
    reference = model.root("ml")
    tenant = f"{reference.text}~{uuid.uuid4().hex}"
    registry.create(store, tenant, model, reference)
    try:
        importer.load(Authorizer(store, tenant, model, reference), folder / "tables")
        yield tenant
    finally:
        registry.remove(store, tenant)
