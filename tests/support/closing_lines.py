"""Lines that tests add to pytest's closing output; worker processes hand theirs to the process with the terminal."""

from typing import Any

import pytest

CLOSING = pytest.StashKey[list[str]]()
LEFT_OUT = pytest.StashKey[int]()  # how many slow tests were left out


def lines(config: pytest.Config) -> list[str]:
    """The lines so far; append to them."""
    return config.stash.setdefault(CLOSING, [])


def hand_over(config: pytest.Config) -> None:
    """In a worker of pytest-xdist: sends what was gathered here."""
    output = getattr(config, "workeroutput", None)
    if output is not None:
        output["closing"], output["left_out"] = lines(config), config.stash.get(LEFT_OUT, 0)


def gather(node: Any) -> None:
    """In the process that started the workers: takes what a worker sent. Each worker left out the same tests."""
    output = getattr(node, "workeroutput", {})  # a worker that crashed has none
    lines(node.config).extend(output.get("closing", []))
    node.config.stash[LEFT_OUT] = output.get("left_out", 0)
