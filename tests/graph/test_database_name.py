"""`database` and NEO4J_DATABASE select the database; a missing database is reported."""

import asyncio
from typing import Any

import pytest

from grantpath.engine import AsyncAuthorizer, Authorizer, InvalidInput, Unavailable
from grantpath.graph.client.connection import Connection
from grantpath.graph.embedded.connect import connection
from grantpath.graph.guard.store import Store

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
    with pytest.raises(Unavailable, match=r"has no such database: .*elsewhere.*check database=, or NEO4J_DATABASE"):
        Authorizer.open("metalake:ml", uri=server.uri)


def test_argument_names_the_database(tenant: Tenants, server: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    auth = tenant(given=["add catalog:hr", "add user:ann"])
    login: dict[str, Any] = {"uri": server.uri, "auth": (server.user, server.password)}
    monkeypatch.setenv("NEO4J_DATABASE", "elsewhere")
    with pytest.raises(Unavailable, match=r"has no such database: .*elsewhere"):
        Authorizer.open(auth.tenant, **login)
    assert connection(server.uri, (server.user, server.password), database="neo4j").database == "neo4j"
    where = {**login, "database": "nowhere"}
    missing = r"has no such database: .*nowhere.*check database="
    with pytest.raises(Unavailable, match=missing):
        Authorizer.open(auth.tenant, create=True, **where)
    with pytest.raises(Unavailable, match=missing):
        Authorizer.drop_root(auth.tenant, confirm=auth.tenant, **where)
    only_one = r"or create it there \(Neo4j Community has only one database for graphs, neo4j\)$"
    with pytest.raises(Unavailable, match=only_one):
        Authorizer.open(auth.tenant, **where)
    for wrong in ("", 7, "system", "System"):
        with pytest.raises(InvalidInput, match="database"):
            Authorizer.open(auth.tenant, **{**login, "database": wrong})

    monkeypatch.setenv("NEO4J_DATABASE", "system")
    with pytest.raises(InvalidInput, match=r"^database=system holds the settings of the server, and no graph; name "):
        Authorizer.open(auth.tenant, **login)

    async def ask() -> None:
        await AsyncAuthorizer.open(auth.tenant, **where)

    with pytest.raises(Unavailable, match=missing):
        asyncio.run(ask())
