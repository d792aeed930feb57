"""Consent to actions that cannot be undone: --yes, or the name typed at the terminal."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from grantpath.engine.cli.output import warn
from grantpath.graph.errors import InvalidInput
from grantpath.graph.messages import printable

if TYPE_CHECKING:
    from grantpath.engine.answers.access_effects import Effects

Yes = Annotated[bool, typer.Option("--yes", help="drop without asking")]
NAMED = 5  # DENYs that end, and effects, that a question names


def confirm_opening(denies: list[str], effects: "Effects | None") -> None:
    """Asks at the terminal whether to drop tags that have these DENYs, and names the access that is gained; None if it
    could not be found out. Raises InvalidInput without consent."""
    named = f"{'; '.join(denies[:NAMED])}{'; ...' * (len(denies) > NAMED)}"
    if effects is None:
        what = f"the change can drop a tag with {named}, and cannot be planned, so it is not known who gains what"
    else:
        what = f"dropping the tag ends {named}: {_opened(effects)}"
    what = printable(what)
    if not sys.stdin.isatty():
        raise InvalidInput(f"{what}; confirm it with --yes")
    warn(what, "yellow")
    if not typer.confirm("Drop it?", err=True):
        raise InvalidInput("nothing is dropped")


def _opened(effects: "Effects") -> str:
    gains = [each.sentence() for each in effects.effects if each.effect == "gain"]
    more = f"; and {len(gains) - NAMED:,} more" if len(gains) > NAMED else ""
    return f"{'; '.join(gains[:NAMED])}{more}" if gains else "no user gains anything now"


def confirm_drop(root: str, holds: str) -> None:
    """Asks at the terminal for the name of the root to drop. Raises InvalidInput without consent."""
    if not sys.stdin.isatty():
        raise InvalidInput(f"dropping {root} cannot be undone; confirm it with --yes")
    warn(f"{root} holds {holds}; dropping it cannot be undone", "yellow")
    if typer.prompt(f"Type {printable(root)} to drop it", err=True) != printable(root):
        raise InvalidInput(f"that is not {root}; nothing is dropped")
