"""Reading several answers at one revision of a root, beginning again where a change comes between them."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from grantpath.graph.errors import Inconsistent

TRIES = 5
Result = TypeVar("Result")


class GuardedAsk(Protocol):
    """Asks a guarded query of cypher/ for its one row."""

    def __call__(self, query: str, **parameters: Any) -> Mapping[str, Any]: ...


class _Moved(Exception):
    """The root changed between two of the questions."""


def at_one_revision(
    tenant: str, ask: GuardedAsk, work: Callable[[GuardedAsk], Result], again: Callable[[], None] = lambda: None
) -> Result:
    """What `work` returns, with all that it asks by the function that it is given answered at one revision.

    Where the root changed between two of its questions, `again` is called and `work` begins anew. What `work` reads
    otherwise is of that revision too if it asks a question before and after. Raises Inconsistent where the root
    changed each time.
    """
    for _ in range(TRIES):
        try:
            return work(_pinned(ask))
        except _Moved:
            again()
    raise Inconsistent(f"{tenant} changed each of the {TRIES} times it was read; try again when fewer changes come in")


def _pinned(ask: GuardedAsk) -> GuardedAsk:
    """Asks, and raises _Moved for a row of another revision, or another making of the root, than the first one."""
    states: set[tuple[int, str | None]] = set()

    def pinned(query: str, **parameters: Any) -> Mapping[str, Any]:
        row = ask(query, **parameters)
        states.add((row["revision"], row["made"]))
        if len(states) > 1:
            raise _Moved
        return row

    return pinned
