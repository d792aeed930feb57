"""Helpers that format the text of messages, and the printed form of texts with control characters."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Any

LONGEST = 80  # characters of a name or value in a message
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", "'": "\\'"}
_LONG = {short: char for char, short in _SHORT.items()}
_PRINTED = re.compile(r"\$'((?:[^\\']|\\.)*+)'\Z", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|.)", re.DOTALL)
# What Markdown would take for marks. An underscore between letters or digits of any language is not one.
_MARKS = re.compile(r"[\\`*<>\[\]|#~&]|(?<![^\W_])_|_(?![^\W_])")


def printable(text: str) -> str:
    """The text as it is printed: unchanged, or in the form $'...' of bash and zsh if it has unprintable characters.

    A name must not control the terminal or add lines, and two names must not look alike. `read_printed` is the inverse:
    no reference and no statement begins with $'.
    """
    return text if text.isprintable() else f"$'{''.join(map(_escaped, text))}'"


def read_printed(text: str) -> str:
    """The text that `printable` prints as this one; a text that it does not print is returned unchanged."""
    printed = _PRINTED.match(text)
    if printed is None:
        return text
    try:
        read = _ESCAPE.sub(_char, printed[1])
    except ValueError:  # beyond the last code point
        return text
    return read if printable(read) == text else text


def _escaped(char: str) -> str:
    if char in _SHORT:
        return _SHORT[char]
    code = ord(char)
    if char.isprintable():
        return char
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _char(escape: re.Match[str]) -> str:
    code = next(filter(None, escape.groups()), None)
    return _LONG.get(escape[0], escape[0]) if code is None else chr(int(code, 16))


def short(text: str, longest: int = LONGEST) -> str:
    """A text for a message: shortened to `longest` characters, in its printed form; the empty text as ''."""
    return printable(text if len(text) <= longest else text[: longest - 3] + "...") or "''"


def how_many(counts: Mapping[str, int]) -> str:
    """Counts in words, by their names in the plural: `1 tag, 152 grants`."""
    return ", ".join(counted(number, names) for names, number in counts.items())


def counted(number: int, names: str) -> str:
    """A number of things, whose names are given in the plural: `1 entity`, `2 entities`."""
    return f"{number:,} {one_of(names) if number == 1 else names}"


def one_of(names: str) -> str:
    """The singular of a name in the plural, e.g. the name of a table; other words are unchanged."""
    if names.endswith("ies"):
        return f"{names[:-3]}y"
    if names.endswith(("sses", "xes", "ches")):
        return names[:-2]
    return names[:-1] if names.endswith("s") and not names.endswith("ss") else names


def as_html(value: Any) -> str:
    """A value as HTML: control characters and mark-up in a name have no effect."""
    text = "" if value is None else str(value)
    return escape(printable(text))


def as_markdown(text: str) -> str:
    """A text on one line, escaped so that Markdown shows it as it is, in the cell of a table, too."""
    return _MARKS.sub(r"\\\g<0>", printable(text))


def cell_text(value: Any, flags: tuple[str, str] = ("no", "yes"), time: Callable[[datetime], str] = str) -> str:
    """A value as the text of a cell: None is empty, items are separated by commas. `flags` are the words for False and
    True, and `time` makes the text of a time."""
    match value:
        case None:
            return ""
        case bool():
            return flags[value]
        case datetime():
            return time(value)
        case list() | tuple():
            return ", ".join(" ".join(map(str, each)) if isinstance(each, tuple) else str(each) for each in value)
        case dict():
            return ", ".join(f"{key}={each}" for key, each in value.items())
    return str(value)


def time_text(at: datetime) -> str:
    """A time as data: 2026-01-31T12:00:00Z in UTC, with its offset in another zone."""
    text = at.isoformat()
    return f"{text.removesuffix('+00:00')}Z" if text.endswith("+00:00") else text


def to_second(at: datetime) -> str:
    """A time for people, without its fraction of a second. It must be in UTC: the zone is not printed."""
    return f"{at:%Y-%m-%d %H:%M:%S}"


def indefinite(type_: str) -> str:
    """A type with its article: `a table`, `an org`."""
    return f"an {type_}" if type_.startswith(("a", "e", "i", "o")) else f"a {type_}"


def did_you_mean(names: Sequence[str]) -> str:
    """` (did you mean X or Y?)`, or an empty string."""
    return f" (did you mean {' or '.join(names)}?)" if names else ""
