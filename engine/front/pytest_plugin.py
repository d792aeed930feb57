"""The pytest plugin of grantpath: the fixture `grantpath_authorizer`."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def grantpath_authorizer() -> Callable[..., Any]:
    """`grantpath.testing.authorizer`: a function that makes a root in memory of a policy and facts."""
    # only here: tests that do not use it load nothing
    from grantpath.engine.memory.memory_authorizer import authorizer

    return authorizer
