"""Batches: a limit on the number of items, and errors that name the index of the item that they are about."""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import NoReturn, TypeVar

from grantpath.graph.errors import GrantpathError, Invalid, InvalidInput
from grantpath.graph.messages import short

MOST = 10_000  # items in one call: a larger one would take too much of the server's memory and time
One = TypeVar("One")
Other = TypeVar("Other")
Failed = TypeVar("Failed")


def require_list(what: str, given: Iterable[One], most: int | None = MOST) -> list[One]:
    """The items of a batch. Raises InvalidInput if `given` is a string or not iterable, or has more than `most`
    items."""
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise InvalidInput(f"{short(repr(given))} is not a list of {what}; wrap a single one in a list")
    things = list(given if most is None else islice(given, most + 1))
    if most is not None and len(things) > most:
        raise InvalidInput(f"more than {most:,} {what} in one call; split them into calls of at most {most:,}")
    return things


def each_of(
    things: Iterable[One], work: Callable[[One], Other], failed: Callable[[int, Invalid], Failed]
) -> list[Other | Failed]:
    """The result of `work` for each item of a batch. In place of one that raises Invalid is the result of `failed` for
    its index and its error, unless `failed` raises."""
    done: list[Other | Failed] = []
    for thing in things:
        try:
            done.append(work(thing))
        except Invalid as error:
            done.append(failed(len(done), error))
    return done


def as_is(_: int, error: Invalid) -> Invalid:
    """The error itself, without an index."""
    return error


def raised(what: str, index: int, error: Invalid) -> NoReturn:
    """Raises the error with its index (see `one_of`)."""
    raise one_of(what, index, error) from None


def kept(what: str, index: int, error: Invalid) -> GrantpathError:
    """The error with its index."""
    if error.code == "root_dropped":  # about the whole batch
        raise error
    return one_of(what, index, error)


def one_of(what: str, index: int, error: GrantpathError) -> GrantpathError:
    """A copy of the error that names the index of the batch item that it is about."""
    named = error.prefixed(f"{what} {index}: ")
    named.index = index
    return named
