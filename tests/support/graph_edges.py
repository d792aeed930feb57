"""The edges of a root, with which tests compare paths."""

from collections.abc import Iterator

from grantpath.engine import Authorizer


def edges_of(graph: Authorizer) -> Iterator[tuple[str, str, str]]:
    """Every edge of the tenant, in the notation of paths."""
    found = graph.store.execute(
        "MATCH (one:Entity {root: $root})-[edge]->(other:Entity) "
        "RETURN one.ref AS one, type(edge) + coalesce(' ' + edge.privilege, '') AS edge, other.ref AS other",
        {"root": graph.tenant},
    )
    for row in found:
        yield row["one"], row["edge"], row["other"]
