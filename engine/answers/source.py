"""Where the answers to checks and lists come from: the database, or facts in memory.

The sources of a question are asked in turn. A source that cannot answer now returns None; the database always answers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple, Protocol, TypeVar

from grantpath.engine.answers import request
from grantpath.engine.answers.batches import MOST, as_is, each_of
from grantpath.engine.answers.check_columns import CheckColumns, Verdict, verdict
from grantpath.engine.answers.decision import Decision
from grantpath.engine.answers.list_query import list_query
from grantpath.engine.answers.request import ResolvedQuestion, of_length
from grantpath.engine.policy.policy import Policy
from grantpath.graph.errors import Invalid
from grantpath.graph.guard.transaction import Row
from grantpath.graph.language.reference import Reference
from grantpath.graph.language.statement import Check

FEW = 10  # at most this many checks are answered while their proof is on its way; for more, this would save little
Checked = tuple[Iterable[Mapping[str, Any]], Mapping[str, Any]]
"""The answers to a batch of checks, in order, as check.cypher gives them, and a row with their revision."""
Verdicts = tuple[Sequence[Verdict], Mapping[str, Any]]
"""A verdict for each check, in order, and a row with their revision."""
AskPage = Callable[..., Row]
"""Returns a page of a list: at most `limit` references after `after`, as who.cypher gives them."""
Found = TypeVar("Found")


class Deciding(NamedTuple):
    """What decides the checks of one batch, all at one revision.

    `alike` is the decision on a check that shares what it needs with other checks; None for one that must be resolved.
    It raises Invalid as `request.resolve`. `answers` are the answers to those that were resolved.
    """

    alike: Callable[[Check], Decision | None]
    answers: Callable[[Sequence[ResolvedQuestion]], Checked]


def unlike(_: Check) -> None:
    """Each check must be resolved."""


class Source(Protocol):
    """Facts of one root at a revision that is not before the one that the caller requires, with a policy."""

    def answers(self, questions: Sequence[ResolvedQuestion]) -> Checked | None:
        """The answers to checks; None if another source must answer."""

    def deciding(self) -> Deciding | None:
        """What decides more than a FEW checks; None if another source must, or each of them needs an answer."""

    def verdicts(self, columns: CheckColumns) -> Verdicts | None:
        """The verdicts on any number of checks; None if another source must answer."""

    def listing(self, questions: Sequence[ResolvedQuestion]) -> AskPage | None:
        """The answer to `who` or `which`; None if another source must answer. Of several `which` questions about
        different types, all answers together, in byte order."""


@dataclass(frozen=True)
class GraphSource:
    """The database, at the revision `at_least` or later. `ask` sends a guarded query, and returns its row.
    `at_one_revision` calls a function with an `ask` whose rows are all of one revision, and returns its result."""

    ask: Callable[..., Mapping[str, Any]]
    policy: Policy
    root: Reference
    at_one_revision: Callable[[Callable[[Callable[..., Row]], Row]], Row]
    at_least: int | None

    def answers(self, questions: Sequence[ResolvedQuestion]) -> Checked:
        """The answers of check.cypher."""
        return request.answers(self.ask, questions, self.at_least)

    def deciding(self) -> None:
        """Each check is resolved, and `answers` answers it."""

    def verdicts(self, columns: CheckColumns) -> Verdicts:
        """The verdicts of check.cypher, in batches that are all of one revision."""
        resolve = partial(request.resolve, self.policy, self.root)
        asked = each_of(columns.rows, lambda row: resolve(columns.check(row)), as_is)
        questions = [each for each in asked if not isinstance(each, Invalid)]

        def read(ask: Callable[..., Row]) -> Row:
            found: list[Verdict] = []
            row: Row = {}
            for start in range(0, max(1, len(questions)), MOST):
                batch = questions[start : start + MOST]
                answers, row = request.answers(ask, batch, self.at_least)
                found += map(verdict, batch, answers, repeat(self.policy.hidden))
            return {**row, "verdicts": found}

        row = self.at_one_revision(read)
        found = iter(row["verdicts"])
        return [each if isinstance(each, Invalid) else next(found) for each in asked], row

    def listing(self, questions: Sequence[ResolvedQuestion]) -> AskPage:
        """The pages of who.cypher, which.cypher or which_below.cypher."""
        [question, *others] = questions
        if others or (question.object is None and question.requirement.of_length is not None):
            return partial(self._merged, questions)
        query, parameters = list_query(self.policy, self.root, question)
        return partial(self.ask, query, at_least=self.at_least, **parameters)

    def _merged(self, questions: Sequence[ResolvedQuestion], after: str, limit: int) -> Row:
        """A page of the answers to several `which` queries, all of one revision."""

        def read(ask: Callable[..., Row]) -> Row:
            pages = [
                ask(query, at_least=self.at_least, after=after, limit=limit, **parameters)
                for question in questions
                for query, parameters in self._queries(question, ask)
            ]
            known = [ref for page in pages for ref in page["known"]]
            answer = sorted(ref for page in pages for ref in page["answer"])[:limit]
            return {**pages[0], "known": known, "answer": answer}

        return self.at_one_revision(read)

    def _queries(self, question: ResolvedQuestion, ask: Callable[..., Row]) -> list[tuple[str, dict[str, Any]]]:
        """The queries that answer a `which` question, with their parameters: several if the objects of its type have
        different numbers of segments, because the condition depends on it."""
        if question.requirement.of_length is None:
            return [list_query(self.policy, self.root, question)]
        lengths = ask("lengths", type=question.requirement.type, at_least=self.at_least)["lengths"]
        found = [list_query(self.policy, self.root, of_length(question, length), length) for length in lengths]
        return found or [list_query(self.policy, self.root, question)]


def first(sources: Iterable[Source], ask: Callable[[Source], Found | None]) -> Found:
    """The answer of the first source that has one."""
    return next(found for source in sources if (found := ask(source)) is not None)
