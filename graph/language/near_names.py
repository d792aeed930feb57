"""Finds the existing names that are similar to one that does not exist, in bounded time."""

from collections.abc import Iterable
from difflib import SequenceMatcher
from heapq import nlargest

from grantpath.graph.language.reference import loose_parts
from grantpath.graph.messages import did_you_mean

MAX_NAME = 100  # characters: longer input is never a typo, and slow to compare
CANDIDATES = 50
SUGGEST_AMONG = 20_000  # names in memory: finding the nearest one of more would take seconds
COMPARED = 10  # candidates that are compared letter by letter
SHOWN = 3
CLOSE = 0.6  # the least similarity of each part of a name
APART = 0.15  # names that are less similar than the best one by more than this are not shown


def nearest(word: str, known: Iterable[str]) -> str:
    """` (did you mean X or Y?)` with similar names, or an empty string."""
    return did_you_mean(close(word, known))


def close(word: str, known: Iterable[str]) -> list[str]:
    """The similar names, the best first. References are compared part by part, so that common parents do not count."""
    if len(word) > MAX_NAME:
        return []
    parts = _parts(word)
    fitting = [(one, other) for one in known if len(one) <= MAX_NAME and (other := _fitting(parts, one))]
    some = nlargest(COMPARED, fitting, key=lambda each: _ends(word, each[0]))
    found = [(ratio, one) for one, other in some if (ratio := _alike(parts, other)) >= CLOSE]
    best = max((ratio for ratio, _ in found), default=0)
    return [one for ratio, one in nlargest(SHOWN, found) if ratio >= best - APART]


def _parts(name: str) -> list[str]:
    """The type and the segments of a reference, or the word itself if it is not a reference; in lower case."""
    return loose_parts(name.casefold())


def _fitting(parts: list[str], name: str) -> list[str] | None:
    """The parts of a name, or None if their number or lengths rule out a similarity: a cheap first filter."""
    others = _parts(name)
    if len(parts) == 1 and len(others) == 2:  # `word` was written without its type
        others = others[1:]
    if len(others) != len(parts):
        return None
    return (
        others if all(abs(len(a) - len(b)) <= max(2, len(a) // 2) for a, b in zip(parts, others, strict=True)) else None
    )


def _ends(one: str, other: str) -> int:
    """The number of letters that two names share at their start plus those at their end."""
    return _shared(one, other) + _shared(one[::-1], other[::-1])


def _shared(one: str, other: str) -> int:
    pairs = zip(one.casefold(), other.casefold(), strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _alike(parts: list[str], others: list[str]) -> float:
    """The similarity of the least similar parts: 1 if all are equal. Below CLOSE, it may be given as 0."""
    return min((_ratio(a, b) for a, b in zip(parts, others, strict=True) if a != b), default=1.0)


def _ratio(one: str, other: str) -> float:
    if max(len(one), len(other)) == 2 and _shared(one, other):  # e.g. hr and hx
        return CLOSE
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() >= CLOSE and matcher.quick_ratio() >= CLOSE else 0.0
