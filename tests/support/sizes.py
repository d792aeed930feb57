"""The sizes of the trust tests: short ones by default, those that docs/trust.md promises with GRANTPATH_TRUST=full."""

import os

import pytest

VARIABLE = "GRANTPATH_TRUST"


def size(full: int, short: int) -> int:
    """How much to try: `full` if GRANTPATH_TRUST is full, `short` if it is not set."""
    chosen = os.environ.get(VARIABLE, "")
    if chosen not in ("", "full"):
        raise pytest.UsageError(f"{VARIABLE}={chosen}: write {VARIABLE}=full, or leave it away for the short form")
    return full if chosen else short


def say(capsys: pytest.CaptureFixture[str], text: str) -> None:
    """Prints a figure, whatever pytest captures."""
    with capsys.disabled():
        print(f"\n{text}")
