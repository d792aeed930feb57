"""The results of `who` and `which`: references in byte order, all of one revision, read page by page."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from grantpath.graph.errors import Inconsistent, InvalidInput
from grantpath.graph.inputs import need_number, need_text
from grantpath.graph.transaction import Row

PAGE = 50_000


@dataclass(frozen=True)
class Page:
    """The requested part of a list: at most `limit` references after `after`, at revision `at`, or at a revision that
    is at least `least`. Raises InvalidInput if the values are not valid."""

    limit: int | None
    after: str
    at: int | None
    least: int | None

    def __post_init__(self) -> None:
        if self.limit is not None:
            need_number("limit", self.limit)
            if self.limit < 0:
                raise InvalidInput(f"limit={self.limit}: the limit must be 0 or more, or None for all")
        need_text("after", self.after)
        if self.at is not None:
            need_number("at", self.at)

    @property
    def at_least(self) -> int | None:
        """The lowest revision at which the list can be read."""
        return max((each for each in (self.at, self.least) if each is not None), default=None)

    def check_revision(self, tenant: str, revision: int) -> None:
        """Raises Inconsistent if the list must be of another revision than this one."""
        if self.at is not None and revision != self.at:
            raise Inconsistent(
                f"{tenant} is at revision {revision} now, and the page must be of revision {self.at}; "
                "read the list again from its first page"
            )


class Listing:
    """The references that a question lists, in byte order, without duplicates. It can be iterated more than once.

    All of them are of `revision`. The first page is read by the call, the others during iteration, which raises
    Inconsistent if the root has changed in the meantime, and Unavailable.
    """

    def __init__(self, tenant: str, ask: Callable[..., Row], hidden: Collection[str], page: Page) -> None:
        """`ask` returns at most `limit` references after one; `hidden` are omitted. Raises Inconsistent if the root is
        not at the revision of the page."""
        self._tenant = tenant
        self._ask = ask
        self._hidden = hidden
        self._limit = page.limit
        self._first = ask(after=page.after, limit=self._size(page.limit))
        self.revision = int(self._first["revision"])
        page.check_revision(tenant, self.revision)

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
        """The number of references to read so that `limit` remain: the query also returns hidden ones."""
        return PAGE if limit is None else min(limit + len(self._hidden), PAGE)
