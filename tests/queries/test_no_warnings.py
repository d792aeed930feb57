"""Every query of cypher/ is planned without a warning on a database that has only one new root.

The server warns of each label, relationship type and property that it has never stored; `schema.cypher` makes all of
them known. A warning contains the whole query, in Neo4j Browser too, and looks like an error.
"""

import logging
from pathlib import Path

import neo4j
import pytest

from grantpath import cypher

from ..support.own_server import own_server
from .test_query_files import NAMES


@pytest.mark.slow
@pytest.mark.crash
def test_no_query_warns_on_a_fresh_database(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "neo4j")  # each warning would be logged with its whole query
    warned: dict[str, list[str]] = {}
    with own_server(tmp_path) as mine:
        mine.tenant("metalake:ml", "gravitino", 60.0).close()
        login = mine.connection
        with (
            neo4j.GraphDatabase.driver(login.uri, auth=(login.user, login.password)) as driver,
            driver.session(database="neo4j") as session,
        ):
            for name in NAMES:
                query = neo4j.Query("EXPLAIN " + cypher.load(name).text)
                told = session.run(query).consume().gql_status_objects
                found = [each.status_description for each in told if each.raw_classification == "UNRECOGNIZED"]
                if found:
                    warned[name] = found
    assert warned == {}
