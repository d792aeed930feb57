"""Every query of cypher/ is planned without a warning on a database that has only one new root.

The server warns of each label, relationship type and property that it has never stored; `schema.cypher` makes all of
them known. A warning contains the whole query, in Neo4j Browser too, and looks like an error.

It also warns of what a later version removes. Only `id()` is used that is deprecated, by loads and restores, which hold
the ids of millions of nodes as arrays of numbers, and by the pages of the log's verification, which it orders. In its
place, `elementId()` gives a text of 40 characters. 20,000 nodes are found by `id()` in 0.04 s, by `elementId()` in
0.12 s.
"""

import logging
from pathlib import Path

import neo4j
import pytest

from grantpath import cypher

from ..support.own_server import own_server
from .test_query_files import NAMES

BY_NUMBER = {
    *("load_created", "load_edges", "load_entities", "load_every_entity", "load_existing", "load_grants"),
    *("load_members", "load_remove", "load_undo", "restore_log", "log_entries"),
}


def told(session: neo4j.Session, name: str) -> dict[str, set[str]]:
    """What the server says when it plans a query, by kind."""
    query = neo4j.Query(f"CYPHER 5 EXPLAIN {cypher.load(name).text}")
    found: dict[str, set[str]] = {}
    for each in session.run(query).consume().gql_status_objects:
        found.setdefault(each.raw_classification or "", set()).add(each.status_description)
    return found


@pytest.mark.slow
@pytest.mark.crash
def test_no_query_warns_on_a_fresh_database(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "neo4j")  # each warning would be logged with its whole query
    warned: dict[str, set[str]] = {}
    outdated: dict[str, set[str]] = {}
    with own_server(tmp_path) as mine:
        mine.tenant("metalake:ml", "gravitino", 60.0).close()
        login = mine.connection
        with (
            neo4j.GraphDatabase.driver(login.uri, auth=(login.user, login.password)) as driver,
            driver.session(database="neo4j") as session,
        ):
            for name in NAMES:
                found = told(session, name)
                for kind, named in (("UNRECOGNIZED", warned), ("DEPRECATION", outdated)):
                    if kind in found:
                        named[name] = found[kind]
    assert warned == {}
    assert {*outdated} == BY_NUMBER
    assert all(text.count("id is deprecated") == 1 for texts in outdated.values() for text in texts)
