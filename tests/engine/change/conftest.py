"""The clock of tests about ends."""

from collections.abc import Callable

import pytest

from grantpath import cypher
from grantpath.graph.language.ends import seconds_of

Clock = Callable[[str], None]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Sets the clock with which ends are compared."""
    return lambda end: monkeypatch.setattr(cypher, "now", seconds_of(end))
