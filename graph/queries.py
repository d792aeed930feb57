"""The queries of `cypher`, for the rooms above: they load each query here, and none needs to know where its file is."""

from grantpath.cypher import Query, load, statements


def load_query(name: str) -> Query:
    """The query in `<name>.cypher`. Raises ValueError if its header and text name other parameters."""
    return load(name)


def schema_statements() -> list[str]:
    """The statements that create the indexes and constraints."""
    return statements("schema")
