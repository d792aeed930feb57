"""Reads the history of a root: the accepted changes and, separately, the refused attempts."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import field_serializer

from grantpath.engine.tenants.one_revision import GuardedAsk
from grantpath.graph.errors import InvalidInput
from grantpath.graph.frozen import Frozen
from grantpath.graph.inputs import need_number, need_text

MOST = 10_000  # entries of one answer


class Logged(Frozen):
    """An entry of the log: an accepted change, or a refused attempt, which has a `reason` and the `revision` at which
    it was refused.

    `at` is a time in UTC; `actor` is None for a fact; `object` and `subject` are the references in the statement.
    `hash` is the hash of the entry in the log's chain, None if the entry is older than the chain.
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
    def _with_offset(self, at: datetime) -> str:
        return at.isoformat()


@dataclass(frozen=True)
class Filter:
    """The entries to read; None means no limit. `id` is the id of a change or a batch. `since` is inclusive, `until` is
    exclusive. The revisions `after` and `before` are both exclusive."""

    id: str | None = None
    actor: str | None = None
    object: str | None = None
    subject: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    after: int | None = None
    before: int | None = None

    def parameters(self, limit: int, first: int) -> dict[str, Any]:
        """The parameters of log.cypher and refusals.cypher, without the root. Revisions start at `first`."""
        need_number("limit", limit)
        if limit < 0:
            raise InvalidInput(f"limit={limit} is negative; write 0 or more")
        if limit > MOST:
            raise InvalidInput(f"limit={limit}: one call returns at most {MOST:,} entries; get the rest with `before`")
        if self.id is not None:
            need_text("id", self.id)
        for name, number in (("after", self.after), ("before", self.before)):
            if number is not None:
                need_number(name, number)
        return {
            "limit": limit,
            "after": first - 1 if self.after is None else self.after,
            "before": self.before,
            "id": self.id,
            "actor": self.actor,
            "object": self.object,
            "subject": self.subject,
            "since": None if self.since is None else in_utc(self.since),
            "until": None if self.until is None else in_utc(self.until),
        }


def changes(ask: GuardedAsk, wanted: Filter, limit: int) -> list[Logged]:
    """The newest accepted changes that match, oldest first; `ask` runs a guarded query."""
    row = ask("log", **wanted.parameters(limit, 1))
    return [Logged(**{**each, "at": moment(each["at"])}) for each in row["changes"]]


def refusals(ask: GuardedAsk, wanted: Filter, limit: int) -> list[Logged]:
    """The newest refused attempts that match, oldest first."""
    row = ask("refusals", **wanted.parameters(limit, 0))
    return [Logged(**{**each, "at": moment(each["at"])}) for each in row["refusals"]]


def moment(text: str) -> datetime:
    """Parses a time or a day; without an offset it is in UTC. Raises InvalidInput."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"{text!r} is not a time; write 2026-01-31, 2026-01-31T12:00 or 2026-01-31T12:00:00Z"
        ) from None
    return in_utc(at)


def in_utc(at: datetime) -> datetime:
    """The same moment in UTC; a time without an offset is in UTC already. Raises InvalidInput."""
    if not isinstance(at, datetime):
        raise InvalidInput(f"{at!r} is not a time; pass a datetime, e.g. datetime(2026, 1, 31)")
    try:
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"{at} is out of range; write a year from 2 to 9998") from None
