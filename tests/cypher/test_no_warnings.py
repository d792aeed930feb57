"""Every query of cypher/ is planned without a warning on a database that has only one new root.

The server warns of each label, relationship type and property that it has never stored; `schema.cypher` makes all of
them known. A warning contains the whole query, in Neo4j Browser too, and looks like an error. It also warns of what a
later version removes, such as `id()`.
"""

import logging
from pathlib import Path

import neo4j
import pytest

from grantpath import cypher
from grantpath.graph.client.connection import Connection

from ..support.own_server import own_server
from .test_query_files import NAMES


def told(login: Connection, language: str) -> dict[str, dict[str, set[str]]]:
    """What the server warns of when it plans each query in a language (`CYPHER 5`), by kind and query."""
    found: dict[str, dict[str, set[str]]] = {}
    with (
        neo4j.GraphDatabase.driver(login.uri, auth=(login.user, login.password)) as driver,
        driver.session(database="neo4j") as session,
    ):
        for name in NAMES:
            query = neo4j.Query(f"{language} EXPLAIN {cypher.load(name).text}")
            for each in session.run(query).consume().gql_status_objects:
                if each.raw_classification in ("UNRECOGNIZED", "DEPRECATION"):
                    kind = found.setdefault(each.raw_classification, {})
                    kind.setdefault(name, set()).add(each.status_description)
    return found


@pytest.mark.slow
@pytest.mark.crash
def test_no_query_warns_on_a_fresh_database(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "neo4j")  # each warning would be logged with its whole query
    with own_server(tmp_path) as mine:
        mine.tenant("metalake:ml", "gravitino", 60.0).close()
        assert told(mine.connection, "CYPHER 5") == {}
