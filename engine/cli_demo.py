"""The command `demo`."""

import typer


def register(app: typer.Typer) -> None:
    """Adds the command."""
