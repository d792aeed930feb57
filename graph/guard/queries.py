"""Loads the queries of `cypher` for the packages above, so that these need not know where the files are."""

from functools import cache
from typing import Any

from grantpath.cypher import Query, load, statements
from grantpath.graph.guard.transaction import AskByName, Row, Send


@cache  # so that a check that was asked before does not go through the files of cypher/ again
def load_query(name: str) -> Query:
    """The query in `<name>.cypher`. Raises ValueError if its header and its text name different parameters."""
    return load(name)


def query_by_name(ask: Send, root: str) -> AskByName:
    """A function that runs a query of cypher/ about `root`, by the query's name."""

    def named(query: str, **parameters: Any) -> list[Row]:
        return load_query(query).run(ask, root=root, **parameters)

    return named


def schema_statements() -> list[str]:
    """The statements that create the indexes and constraints."""
    return statements("schema")
