"""Consent to actions that cannot be undone: --yes, or the name typed at the terminal."""

import sys
from typing import Annotated

import typer

from grantpath.engine.cli.output import warn
from grantpath.graph.errors import InvalidInput
from grantpath.graph.messages import printable

Yes = Annotated[bool, typer.Option("--yes", help="drop a root without asking")]


def confirm_drop(root: str, holds: str) -> None:
    """Asks at the terminal for the name of the root to drop. Raises InvalidInput without consent."""
    if not sys.stdin.isatty():
        raise InvalidInput(f"dropping {root} cannot be undone; confirm it with --yes")
    warn(f"{root} holds {holds}; dropping it cannot be undone", "yellow")
    if typer.prompt(f"Type {printable(root)} to drop it", err=True) != printable(root):
        raise InvalidInput(f"that is not {root}; nothing is dropped")
