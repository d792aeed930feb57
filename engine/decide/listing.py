"""What `who` and `which` answer: references in byte order, all of one revision, read page by page."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from grantpath.graph.errors import Inconsistent, InvalidInput
from grantpath.graph.inputs import need_number, need_text
from grantpath.graph.transaction import Row

PAGE = 50_000


@dataclass(frozen=True)
class Page:
    """What part of a list is wanted: at most `limit` references behind `after`, of the revision `at`, or of one from
    `at_least` on. Raises InvalidInput for what is not a page."""

    limit: int | None
    after: str
    at: int | None
    least: int | None

    def __post_init__(self) -> None:
        if self.limit is not None:
            need_number("limit", self.limit)
            if self.limit < 0:
                raise InvalidInput(f"limit={self.limit}: a limit is 0 or more, or None for all")
        need_text("after", self.after)
        if self.at is not None:
            need_number("at", self.at)

    @property
    def at_least(self) -> int | None:
        """The lowest revision that may answer."""
        return max((each for each in (self.at, self.least) if each is not None), default=None)


class Listing:
    """The references that a question lists, in byte order, each once; iterate it as often as you like.

    All of them are of `revision`. The first page is read with the call, the others while it is iterated: that raises
    Inconsistent where the root has changed meanwhile, and Unavailable.
    """

    def __init__(self, tenant: str, ask: Callable[..., Row], hidden: Collection[str], page: Page) -> None:
        """`ask` gives the references after one, at most `limit`; `hidden` are not shown. Raises Inconsistent where the
        root is at another revision than the page must be of."""
        self._tenant = tenant
        self._ask = ask
        self._hidden = hidden
        self._limit = page.limit
        self._first = ask(after=page.after, limit=self._size(page.limit))
        self.revision = int(self._first["revision"])
        if page.at is not None and self.revision != page.at:
            raise Inconsistent(
                f"{tenant} is at revision {self.revision} now, not at revision {page.at} as the page must be; "
                "read the list again from its first page"
            )

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
            page = self._ask(after=page["answer"][-1], limit=size)
            if (page["revision"], page["made"]) != (self._first["revision"], self._first["made"]):
                raise Inconsistent(
                    f"{self._tenant} changed while the list was read: it was at revision {self.revision} and is at "
                    f"revision {page['revision']}; ask again"
                )

    def _size(self, limit: int | None) -> int:
        """How many to ask for to show `limit`: those that are hidden are listed, too."""
        return PAGE if limit is None else min(limit + len(self._hidden), PAGE)
