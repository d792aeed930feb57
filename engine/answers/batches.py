"""Batches: a limit on the number of items, and errors that name the index of the item that they are about."""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TypeVar

from grantpath.graph.errors import GrantpathError, Invalid, InvalidInput
from grantpath.graph.messages import short

MOST = 10_000  # items in one call: a larger one would take too much of the server's memory and time
One = TypeVar("One")
Other = TypeVar("Other")


def need_list(what: str, given: Iterable[One], most: int | None = MOST) -> list[One]:
    """The items of a batch. Raises InvalidInput if `given` is a string or not iterable, or has more than `most`
    items."""
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise InvalidInput(f"{short(repr(given))} is not a list of {what}; wrap a single one in a list")
    things = list(given if most is None else islice(given, most + 1))
    if most is not None and len(things) > most:
        raise InvalidInput(f"more than {most:,} {what} in one call; split them into calls of at most {most:,}")
    return things


def each_of(what: str, things: Iterable[One], work: Callable[[One], Other]) -> list[Other]:
    """The result of `work` for each item of a batch. Raises the first Invalid, with its index (see `one_of`)."""
    done: list[Other] = []
    for thing in things:
        try:
            done.append(work(thing))
        except Invalid as error:
            raise one_of(what, len(done), error) from None
    return done


def each_as_is(things: Iterable[One], work: Callable[[One], Other]) -> list[Other | Invalid]:
    """The result of `work` for each item of a batch, or its Invalid in its place, without an index."""
    done: list[Other | Invalid] = []
    for thing in things:
        try:
            done.append(work(thing))
        except Invalid as error:
            done.append(error)
    return done


def each_or_error(
    what: str, things: Iterable[One | GrantpathError], work: Callable[[One], Other]
) -> list[Other | GrantpathError]:
    """The result of `work` for each item of a batch, or its Invalid with the index, in its place. An item that is an
    error already stays."""
    done: list[Other | GrantpathError] = []
    for thing in things:
        try:
            done.append(thing if isinstance(thing, GrantpathError) else work(thing))
        except Invalid as error:
            if error.code == "root_dropped":  # about the whole batch
                raise
            done.append(one_of(what, len(done), error))
    return done


def one_of(what: str, index: int, error: GrantpathError) -> GrantpathError:
    """A copy of the error that names the index of the batch item that it is about."""
    named = error.prefixed(f"{what} {index}: ")
    named.index = index
    return named
