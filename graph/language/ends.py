"""Ends of grants and memberships: texts such as 2026-12-31T00:00:00Z, in UTC and to the second.

An end has one spelling, so equal texts are equal times, and texts are in the order of the times.
"""

import re
from datetime import UTC, datetime

from grantpath.graph.errors import InvalidInput
from grantpath.graph.messages import short

_FRACTION = re.compile(r"[.,]\d")  # also one that is too short to be read


def end_text(end: object) -> str:
    """The spelling of an end, given as a text with a zone or as a datetime with one.

    Raises InvalidInput if it is not a time, has no zone, has a fraction of a second, or is not in the years 1 to 9999
    in UTC.
    """
    at = end
    if isinstance(end, str):
        try:
            at = datetime.fromisoformat(end)
        except ValueError:
            at = None
    if not isinstance(at, datetime):
        raise InvalidInput(f"until {short(str(end))} is not a time; write it as 2026-12-31T00:00:00Z")
    if at.utcoffset() is None:
        raise InvalidInput(
            f"until {short(str(end))} has no zone; write Z for UTC, or an offset: 2026-12-31T00:00:00+02:00"
        )
    try:
        at = at.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"until {short(str(end))} is not in the years 1 to 9999; write another time") from None
    if at.microsecond or (isinstance(end, str) and _FRACTION.search(end)):
        raise InvalidInput(
            f"until {short(str(end))} has a fraction of a second; write a whole second, such as {_spelled(at)}; of a "
            "datetime, use .replace(microsecond=0)"
        )
    return _spelled(at)


def end_of(seconds: int) -> str:
    """The spelling of a time in seconds since 1970."""
    return _spelled(datetime.fromtimestamp(seconds, UTC))


def _spelled(at: datetime) -> str:
    return at.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def earliest(*ends: str | None) -> str | None:
    """The earliest of these ends. A fact without an end has None; if no fact has one, None is returned."""
    return min((each for each in ends if each), default=None)


def seconds_of(end: str) -> int:
    """An end, as `end_text` spells it, in seconds since 1970."""
    return int(datetime.fromisoformat(end).timestamp())
