"""NEO4J_DATABASE selects the database; a missing database is reported."""

import pytest

from grantpath.engine import Authorizer, Unavailable
from grantpath.graph.connection import Connection
from grantpath.graph.embedded.connect import connection
from grantpath.graph.store import Store

from ..conftest import Tenants


def test_variable_names_the_database(tenant: Tenants, server: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    auth = tenant(given=["add catalog:hr", "add user:ann"])
    monkeypatch.setenv("NEO4J_USER", server.user)
    monkeypatch.setenv("NEO4J_PASSWORD", server.password)
    monkeypatch.setenv("NEO4J_DATABASE", "neo4j")
    with Authorizer(Store(connection(server.uri)), auth.tenant, auth.policy, auth.root) as same:
        assert same.revision_now() == auth.revision_now()
    monkeypatch.setenv("NEO4J_DATABASE", "elsewhere")
    assert connection(server.uri).database == "elsewhere"
    with pytest.raises(Unavailable, match=r"has no such database: .*elsewhere.*check NEO4J_DATABASE"):
        Authorizer.open("metalake:ml", uri=server.uri)
