"""The history of a root: the accepted changes, and apart from them the refused attempts."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from grantpath.engine.tenants.one_revision import GuardedAsk
from grantpath.graph.errors import InvalidInput
from grantpath.graph.inputs import need_number, need_text

MOST = 10_000  # entries of one answer


@dataclass(frozen=True)
class Logged:
    """An accepted change, or a refused attempt: then `reason` says why, and `revision` is what it was made at.

    `at` is a time in UTC, `actor` None for a fact; `object` and `subject` are the references that the statement names.
    `hash` is that of a change's entry in the chain of the log, None where it is older than the chain.
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


@dataclass(frozen=True)
class Filter:
    """Which entries are asked for; None: all. `id` is a change's or a batch's. `since` is the first moment, `until` the
    first one behind; `after` and `before` leave the revisions that they name out."""

    id: str | None = None
    actor: str | None = None
    object: str | None = None
    subject: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    after: int | None = None
    before: int | None = None

    def parameters(self, limit: int, first: int) -> dict[str, Any]:
        """The parameters of log.cypher and refusals.cypher, but root. Revisions start at `first`."""
        need_number("limit", limit)
        if limit < 0:
            raise InvalidInput(f"limit={limit}: a limit is 0 or more")
        if limit > MOST:
            raise InvalidInput(f"limit={limit}: at most {MOST:,} entries in one call; ask for the others with `before`")
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
    """The last accepted changes that fit, oldest first; `ask` asks a guarded query."""
    row = ask("log", **wanted.parameters(limit, 1))
    return [Logged(**{**each, "at": moment(each["at"])}) for each in row["changes"]]


def refusals(ask: GuardedAsk, wanted: Filter, limit: int) -> list[Logged]:
    """The last refused attempts that fit, oldest first."""
    row = ask("refusals", **wanted.parameters(limit, 0))
    return [Logged(**{**each, "at": moment(each["at"])}) for each in row["refusals"]]


def moment(text: str) -> datetime:
    """A time or a day; one without an offset is in UTC. Raises InvalidInput."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"{text!r} is not a time; write 2026-01-31, 2026-01-31T12:00 or 2026-01-31T12:00:00Z"
        ) from None
    return in_utc(at)


def in_utc(at: datetime) -> datetime:
    """The same moment in UTC; one without an offset is in it already. Raises InvalidInput."""
    if not isinstance(at, datetime):
        raise InvalidInput(f"{at!r} is not a time; pass a datetime, e.g. datetime(2026, 1, 31)")
    try:
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"{at} is out of range: name a year from 2 to 9998") from None
