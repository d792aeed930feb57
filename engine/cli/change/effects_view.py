"""The effects of a change as text for a terminal."""

from typing import TYPE_CHECKING

from grantpath.engine.cli.output import SHOWN, note, out, styled

if TYPE_CHECKING:
    from grantpath.engine.answers.access_effects import Effects

STYLES = {"gain": "green", "lose": "red"}


def show_effects(effects: "Effects", title: str = "effects") -> None:
    """Prints the counts, then the widest effects as sentences."""
    out().print(styled(title, "bold"), styled(f" {effects.summary()}"), sep="")
    for each in effects.effects[:SHOWN]:
        out().print(styled(f"  {each.sentence()}", STYLES[each.effect]))
    if len(effects.effects) > SHOWN:
        out().print(styled(f"  ... and {len(effects.effects) - SHOWN:,} more; --json has all of them", "dim"))
    if effects.omitted:
        note(f"not compared, because they need a second object: {', '.join(effects.omitted)}")
