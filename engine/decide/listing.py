"""What `who` and `which` answer: references in byte order, all of one revision, read page by page."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from grantpath.graph.errors import Inconsistent, InvalidInput
from grantpath.graph.inputs import need_number, need_text

PAGE = 50_000
Row = Mapping[str, Any]


class Listing:
    """The references that a question lists, in byte order, each once; iterate it as often as you like.

    All of them are of `revision`. The first page is read with the call, the others while it is iterated: that raises
    Inconsistent where the root has changed meanwhile, and Unavailable.
    """

    def __init__(
        self, tenant: str, ask: Callable[[str, int], Row], hidden: Collection[str], limit: int | None, after: str
    ) -> None:
        """`ask` gives the page after a reference, of at most so many; `hidden` are not shown."""
        self._tenant = tenant
        self._ask = ask
        self._hidden = hidden
        self._limit = limit
        self._first = ask(after, self._size(limit))
        self.revision = int(self._first["revision"])

    @property
    def first(self) -> Row:
        """The row of the first page."""
        return self._first

    def __repr__(self) -> str:
        return f"<Listing of {self._tenant} at revision {self.revision}>"

    def __iter__(self) -> Iterator[str]:
        page, limit, size = self._first, self._limit, self._size(self._limit)
        while True:
            shown = [ref for ref in page["answer"] if ref not in self._hidden][:limit]
            yield from shown
            limit = None if limit is None else limit - len(shown)
            if len(page["answer"]) < size or limit == 0:
                return
            size = self._size(limit)
            page = self._ask(page["answer"][-1], size)
            if (page["revision"], page["made"]) != (self._first["revision"], self._first["made"]):
                raise Inconsistent(
                    f"{self._tenant} changed while the list was read: it was at revision {self.revision} and is at "
                    f"revision {page['revision']}; ask again"
                )

    def _size(self, limit: int | None) -> int:
        """How many to ask for to show `limit`: those that are hidden are listed, too."""
        return PAGE if limit is None else min(limit + len(self._hidden), PAGE)


def check_page(limit: int | None, after: str, at: int | None) -> None:
    """Raises InvalidInput for what is not a page: a limit, the reference before it, its revision."""
    if limit is not None:
        need_number("limit", limit)
        if limit < 0:
            raise InvalidInput(f"limit={limit}: a limit is 0 or more, or None for all")
    need_text("after", after)
    if at is not None:
        need_number("at", at)
