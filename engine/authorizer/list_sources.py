"""Chooses the source of a list: a past state, the copy of the facts, or the database."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from grantpath.engine.answers import request
from grantpath.engine.answers.list_query import list_query
from grantpath.engine.answers.listing import Listing, Page
from grantpath.engine.authorizer.past_verbs import PastVerbs
from grantpath.graph.client import telemetry
from grantpath.graph.language.statement import Which, Who

if TYPE_CHECKING:
    from grantpath.engine.past.past_root import AsOf


class ListSources(PastVerbs):
    """Reads the lists that answer `who` and `which`. Threads can share it."""

    def _listing(self, span: telemetry.Span, words: Who | Which, page: Page, as_of: "AsOf | None") -> Listing:
        """The list. Its first page is read now, so that the call itself raises the errors."""
        past = None if as_of is None else self._past(as_of, page.least)
        policy = (past or self).policy
        question = request.resolve(policy, self.root, words)
        words = request.canonical(words, question)
        page = page.parsed(policy, self.root, policy.user_types if isinstance(words, Who) else [words.type])
        ask: Callable[..., Mapping[str, Any]] | None = None
        if past is not None:
            ask = past.listing(question)
        elif self.replica is not None:
            ask = self.replica.listing(policy, self.root, question, page.at_least)
        if ask is None:
            query, parameters = list_query(policy, self.root, question)
            ask = partial(self.ask, query, at_least=page.at_least, **parameters)
        chosen = partial(request.only_within, policy, self.root, question) if question.within else None
        listing = Listing(self.tenant, words, ask, policy, page, chosen)
        span.set(revision=listing.revision)
        (past or self).need_existing(question.needed, listing.first["known"])
        return listing
