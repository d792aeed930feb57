"""A memory limit that is too small for Spark: one clear error, no partial result, and the next run succeeds."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from grantpath.graph.client.connection import Connection
from grantpath.spark_sync.mirroring.mirror import mirror_tenant

from ..conftest import Tenants

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_memory_that_is_too_small_for_spark_is_one_message(server: Connection, tenant: Tenants, tmp_path: Path) -> None:
    auth, out = tenant("gravitino", ["add user:u", "add catalog:c", "owner user:u of catalog:c"]), tmp_path / "out"
    mirror_tenant(server, auth.tenant, out, print)
    command = [sys.executable, "-m", "grantpath.spark_sync.job", "access", str(out), "--names", "load_catalog"]
    for memory, code, message in (
        ("300m", 2, r"System memory \d+ must be at least \d+\..*; check JAVA_HOME .* and GRANTPATH_SPARK_MEMORY"),
        ("1g", 0, "rows of reach"),
    ):
        own = {"GRANTPATH_SPARK_MEMORY": memory, "GRANTPATH_CLOSURE": "joins"}
        ran = subprocess.run(command, env=os.environ | own, capture_output=True, text=True)
        assert (ran.returncode, "Traceback" in ran.stderr) == (code, False), ran.stderr
        assert re.search(message, (ran.stdout + ran.stderr).splitlines()[-1]), ran.stderr
        assert (out / "access").exists() is (code == 0) and not [*out.glob(".*")]
