"""A session uses the cores that the process may use, on each system."""

import os

import pytest

from grantpath.spark_sync.session import spark_session


def test_system_that_tells_only_how_many_cores_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    assert spark_session.usable_cores() == len(os.sched_getaffinity(0))
    monkeypatch.delattr(os, "sched_getaffinity")  # as on macOS
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert spark_session.usable_cores() == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert spark_session.usable_cores() == 1
