"""A check runs code of few files of the product, because a reader must open each of them."""

import sys
from pathlib import Path
from types import FrameType

import pytest

from ..conftest import Tenants
from ..support.sizes import say

HOUSE = Path(__file__).parents[2]
PACKAGES = ("graph", "cypher", "engine", "spark_sync")
MOST = 8


@pytest.mark.parametrize("subject", ["user:u", "user:other"])
def test_warm_check_runs_few_files(subject: str, tenant: Tenants, capsys: pytest.CaptureFixture[str]) -> None:
    auth = tenant("gravitino", ["add user:u", "add user:other", "add catalog:c", "owner user:u of catalog:c"])
    files: set[str] = set()

    def entered(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(HOUSE):
            name = path.relative_to(HOUSE)
            if name.parts[0] in PACKAGES:
                files.add(name.as_posix())

    for _ in range(2):  # the second time, caches are filled
        files.clear()
        sys.setprofile(entered)
        try:
            decision = auth.check(subject, "load_catalog", "catalog:c")
        finally:
            sys.setprofile(None)
    assert decision.allowed == (subject == "user:u")
    say(capsys, f"a warm check, {decision.allowed}: {len(files)} files: {', '.join(sorted(files))}")
    assert len(files) <= MOST, sorted(files)
