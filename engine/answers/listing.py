"""The results of `who` and `which`: references in byte order, all of one revision, read page by page."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from grantpath.engine.answers.notebook import SHOWN, table_html
from grantpath.engine.answers.tabular import ReferenceTable, TypedColumn
from grantpath.engine.policy.policy import Policy
from grantpath.graph.errors import Inconsistent, Invalid, InvalidInput, PageExpired
from grantpath.graph.guard.transaction import Row
from grantpath.graph.language.inputs import require_limit, require_number, require_text
from grantpath.graph.language.reference import Reference, parse
from grantpath.graph.language.statement import Which, Who
from grantpath.graph.messages import indefinite, short

if TYPE_CHECKING:
    import pyarrow as pa

PAGE = 50_000
CURSOR = "pass the last entry of the previous page, or None for the first page"


@dataclass(frozen=True)
class Page:
    """The requested part of a list: at most `limit` references after `after` (None: from the first one on), at revision
    `at`, or at a revision that is at least `least`. Raises InvalidInput if the values are not valid."""

    limit: int | None
    after: str | None
    at: int | None
    least: int | None

    def __post_init__(self) -> None:
        require_limit("limit", self.limit)
        if self.after is not None:
            require_text("after", self.after)
            if not self.after:
                raise InvalidInput(f"after='' is not an entry of the list; {CURSOR}")
        if self.at is not None:
            require_number("at", self.at)

    def parsed(self, policy: Policy, root: Reference, types: Collection[str]) -> Self:
        """The page with the canonical text of `after`, a reference of one of these types, which the list can contain.
        The entity need not exist any more. Raises InvalidInput."""
        if self.after is None:
            return self
        try:
            ref = policy.reference(self.after, root)
        except Invalid as error:
            raise InvalidInput(f"after={short(self.after)}: {error}; {CURSOR}") from None
        if ref.type not in types:
            raise InvalidInput(f"after={short(ref.text)}: the list cannot contain {indefinite(ref.type)}; {CURSOR}")
        return replace(self, after=ref.text)

    @property
    def at_least(self) -> int | None:
        """The lowest revision at which the list can be read."""
        return max((each for each in (self.at, self.least) if each is not None), default=None)

    def check_revision(self, tenant: str, revision: int) -> None:
        """Raises PageExpired if the list must be of an earlier revision than this one."""
        if self.at is not None and revision != self.at:
            raise PageExpired(
                f"{tenant} is at revision {revision} now, and the page must be of revision {self.at}; "
                "read the list again from its first page"
            )


class ReferencePage(ReferenceTable[str]):
    """The references of one page of a list, in byte order. `after` is the last one if more follow: pass it as `after`
    for the next page, and `revision` as `at`. `ends_due` as in Decision."""

    question: Who | Which
    answer: tuple[str, ...]
    after: str | None
    ends_due: bool = False

    def references(self) -> Iterable[str]:
        return self.answer

    def columns(self) -> Mapping[str, TypedColumn]:
        return {"ref": TypedColumn("text", self.answer)}


class Listing:
    """The references that a question lists, in byte order, without duplicates. It can be iterated more than once.

    All of them are of `revision`. The first page is read by the call, the others during iteration, which raises
    Inconsistent if the root has changed in the meantime (PageExpired if the page has an `at`), and Unavailable.
    `read` returns them as a pydantic model.
    """

    def __init__(
        self,
        tenant: str,
        question: Who | Which,
        ask: Callable[..., Row],
        policy: Policy,
        page: Page,
        chosen: Callable[[Sequence[str]], list[str]] | None = None,
    ) -> None:
        """`ask` returns at most `limit` references after `after`. The references that the policy hides, and those that
        `chosen` does not return, are omitted. Raises PageExpired if the root has passed the revision of the page."""
        self.question = question
        self._tenant = tenant
        self._ask = ask
        self._hidden = policy.hidden
        self._one_segment = policy.names.one_segment
        self._chosen = chosen
        self._limit, self._after, self._at = page.limit, page.after, page.at
        self._first = ask(after=page.after or "", limit=self._size(None if page.limit is None else page.limit + 1))
        self.revision = int(self._first["revision"])
        page.check_revision(tenant, self.revision)

    @property
    def ends_due(self) -> bool:
        """Whether facts have ended, are still stored at this revision, and were left out, as in Decision."""
        return bool(self._first.get("left_out"))

    @property
    def first(self) -> Row:
        """The row of the first page."""
        return self._first

    def __repr__(self) -> str:
        return f"<Listing of {self._tenant} at revision {self.revision}>"

    def __eq__(self, other: object) -> bool:
        """Lists are equal if they answer the same question about the same revision, from and up to the same entry. Then
        they have the same references, which are not read for this."""
        return isinstance(other, Listing) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        state = self._first["made"], self.revision, self._first.get("left_out", ())
        return self._tenant, state, self.question, self._after, self._limit

    def __getstate__(self) -> dict[str, Any]:
        """The list as data: all its references, without the connection. Raises the errors of the iteration."""
        first = {**self._first, "answer": [*self.with_next()]}
        rest = partial(_nothing_after, {**first, "answer": []})
        return {**self.__dict__, "_first": first, "_ask": rest, "_chosen": None}

    def __iter__(self) -> Iterator[str]:
        return islice(self.with_next(), self._limit)

    def __bool__(self) -> bool:
        """Whether the list has any reference. Raises the errors of the iteration."""
        return next(iter(self), None) is not None

    def __contains__(self, ref: object) -> bool:
        """Whether the list has this reference, in any spelling. Raises InvalidReference, and the errors of the
        iteration."""
        return parse(ref, self._one_segment).text in iter(self)  # type: ignore[arg-type]

    def read(self) -> ReferencePage:
        """All references, with the question, and whether more follow. Raises the errors of the iteration."""
        return self.page_of([*self.with_next()])

    @property
    def complete(self) -> bool:
        """Whether no reference follows. True without a limit; otherwise this reads the list to find out."""
        return self._limit is None or self.read().complete

    def to_arrow(self) -> "pa.Table":
        """The references as a table of pyarrow with the column `ref`; see ReferencePage."""
        return self.read().to_arrow()

    def _repr_html_(self) -> str:
        """The first references: a notebook does not read a long list to its end."""
        shown = [*islice(self.with_next(), SHOWN + 1)]
        refs, total = shown[: min(SHOWN, len(shown) if self._limit is None else self._limit)], len(shown)
        return table_html({"ref": refs}, self.revision, total == len(refs))

    def page_of(self, refs: Sequence[str]) -> ReferencePage:
        """The page of the references that `with_next` yields."""
        complete = self._limit is None or len(refs) <= self._limit
        answer = tuple(refs if complete else refs[: self._limit])
        after = None if complete else answer[-1]
        return ReferencePage(
            revision=self.revision,
            complete=complete,
            question=self.question,
            answer=answer,
            after=after,
            ends_due=self.ends_due,
        ).knowing(self._one_segment)

    def with_next(self) -> Iterator[str]:
        """The references and, if there is a limit, the one after them: it shows that more follow."""
        limit = None if self._limit is None else self._limit + 1
        page, size = self._first, self._size(limit)
        while True:
            chosen = self._chosen(page["answer"]) if self._chosen else page["answer"]
            shown = [ref for ref in chosen if ref not in self._hidden][:limit]
            yield from shown
            limit = None if limit is None else limit - len(shown)
            if len(page["answer"]) < size or limit == 0:
                return
            size = self._size(limit)
            page = self._ask(after=page["answer"][-1], limit=size)
            if (page["revision"], page["made"]) != (self._first["revision"], self._first["made"]):
                moved = (
                    f"{self._tenant} changed while the list was read: it was at revision {self.revision} and is at "
                    f"revision {page['revision']}; "
                )
                raise (
                    Inconsistent(f"{moved}ask again")
                    if self._at is None
                    else PageExpired(f"{moved}read the list again from its first page")
                )

    def _size(self, limit: int | None) -> int:
        """The number of references to read so that `limit` remain: the query also returns those that are omitted."""
        return PAGE if limit is None or self._chosen else min(limit + len(self._hidden), PAGE)


def _nothing_after(row: Row, after: str, limit: int) -> Row:
    """The page after the last reference of a list that was read whole."""
    return row
