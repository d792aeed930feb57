"""Many things in one call: at most so many of them, and an error names the one that is wrong by its index."""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TypeVar

from grantpath.graph.errors import GrantpathError, Invalid, InvalidInput
from grantpath.graph.messages import short

MOST = 10_000  # things of one call: its parameters take memory of the server, and its time is that of all callers
One = TypeVar("One")
Other = TypeVar("Other")


def need_list(what: str, given: Iterable[One]) -> list[One]:
    """The things of a batch. Raises InvalidInput for what is not a list or something like it (a text is one thing, not
    a list of letters), and for more than MOST of them."""
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise InvalidInput(f"{short(repr(given))} is not a list of {what}; wrap a single one in a list")
    things = list(islice(given, MOST + 1))
    if len(things) > MOST:
        raise InvalidInput(f"more than {MOST:,} {what} in one call; split them into calls of at most {MOST:,}")
    return things


def each_of(what: str, things: Iterable[One], work: Callable[[One], Other]) -> list[Other]:
    """What came of each thing of a batch. What is invalid is raised as `one_of`."""
    done: list[Other] = []
    for thing in things:
        try:
            done.append(work(thing))
        except Invalid as error:
            raise one_of(what, len(done), error) from None
    return done


def one_of(what: str, index: int, error: GrantpathError) -> GrantpathError:
    """The same error, naming by its index which one of a batch it is about."""
    named = error.behind(f"{what} {index}: ")
    named.code = error.code
    named.index = index
    return named
