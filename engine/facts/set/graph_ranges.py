"""Ranges of a root's references: a large root is read range by range."""

from itertools import pairwise

from grantpath.graph.guard.store import Store
from grantpath.graph.guard.transaction import query_by_name

LOWEST, HIGHEST = "", "~"  # all references are between these, because the name of a type begins with a letter
RANGE_ROWS = 40_000  # entities in a range


def ranges(store: Store, root: str) -> list[tuple[str, str]]:
    """Ranges of about RANGE_ROWS entities, which together cover all references. In a range, the first text is inclusive
    and the second one exclusive. Raises Unavailable."""
    ends = [LOWEST]
    while end := range_end(store, root, ends[-1], RANGE_ROWS):
        ends.append(end)
    return [*pairwise([*ends, HIGHEST])]


def range_end(store: Store, root: str, low: str, rows: int) -> str | None:
    """The reference after the first `rows` entities from `low` on; None if there are fewer. Raises Unavailable."""
    found = query_by_name(store.read, root)("mirror_bound", low=low, rows=rows)
    return str(found[0]["bound"]) if found else None
