"""Loads the queries of `cypher` for the packages above, so that these need not know where the files are."""

from functools import cache

from grantpath.cypher import Query, load, statements


@cache  # a question is on its way through few files
def load_query(name: str) -> Query:
    """The query in `<name>.cypher`. Raises ValueError if its header and its text name different parameters."""
    return load(name)


def schema_statements() -> list[str]:
    """The statements that create the indexes and constraints."""
    return statements("schema")
