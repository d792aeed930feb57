"""The first roots of a new server, created by many clients at once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from grantpath import cypher
from grantpath.engine.policy import policy
from grantpath.engine.tenants import registry
from grantpath.graph.guard.store import Store

from ...support.own_server import OwnServer, own_server

pytestmark = [pytest.mark.crash, pytest.mark.slow]

CLIENTS = 4
ROUNDS = 2
OF_AN_EARLIER_VERSION = "CREATE INDEX entity_type FOR (entity:Entity) ON (entity.root, entity.type, entity.ref)"
NAMES = "SHOW {} YIELD name RETURN collect(name) AS names"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    with own_server(tmp_path_factory.mktemp("first")) as mine:
        yield mine


def names(store: Store, kind: str) -> list[str]:
    [row] = store.execute(NAMES.format(kind))
    return sorted(row["names"])


def test_clients_create_the_schema_and_their_roots_at_once(server: OwnServer) -> None:
    model = policy.load("gravitino")
    stores = [Store(server.connection, timeout=60.0) for _ in range(CLIENTS)]
    first = stores[0]

    def create(at: int) -> None:
        reference = model.root(f"r{at}")
        registry.create(stores[at], reference.text, model, reference)

    for _ in range(ROUNDS):
        for constraint in names(first, "CONSTRAINTS"):
            first.execute(f"DROP CONSTRAINT {constraint}")
        for index in names(first, "RANGE INDEXES"):
            first.execute(f"DROP INDEX {index}")
        first.execute(OF_AN_EARLIER_VERSION)
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(create, range(CLIENTS)))
        made = {*names(first, "CONSTRAINTS"), *names(first, "RANGE INDEXES")}
        assert len(made) == sum("CREATE CONSTRAINT" in each or "CREATE INDEX" in each for each in SCHEMA)
        assert {f"metalake:r{at}" for at in range(CLIENTS)} <= {*registry.names(first)}
        for at in range(CLIENTS):
            registry.remove(first, f"metalake:r{at}")
    for store in stores:
        store.close()


SCHEMA = cypher.statements("schema")
