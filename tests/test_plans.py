"""The embedded server plans a query once, whatever the lengths of its parameters: planning takes the longest by far."""

import os

import neo4j
import pytest

from grantpath.graph.server import Connection

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
