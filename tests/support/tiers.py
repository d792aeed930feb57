"""The tiers of the tests: `make test` omits slow tests and reports that; `--all` also runs them."""

import os
import shutil
import time
from collections.abc import Sequence
from typing import Any

import pytest

from .closing_lines import LEFT_OUT, lines

LONG = ("spark", "crash", "trust", "newest", "browser")  # the marks of files that take long
LONGEST = ("test_cluster.py", "test_parallel_mirror.py")  # with several minutes each
BEGAN = "GRANTPATH_TESTS_BEGAN"  # when the run began, in seconds since 1970
LATE = "not begun within"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chrome")


def add_option(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run the slow tests too, as `make test-all` does")
    parser.addoption(
        "--slow-within", type=float, metavar="MINUTES", help="leave out, and report, slow tests not begun by then"
    )


def select(config: pytest.Config, items: list[pytest.Item], why_no_browser: str | None) -> None:
    """Deselects slow tests unless they are requested, and browser tests if no browser is available.

    Files that take long come first, the longest ones before them, so that no worker waits for another at the end.
    """
    long = {item.path for item in items if any(item.get_closest_marker(mark) for mark in LONG)}
    items.sort(key=lambda item: (item.path.name not in LONGEST, item.path not in long))
    if why_no_browser is not None:
        for item in items:
            if item.get_closest_marker("browser"):
                item.add_marker(pytest.mark.skip(reason=why_no_browser))
    if config.option.all or "slow" in config.option.markexpr:
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    items[:] = [item for item in items if not item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=slow)
    config.stash[LEFT_OUT] = len(slow)


def begin() -> None:
    """Notes when the run began; worker processes inherit it."""
    os.environ.setdefault(BEGAN, str(time.time()))


def end() -> None:
    """Forgets when the run began."""
    os.environ.pop(BEGAN, None)


def require_in_time(config: pytest.Config, item: pytest.Item) -> None:
    """Skips a slow test that comes too late, for machines that are much slower than usual today."""
    minutes = config.option.slow_within
    if (
        minutes is not None
        and item.get_closest_marker("slow")
        and time.time() > float(os.environ[BEGAN]) + 60 * minutes
    ):
        pytest.skip(f"{LATE} {minutes:g} minutes")


def others_slow(values: Sequence[object]) -> list[Any]:
    """For parametrize: `make test` runs only the first of these values, `make test-all` runs all."""
    return [values[0], *all_slow(values[1:])]


def all_slow(values: Sequence[object]) -> list[Any]:
    """For parametrize: only `make test-all` runs these values."""
    return [pytest.param(*(each if isinstance(each, tuple) else (each,)), marks=pytest.mark.slow) for each in values]


def why_no_browser(server_is_ours: bool) -> str | None:
    """The reason why browser tests cannot run here; None if they can."""
    if chromium() is None:
        return f"no Chromium on PATH ({', '.join(CHROMIUM)}): apt-get install chromium"
    return None if server_is_ours else "Browser is served by the embedded server: unset GRANTPATH_TEST_SERVER"


def chromium() -> str | None:
    return next((found for name in CHROMIUM if (found := shutil.which(name))), None)


def report(terminal: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Prints the tests' lines, the number of omitted tests, or the time of the tests of `make test` in a full run."""
    for line in lines(config):
        terminal.write_line(line)
    if left_out := config.stash.get(LEFT_OUT, 0):
        terminal.write_line(f"slow tests left out: {left_out}; run them with `make test-all` or `pytest --all`")
    late = [each for each in terminal.stats.get("skipped", []) if LATE in str(each.longrepr)]
    if late:
        terminal.write_line(
            f"NOT RUN: {len(late)} slow tests, {LATE} {config.option.slow_within:g} minutes: the machine is slow. Run "
            f"them with `make test-all`: {' '.join(sorted({each.nodeid.partition('::')[0] for each in late}))}",
            red=True,
            bold=True,
        )
    reports = [each for group in terminal.stats.values() for each in group if hasattr(each, "duration")]
    if config.option.all and reports:
        short = sum(each.duration for each in reports if "slow" not in each.keywords)
        terminal.write_line(f"{short:.0f} s of {sum(each.duration for each in reports):.0f} s in tests of `make test`")
