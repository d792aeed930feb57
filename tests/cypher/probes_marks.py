"""Queries must return the marks of a tenant unchanged: readers use them to detect half of a change."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from grantpath import cypher
from grantpath.engine import Authorizer

from .probe import Probe, always
from .test_query_files import example

SET = """MATCH (mark:Revision {root: $root})
SET mark.revision = $revision, mark.begun = $begun, mark.digest = $digest, mark.made = $made, mark.ends = $ends"""
GET = """MATCH (mark:Revision {root: $root})
RETURN mark.revision AS revision, mark.begun AS begun, mark.digest AS digest, mark.made AS made, mark.ends AS ends"""
BEGUN = {"revision": 3, "begun": 4, "digest": "the digest", "made": "the making", "ends": 1}
WANTED = {
    "revision": 3,
    "begun": 4,
    "revision_after": 3,
    "begun_after": 4,
    "due": True,
    "policy": "the digest",
    "made": "the making",
}


def probes(graph: Authorizer, names: Iterable[str]) -> Iterator[Probe]:
    """Each of these queries that returns marks, with the parameters of its example, next to other tenants."""
    for name in names:
        if "begun_after" in cypher.load(name).text:
            columns = WANTED.keys() & set(answers(graph, name)[0])
            wanted = [{column: WANTED[column] for column in columns}]
            yield Probe(f"marks of {name}", name, partial(_marks, graph, name, columns), always(wanted))


def _marks(graph: Authorizer, name: str, columns: set[str]) -> list[dict[str, Any]]:
    with marked_as(graph, BEGUN):
        # asked at the second of the first end, at which the fact has ended
        return [{column: row[column] for column in columns} for row in answers(graph, name, now=BEGUN["ends"])]


@contextmanager
def marked_as(graph: Authorizer, marks: Mapping[str, object]) -> Iterator[None]:
    """While the block runs, the tenant has these marks."""
    before = graph.store.execute(GET, {"root": graph.tenant})[0]
    graph.store.execute(SET, {"root": graph.tenant, "ends": None, **marks})
    try:
        yield
    finally:
        graph.store.execute(SET, {"root": graph.tenant, **before})


def answers(graph: Authorizer, name: str, **asked: object) -> list[dict[str, Any]]:
    """The rows of a query with the parameters of its example, except for the tenant and those in `asked`."""
    [given] = graph.store.read("RETURN " + example(name) + " AS map", {})
    rows = graph.store.read(cypher.load(name).text, {**given["map"], "root": graph.tenant, **asked})
    return [dict(row) for row in rows]
