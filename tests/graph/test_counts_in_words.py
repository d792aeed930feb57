"""Counts in words have the singular for one thing."""

import pytest

from grantpath.graph.messages import counted, how_many


@pytest.mark.parametrize(
    ("number", "names", "text"),
    [
        (0, "tags", "0 tags"),
        (1, "tags", "1 tag"),
        (1, "entries", "1 entry"),
        (2, "entries", "2 entries"),
        (1, "indexes", "1 index"),
        (1, "bypasses", "1 bypass"),
        (1, "duplicate subjects", "1 duplicate subject"),
        (1, "access", "1 access"),
        (1, "history", "1 history"),
        (1_000, "rows", "1,000 rows"),
    ],
)
def test_one_thing_is_named_in_the_singular(number: int, names: str, text: str) -> None:
    assert counted(number, names) == text


def test_counts_are_listed_in_their_order() -> None:
    assert how_many({"users": 1, "tags": 0, "grants": 1_516}) == "1 user, 0 tags, 1,516 grants"
