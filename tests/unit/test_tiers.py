"""The tiers: `make test` reports the tests that it omits, and `make trust` runs every test with a long form."""

import os
import re
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

from ..support.spark_worker import OneSparkWorker

TESTS = Path(__file__).parents[1]
LONG_FORM = re.compile(r"support\.sizes import .*\bsize\b|support\.many_paths import|GRANTPATH_TRUST=full tries")


def pytest_on(*arguments: str) -> str:
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        env={name: value for name, value in os.environ.items() if name != "GRANTPATH_TRUST"} | {"PATH": ""},
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
    )
    return run.stdout


def test_browser_test_without_chromium_is_reported_and_starts_no_server() -> None:
    shown = pytest_on("--all", str(TESTS / "engine" / "cli" / "test_browser.py"), "-k", "picture")
    assert re.search(r"^NOT RUN: .*test_the_picture_shows_the_path: .*no Chromium on PATH", shown, re.MULTILINE)
    assert "1 skipped" in shown and "error" not in shown


@pytest.mark.slow
def test_omitted_slow_tests_are_counted() -> None:
    shown = pytest_on(str(TESTS / "engine" / "cli" / "test_browser.py"), "-k", "picture")
    assert re.search(r"^slow tests left out: 1; run them with", shown, re.MULTILINE)


@pytest.mark.slow
def test_slow_tests_that_come_too_late_are_reported() -> None:
    slow = str(TESTS / "unit" / "test_random_world.py")
    shown = pytest_on("--all", "--slow-within", "0", slow)
    assert re.search(
        r"^NOT RUN: \d+ slow tests, not begun within 0 minutes: .* tests/unit/test_random_world", shown, re.M
    )
    assert re.search(r"\d+ passed, \d+ skipped", shown)


def test_files_with_a_long_form_are_in_make_trust() -> None:
    for path in TESTS.rglob("test_*.py"):
        text = path.read_text()
        if path != Path(__file__):
            assert bool(LONG_FORM.search(text)) == ("mark.trust" in text), path.name


class Worker:
    """Stands for a process that runs tests."""

    def send_runtest_some(self, indices: list[int]) -> None:
        assert indices == []


def test_one_worker_gets_the_files_that_need_spark() -> None:
    """The scheduler is asked alone: its base class sends the work to processes."""
    files = [
        "spark_sync/test_closure.py",
        "spark_sync/test_bulk_access.py",
        "unit/test_tiers.py",
        "engine/cli/test_settings.py",
    ]
    scheduler: Any = OneSparkWorker.__new__(OneSparkWorker)
    workers = {name: Worker() for name in ("first", "second")}
    scheduler.assigned_work = {worker: {} for worker in workers.values()}
    scheduler.registered_collections = {worker: [] for worker in workers.values()}
    scheduler.workqueue = OrderedDict((f"tests/{file}", {}) for file in files)
    sent = []
    for name in ("second", "first", "second", "second"):
        scheduler._assign_work_unit(workers[name])
        sent.append((name, [*scheduler.assigned_work[workers[name]]][-1].removeprefix("tests/")))
    assert sent == [("second", files[2]), ("first", files[0]), ("second", files[3]), ("second", files[1])]
