"""Reads the history of a root: the accepted changes and, separately, the refused attempts."""

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import product
from typing import TYPE_CHECKING, Any

from pydantic import field_serializer

from grantpath.engine.answers.notebook import verdict_html
from grantpath.engine.answers.tabular import Tabular, TypedColumn
from grantpath.engine.change.former_names import FormerNames
from grantpath.engine.policy.policy import Policy
from grantpath.engine.tenants.one_revision import GuardedAsk
from grantpath.engine.tenants.root_name import as_named_now
from grantpath.graph.errors import InvalidInput
from grantpath.graph.frozen import Frozen
from grantpath.graph.language.inputs import require_number, require_page_limit, require_text
from grantpath.graph.language.reference import Reference
from grantpath.graph.messages import short, time_text, to_second

if TYPE_CHECKING:
    import pyarrow as pa

MOST = 10_000  # entries of one answer


class Logged(Frozen):
    """An entry of the log: an accepted change, or a refused attempt, which has a `reason` and the `revision` at which
    it was refused.

    `at` is a time in UTC; `actor` is None for a fact; `object` and `subject` are the references in the statement.
    `hash` is the hash of the entry in the log's chain, None if the entry is a refused attempt or is older than
    the chain.
    """

    revision: int
    id: str
    at: datetime
    actor: str | None
    as_role: str | None
    statement: str
    object: str | None
    subject: str | None
    reason: str | None = None
    hash: str | None = None

    @field_serializer("at", when_used="json")
    def _as_text(self, at: datetime) -> str:
        return time_text(at)

    def _repr_html_(self) -> str:
        by = [self.actor or "a fact"] + ([self.as_role] if self.as_role else [])
        lists = [("by", by), ("at (UTC)", [to_second(self.at)]), ("reason", [self.reason] if self.reason else [])]
        return verdict_html("refused" if self.reason else "done", self.statement, lists, self.revision)


class ReadLog(Frozen):
    """Which are the last `limit` entries that match? A filter that is None matches every entry.

    `id` is the id of a change or a batch. `since` is inclusive, `until` is exclusive; both are in UTC. The revisions
    `after` and `before` are exclusive. `refused`: refused attempts instead of accepted changes.
    """

    id: str | None = None
    actor: str | None = None
    object: str | None = None
    subject: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    after: int | None = None
    before: int | None = None
    refused: bool = False
    limit: int = 100

    @classmethod
    def of(cls, *, limit: int, **given: Any) -> "ReadLog":
        """The question of a caller. Raises InvalidInput, which names the remedy, if a value is not valid."""
        require_page_limit(limit, MOST, "get earlier entries with `before`")
        if given.get("id") is not None:
            require_text("id", given["id"])
            if not given["id"]:
                raise InvalidInput("id='' is not an id; pass the id of a change, or None for all changes")
        for name in ("after", "before"):
            if given.get(name) is not None:
                require_number(name, given[name])
        times = {name: in_utc(given[name]) for name in ("since", "until") if given.get(name) is not None}
        return cls(limit=limit, **{**given, **times})

    @property
    def by_name(self) -> dict[str, str | None]:
        """The filters that are references."""
        return {"actor": self.actor, "object": self.object, "subject": self.subject}

    def by_all_names(self, names: FormerNames) -> "list[ReadLog]":
        """The same question for each combination of names that its references had at the same time."""
        spans = {key: names.spans(ref) for key, ref in self.by_name.items() if ref is not None}
        questions = []
        for chosen in product(*spans.values()):
            first, last = max(span.first for span in chosen), min(span.last for span in chosen)
            # a refused attempt is about the state of its revision; the change that ends a name has the next revision
            last = min(last if self.refused else last + 1, names.revision)
            after = first - 1 if self.after is None else max(self.after, first - 1)
            before = last + 1 if self.before is None else min(self.before, last + 1)
            if after + 1 < before:
                named = dict(zip(spans, (span.ref for span in chosen), strict=True))
                questions.append(self.model_copy(update={**named, "after": after, "before": before}))
        return questions

    def parameters(self, root: Reference) -> dict[str, Any]:
        """The parameters of log.cypher or refusals.cypher, without the tenant.

        One entry more than the limit is read: it shows that more match.
        """
        first = 0 if self.refused else 1  # the lowest revision
        return {
            **{name: getattr(self, name) for name in ("actor", "object", "subject", "before", "id", "since", "until")},
            "former": f"{root.type}:" if self.object == root.text else None,
            "after": first - 1 if self.after is None else self.after,
            "limit": self.limit + 1,
        }


class LogPage(Tabular[Logged]):
    """The entries that were asked for, oldest first. `complete` is false if earlier ones match, too. `before` is then
    the revision of the first entry: pass it as `before` for the previous page. It is None, too, if earlier refused
    attempts have the revision of the first one: ask with a larger `limit`, or by `until`."""

    question: ReadLog
    answer: tuple[Logged, ...]
    before: int | None

    def columns(self) -> Mapping[str, TypedColumn]:
        texts = {
            name: TypedColumn("text", [getattr(each, name) for each in self.answer]) for name in Logged.model_fields
        }
        return {
            **texts,
            "revision": TypedColumn("number", [each.revision for each in self.answer]),
            "at": TypedColumn("time", [each.at for each in self.answer]),
        }


class Log(list[Logged]):
    """The entries of a LogPage as a list, oldest first. `read` returns the page itself, a pydantic model.

    Like every list, it has no hash; the page has one.
    """

    def __init__(self, page: LogPage) -> None:
        super().__init__(page.answer)
        self._page = page
        self.question = page.question
        self.revision = page.revision
        self.complete = page.complete

    def read(self) -> LogPage:
        """The page with its question."""
        return self._page

    def to_arrow(self) -> "pa.Table":
        """The entries as a table of pyarrow; see LogPage."""
        return self._page.to_arrow()

    def _repr_html_(self) -> str:
        return self._page._repr_html_()


def read(ask: GuardedAsk, wanted: ReadLog, policy: Policy, root: Reference) -> Log:
    """The newest entries that match, oldest first, with the present name `root` of the root object; `ask` runs a
    guarded query. An actor, object or subject is also found by the other names that it has had."""
    refs = [ref for ref in wanted.by_name.values() if ref is not None]
    names = FormerNames.read(ask, policy, root, refs) if refs else None
    pages = [
        ask("refusals" if wanted.refused else "log", **question.parameters(root))
        for question in (wanted.by_all_names(names) if names else [wanted])
    ]
    revision = names.revision if names else pages[0]["revision"]
    entries = [entry for page in pages for entry in page["refusals" if wanted.refused else "changes"]]
    rows = {(entry["revision"], entry["id"]): entry for entry in entries}  # a rename has both names
    found = sorted(rows.values(), key=lambda each: (each["revision"], moment(each["at"])))
    complete = len(found) <= wanted.limit
    answer = tuple(_logged(each, root) for each in found[-wanted.limit :])
    cut = (
        not complete and found[-wanted.limit - 1]["revision"] == answer[0].revision
    )  # refused attempts share revisions
    before = None if complete or cut else answer[0].revision
    return Log(LogPage(revision=revision, complete=complete, question=wanted, answer=answer, before=before))


def _logged(row: Mapping[str, Any], root: Reference) -> Logged:
    """An entry. The statement of a change names its object; that of a load is a text about the whole root, and the
    reason of a refusal stays the message that the actor got."""
    named = ("object", "statement") if row["object"] is not None else ()
    return Logged(**{**row, "at": moment(row["at"]), **{name: as_named_now(row[name], root) for name in named}})


def revision_or_time(what: str, text: str) -> int | datetime:
    """Parses a revision, or a time as `moment` does. `what` names it in the InvalidInput that it raises."""
    if text.isascii() and text.isdigit():
        return int(text.lstrip("0")[:18] or "0")  # no root reaches a revision with more digits
    try:
        return moment(text)
    except InvalidInput:
        raise InvalidInput(
            f"{what}={short(repr(text))} is neither a revision nor a time; write a revision, e.g. 41, or a time, e.g. "
            "2026-01-31T12:00:00Z (UTC if it has no offset)"
        ) from None


def moment(text: str) -> datetime:
    """Parses a time or a day; without an offset it is in UTC. Raises InvalidInput."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"{short(repr(text))} is not a time; write 2026-01-31, 2026-01-31T12:00 or 2026-01-31T12:00:00Z"
        ) from None
    return in_utc(at if at.tzinfo else at.replace(tzinfo=UTC))


def in_utc(at: datetime) -> datetime:
    """The same moment in UTC. Raises InvalidInput if the time has no zone: the zone of this computer is a guess."""
    if not isinstance(at, datetime):
        raise InvalidInput(f"{short(repr(at))} is not a time; pass a datetime, e.g. datetime(2026, 1, 31, tzinfo=UTC)")
    if at.utcoffset() is None:
        raise InvalidInput(
            f"{at!r} has no zone; pass a time with one, e.g. datetime.now(UTC) or datetime.now().astimezone()"
        )
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"{at} is out of range; write a year from 2 to 9998") from None
