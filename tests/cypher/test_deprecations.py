"""No query has anything that the server calls deprecated: a later version would refuse it.

`make test` asks the default server in its own language (test_query_files.py), `make test-all` also in each version of
Cypher, of Neo4j 2026.x, too (graph/test_newest.py).
"""

from collections.abc import Iterator

import neo4j
import pytest

from grantpath import cypher
from grantpath.graph.client.connection import Connection

from ..support.notices import DEPRECATED, DEPRECATION, every_text, languages, notices


@pytest.fixture(scope="module")
def driver(server: Connection) -> Iterator[neo4j.Driver]:
    """The test's own driver, which receives all notifications of the server."""
    with neo4j.GraphDatabase.driver(server.uri, auth=(server.user, server.password)) as opened:
        yield opened


@pytest.mark.slow
def test_no_query_is_deprecated(driver: neo4j.Driver) -> None:
    for language in languages(driver):
        assert notices(driver, language, every_text(), [DEPRECATION]) == {}


def test_every_query_is_asked() -> None:
    assert {name.split()[0] for name in every_text()} == {*cypher.names()}


def test_deprecated_query_is_found(driver: neo4j.Driver) -> None:
    for language in languages(driver):
        found = notices(driver, language, {"old": DEPRECATED, "good": "RETURN 1 AS one"}, [DEPRECATION])
        assert found.keys() == {"old"}
        assert "id" in "".join(found["old"])
