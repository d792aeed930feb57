"""The sizes of the trust tests: short by default; with GRANTPATH_TRUST=full, those in docs/trust.md."""

import os

import pytest

VARIABLE = "GRANTPATH_TRUST"


def size(full: int, short: int) -> int:
    """The number of tries: `full` if GRANTPATH_TRUST is full, `short` if it is not set."""
    chosen = os.environ.get(VARIABLE, "")
    if chosen not in ("", "full"):
        raise pytest.UsageError(f"{VARIABLE}={chosen}: write {VARIABLE}=full, or unset it for the short form")
    return full if chosen else short


def say(capsys: pytest.CaptureFixture[str], text: str) -> None:
    """Prints a figure despite pytest's capturing."""
    with capsys.disabled():
        print(f"\n{text}")
