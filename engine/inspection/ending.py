"""`ending`: the grants and memberships that end soon."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from grantpath.engine.answers.tabular import Tabular, TypedColumn
from grantpath.engine.inspection.root_view import MOST, RootView
from grantpath.graph.errors import InvalidInput
from grantpath.graph.frozen import Frozen
from grantpath.graph.language.ends import end_of
from grantpath.graph.language.inputs import require_page_limit
from grantpath.graph.language.stored_fact import fact_in, fact_text
from grantpath.graph.messages import short

LAST = "9999-12-31T23:59:59Z"


class ListEnding(Frozen):
    """Which grants and memberships end within `within` (None: at any time)?"""

    within: timedelta | None = None


class Ending(Frozen):
    """A grant or a membership that ends at `until` (UTC), with its statement."""

    until: datetime
    statement: str
    subject: str
    object: str


class EndingPage(Tabular[Ending]):
    """The facts that end, the earliest first. `complete` is false if there are more than the limit."""

    question: ListEnding
    answer: tuple[Ending, ...]

    def columns(self) -> Mapping[str, TypedColumn]:
        return {
            "until": TypedColumn("time", [each.until for each in self.answer]),
            "statement": TypedColumn("text", [each.statement for each in self.answer]),
            "subject": TypedColumn("text", [each.subject for each in self.answer]),
            "object": TypedColumn("text", [each.object for each in self.answer]),
        }


def ending(view: RootView, within: timedelta | None, limit: int, at_least: int | None) -> EndingPage:
    """The facts that end within a time from now, by this computer's clock. Raises InvalidInput for a time or a limit
    that is not valid; Inconsistent, Unavailable."""
    require_page_limit(limit, MOST, "name a shorter time with `within`")
    row = view.ask("ending_facts", at_least=at_least, by=_by(within), hidden=view.policy.hidden, limit=limit + 1)
    answer = tuple(map(_ending, row["answer"][:limit]))
    complete = len(row["answer"]) <= limit
    return EndingPage(question=ListEnding(within=within), answer=answer, complete=complete, revision=row["revision"])


def _ending(row: Mapping[str, Any]) -> Ending:
    fact = fact_in(row)
    _, _, subject, object_, until = fact
    return Ending(until=datetime.fromisoformat(until), statement=fact_text(fact), subject=subject, object=object_)


def _by(within: timedelta | None) -> str:
    """The last end that is within the time."""
    if within is None:
        return LAST
    if not isinstance(within, timedelta) or within < timedelta():
        raise InvalidInput(
            f"within={short(repr(within))} must be a timedelta that is not negative, or None for all ends"
        )
    try:
        return end_of(int((datetime.now(UTC) + within).timestamp()))
    except OverflowError:
        return LAST
