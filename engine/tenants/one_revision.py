"""Reads several answers at one revision of a root; starts again if a change comes between them."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from grantpath.graph.errors import Inconsistent

TRIES = 5
Result = TypeVar("Result")


class GuardedAsk(Protocol):
    """A function that runs a guarded query of cypher/ and returns its one row."""

    def __call__(self, query: str, **parameters: Any) -> Mapping[str, Any]: ...


class _Moved(Exception):
    """The root changed between two queries."""


def at_one_revision(
    tenant: str, ask: GuardedAsk, work: Callable[[GuardedAsk], Result], again: Callable[[], None] = lambda: None
) -> Result:
    """Calls `work` with a function whose queries are all answered at one revision, and returns its result.

    If the root changed between two queries, `again` is called and `work` is repeated. Data that `work` reads by other
    means are of the same revision if it runs a query before and after. Raises Inconsistent if the root changed in each
    try.
    """
    for _ in range(TRIES):
        try:
            return work(_pinned(ask))
        except _Moved:
            again()
    raise Inconsistent(f"{tenant} changed during each of {TRIES} tries to read it; try again when it changes less")


def _pinned(ask: GuardedAsk) -> GuardedAsk:
    """`ask`, which raises _Moved for a row of another revision, or of a root that was created again since."""
    states: set[tuple[int, str | None]] = set()

    def pinned(query: str, **parameters: Any) -> Mapping[str, Any]:
        row = ask(query, **parameters)
        states.add((row["revision"], row["made"]))
        if len(states) > 1:
            raise _Moved
        return row

    return pinned
