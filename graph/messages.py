"""Helpers that format the text of messages."""

from collections.abc import Sequence
from html import escape
from typing import Any

LONGEST = 80  # characters of a name or value in a message


def short(text: str, longest: int = LONGEST) -> str:
    """A text for a message: shortened to `longest` characters, with unprintable characters escaped."""
    cut = text if len(text) <= longest else text[: longest - 3] + "..."
    return cut if cut.isprintable() else ascii(cut)[1:-1]


def as_html(value: Any) -> str:
    """A value as HTML: control characters and mark-up in a name have no effect."""
    text = "" if value is None else str(value)
    return escape("".join(char if char.isprintable() else ascii(char)[1:-1] for char in text))


def indefinite(type_: str) -> str:
    """A type with its article: `a table`, `an org`."""
    return f"an {type_}" if type_.startswith(("a", "e", "i", "o")) else f"a {type_}"


def did_you_mean(names: Sequence[str]) -> str:
    """` (did you mean X or Y?)`, or an empty string."""
    return f" (did you mean {' or '.join(names)}?)" if names else ""
