"""The lists of `who` and `which` on an event loop."""

from collections.abc import AsyncIterator, Callable, Generator, Iterator
from functools import partial
from itertools import islice
from typing import Any, Protocol, TypeVar

from grantpath.engine.answers.listing import Listing, ReferencePage
from grantpath.graph.errors import InvalidInput

AT_ONCE = 1_000  # references that are read before other tasks get a turn
Result = TypeVar("Result")


class RunQuestion(Protocol):
    """Runs a question in a thread."""

    async def __call__(self, question: Callable[[], Result]) -> Result: ...


class AsyncListing:
    """The references in the answer to a question, like Listing. `async for` reads them page by page.

    Awaiting the list reads its first page at once: this raises the errors of the question, and sets the revision. The
    list can be iterated more than once.
    """

    def __init__(self, ask: RunQuestion, question: Callable[[], Listing]) -> None:
        """`ask` runs a function in a thread."""
        self._ask = ask
        self._question = question
        self._found: Listing | None = None

    def __getstate__(self) -> Any:
        raise TypeError(
            "an AsyncListing reads from its event loop; pickle or copy the result of `await listing.read()`"
        )

    def __repr__(self) -> str:
        return repr(self._found) if self._found else "<AsyncListing that was not read yet>"

    @property
    def revision(self) -> int:
        """The revision of all references. Raises InvalidInput if no page was read yet."""
        if self._found is None:
            raise InvalidInput("the list has no revision before its first page is read; await the list first")
        return self._found.revision

    def __await__(self) -> Generator[Any, None, "AsyncListing"]:
        return self._read().__await__()

    async def __aiter__(self) -> AsyncIterator[str]:
        await self._read()
        assert self._found is not None
        references = iter(self._found)
        while part := await self._ask(partial(_next_part, references)):
            for ref in part:
                yield ref

    async def read(self) -> ReferencePage:
        """All references as a pydantic model, like Listing.read."""
        listing = (await self._read())._found
        assert listing is not None
        references, found = listing.with_next(), list[str]()
        while part := await self._ask(partial(_next_part, references)):
            found += part
        return listing.page_of(found)

    async def _read(self) -> "AsyncListing":
        if self._found is None:
            self._found = await self._ask(self._question)
        return self


def _next_part(references: Iterator[str]) -> tuple[str, ...]:
    return tuple(islice(references, AT_ONCE))
