"""Where the answers to checks and lists come from: the database, or facts in memory.

The sources of a question are asked in turn. A source that cannot answer now returns None; the database always answers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from grantpath.engine.answers import request
from grantpath.engine.answers.list_query import list_query
from grantpath.engine.answers.request import ResolvedQuestion
from grantpath.engine.policy.policy import Policy
from grantpath.graph.guard.transaction import Row
from grantpath.graph.language.reference import Reference

Checked = tuple[Iterable[Mapping[str, Any]], Mapping[str, Any]]
"""The answers to a batch of checks, in order, as check.cypher gives them, and a row with their revision."""
AskPage = Callable[..., Row]
"""Returns a page of a list: at most `limit` references after `after`, as who.cypher gives them."""
Found = TypeVar("Found")


class Source(Protocol):
    """Facts of one root at a revision that is at least `at_least`, with a policy."""

    def answers(self, questions: Sequence[ResolvedQuestion], at_least: int | None) -> Checked | None:
        """The answers to checks; None if another source must answer."""

    def listing(self, question: ResolvedQuestion, at_least: int | None) -> AskPage | None:
        """The answer to `who` or `which`; None if another source must answer."""


@dataclass(frozen=True)
class GraphSource:
    """The database. `ask` sends a guarded query, and returns its row."""

    ask: Callable[..., Mapping[str, Any]]
    policy: Policy
    root: Reference

    def answers(self, questions: Sequence[ResolvedQuestion], at_least: int | None) -> Checked:
        """The answers of check.cypher."""
        return request.answers(self.ask, questions, at_least)

    def listing(self, question: ResolvedQuestion, at_least: int | None) -> AskPage:
        """The pages of who.cypher, which.cypher or which_below.cypher."""
        query, parameters = list_query(self.policy, self.root, question)
        return partial(self.ask, query, at_least=at_least, **parameters)


def first(sources: Iterable[Source], ask: Callable[[Source], Found | None]) -> Found:
    """The answer of the first source that has one."""
    return next(found for source in sources if (found := ask(source)) is not None)
