"""Lines that tests add to pytest's final output; worker processes send theirs to the main process."""

from typing import Any

import pytest

CLOSING = pytest.StashKey[list[str]]()
LEFT_OUT = pytest.StashKey[int]()  # the number of omitted slow tests


def lines(config: pytest.Config) -> list[str]:
    """The lines so far; append to them."""
    return config.stash.setdefault(CLOSING, [])


def hand_over(config: pytest.Config) -> None:
    """In a worker of pytest-xdist: sends its lines."""
    output = getattr(config, "workeroutput", None)
    if output is not None:
        output["closing"], output["left_out"] = lines(config), config.stash.get(LEFT_OUT, 0)


def gather(node: Any) -> None:
    """In the main process: receives the lines of a worker. All workers omit the same tests."""
    output = getattr(node, "workeroutput", {})  # a crashed worker sends none
    lines(node.config).extend(output.get("closing", []))
    node.config.stash[LEFT_OUT] = output.get("left_out", 0)
