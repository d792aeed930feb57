"""Runs the queries of cypher/browser/ as in Neo4j Browser: by names, in one statement, without sending a policy."""

from collections.abc import Mapping
from typing import Any

from grantpath import cypher
from grantpath.engine import Authorizer


def object_words(graph: Authorizer, on: str, seconds: Mapping[str, str] | None = None) -> str:
    """The third parameter: the object, its second objects, and the root, since all tests share a database."""
    listed = ", ".join(f"{key}={ref}" for key, ref in (seconds or {}).items())
    return on + (f" with {listed}" if listed else "") + f" in {graph.tenant}"


def by_name(
    graph: Authorizer,
    query: str,
    subject: str,
    operation: str,
    on: str,
    seconds: Mapping[str, str] | None = None,
    role: str | None = None,
) -> Mapping[str, Any]:
    """The one row of check_by_name, explain_by_name or remedy_by_name."""
    words = {
        "subject": subject + (f" as {role}" if role else ""),
        "operation": operation,
        "object": object_words(graph, on, seconds),
    }
    [row] = cypher.load(query).run(graph.store.read, **words)
    return row
