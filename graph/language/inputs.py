"""Validates the arguments of callers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grantpath.graph.errors import InvalidInput
from grantpath.graph.language.reference import MAX_REFERENCE_BYTES, encodable
from grantpath.graph.messages import short

TOO_LARGE = 2**63  # the smallest number that the database cannot store
MAX_DIGITS = 1_000  # of a number in JSON; Python itself reads at most 4,300
MAX_SECONDS = 24 * 60 * 60


def require_text(what: str, text: str) -> None:
    """Raises InvalidInput unless `text` is a string of at most MAX_REFERENCE_BYTES that the database accepts."""
    if not isinstance(text, str) or not encodable(text) or len(text.encode()) > MAX_REFERENCE_BYTES:
        raise InvalidInput(
            f"{what}={short(str(text))} must be a string of at most {MAX_REFERENCE_BYTES} bytes of UTF-8"
        )


def read_json(text: str) -> Any:
    """The value that a JSON text stands for. Raises ValueError, whose text is for people, if it is not JSON, an object
    has a key twice, or the value is nested too deeply or has a number that is too long."""
    try:
        return json.loads(text, object_pairs_hook=_unique_keys, parse_int=_integer)
    except RecursionError:
        raise ValueError("too many brackets inside each other") from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("duplicate key")  # json would take the last one
    return found


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number has {len(digits):,} digits")
    return int(digits)


def require_second_objects(given: Mapping[str, str] | None) -> dict[str, str]:
    """The second objects that a caller names by `with_`. Raises InvalidInput unless they are a mapping, or None."""
    if given is not None and not isinstance(given, Mapping):
        raise InvalidInput(
            f"with_={short(repr(given))} is not a mapping; write {{'KEY': 'REF'}}, such as {{'tag': 'tag:pii'}}"
        )
    return dict(given or {})


def require_flag(what: str, value: bool) -> None:
    """Raises InvalidInput unless `value` is True or False: `dry_run="no"` would mean yes."""
    if not isinstance(value, bool):
        raise InvalidInput(f"{what}={short(repr(value))} must be True or False")


def require_number(what: str, number: int) -> None:
    """Raises InvalidInput unless `number` is an integer that the database accepts."""
    if not isinstance(number, int) or isinstance(number, bool):
        raise InvalidInput(f"{what}={short(repr(number))} must be an integer, e.g. 20")
    if abs(number) >= TOO_LARGE:
        raise InvalidInput(f"{what}={short(str(number))} is out of range; its absolute value must be less than 2^63")


def require_limit(what: str, number: int | None) -> None:
    """Raises InvalidInput unless `number` is an integer of at least 1, or None for no limit."""
    if number is not None:
        require_number(what, number)
        if number < 1:
            raise InvalidInput(f"{what}={number} must be 1 or more, or None for no limit")


def require_page_limit(number: int, most: int, rest: str) -> None:
    """Raises InvalidInput unless `number`, the limit of a page, is an integer from 1 to `most`. `rest` tells how the
    caller gets more."""
    require_number("limit", number)
    if not 1 <= number <= most:
        raise InvalidInput(f"limit={number} must be from 1 to {most:,}; {rest}")


def require_seconds(what: str, seconds: float) -> None:
    """Raises InvalidInput unless `seconds` is a number above 0 and at most MAX_SECONDS."""
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not number or not 0 < seconds <= MAX_SECONDS:
        raise InvalidInput(
            f"{what}={short(repr(seconds))} must be a number of seconds above 0 and up to {MAX_SECONDS}, e.g. 10"
        )


def require_not_named_pipe(what: str, file: Path) -> None:
    """Raises InvalidInput, which begins with `what`, if `file` is a named pipe: opening it waits for a writer.

    A pipe below /dev is already open, e.g. that of `<(command)` in a shell. Raises OSError.
    """
    if file.is_fifo() and not str(file).startswith(("/dev/", "/proc/")):
        raise InvalidInput(f"{what}: {file} is a named pipe; name a regular file")
