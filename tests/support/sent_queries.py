"""The queries that the driver is given to send."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import neo4j
import pytest


@contextmanager
def sent_queries(word: str = "") -> Iterator[list[str]]:
    """The queries that contain the word and are sent meanwhile."""
    sent: list[str] = []

    def noting(run: Any) -> Any:
        def noted(self: Any, query: Any, *rest: Any, **named: Any) -> Any:
            text = getattr(query, "text", query)
            if word in text:
                sent.append(text)
            return run(self, query, *rest, **named)

        return noted

    with pytest.MonkeyPatch.context() as patch:
        for runner in (neo4j.Session, neo4j.Transaction):
            patch.setattr(runner, "run", noting(runner.run))
        yield sent
