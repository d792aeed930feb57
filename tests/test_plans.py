"""What the server makes of a query: one plan, whatever the lengths of its parameters, or a word that it cannot."""

import os

import neo4j
import pytest

from grantpath.graph.errors import Unavailable
from grantpath.graph.server import Connection
from grantpath.graph.store import Store

from .conftest import SERVER


def expected_rows(driver: neo4j.Driver, names: list[str]) -> float:
    """How many rows the plan for these names reckons with."""
    text = "EXPLAIN MATCH (entity:Entity) WHERE entity.ref IN $names RETURN entity"
    plan = driver.execute_query(text, names=names).summary.plan
    assert plan is not None
    return float(plan["args"]["EstimatedRows"])


def test_the_length_of_a_parameter_makes_no_other_plan(server: Connection) -> None:
    if os.environ.get(SERVER, "embedded") != "embedded":
        pytest.skip("the settings of a server that is there are its owner's")
    with neo4j.GraphDatabase.driver(server.uri, auth=(server.user, server.password)) as driver:
        assert expected_rows(driver, ["a"]) == expected_rows(driver, ["a"] * 5_000)


def test_a_query_that_the_server_does_not_know_is_not_called_silence(server: Connection) -> None:
    store = Store(server)
    try:
        with pytest.raises(Unavailable, match=r"cannot run a query: .*is it Neo4j 5\.26 LTS or 2026\.x"):
            store.execute("RETURN nothing.of_the_kind()")
    finally:
        store.close()
