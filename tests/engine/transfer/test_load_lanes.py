"""Batches of one load run at the same time, and none is written after another caller has taken the load over."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import neo4j
import pytest

from grantpath import cypher
from grantpath.engine import Authorizer, Inconsistent
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.bulk_write import LANES, Bulk, bulk_write
from grantpath.graph.guard.store import Store

from ...conftest import Tenants
from ...support.table_files import dump, marks, settled

lanes = pytest.mark.parametrize("lane", range(LANES))
WAIT = 60.0  # seconds; the machine is shared


def batch(bulk: Bulk, lane: int, name: str) -> dict[str, Any]:
    """The parameters of a batch in this lane that adds a user."""
    added: dict[str, Any] = {"parents": [None], "refs": [f"user:{name}"], "names": [name]}
    same = {"type": "user", "labels": ["Subject", "User"], "exists": None}
    return {**bulk.next_batch(), "lane": lane, **same, **added}


@contextmanager
def running(server: Connection, parameters: dict[str, Any]) -> Iterator[neo4j.Transaction]:
    """A batch that was sent, but is not committed yet."""
    query = cypher.load("load_entities")
    with (
        neo4j.GraphDatabase.driver(server.uri, auth=(server.user, server.password)) as driver,
        driver.session() as session,
        session.begin_transaction() as tx,
    ):
        assert query.run(tx.run, **parameters).single() is not None
        yield tx


@contextmanager
def loading(store: Store, auth: Authorizer) -> Iterator[Bulk]:
    """A load that has begun."""
    with bulk_write(store, auth.tenant, "a load", lambda *_: None) as bulk:
        bulk.begin()
        yield bulk


def taken_over(store: Store, bulk: Bulk) -> list[Any]:
    """Takes the load over for a caller named `other`."""
    given = {"root": bulk.root, "dead": bulk.id, "load": "other"}
    return cypher.load("load_take_over").run(store.execute, **given)


@lanes
def test_batches_of_other_lanes_are_written_meanwhile(
    tenant: Tenants, store: Store, server: Connection, lane: int
) -> None:
    auth = tenant(given=["add user:ann"])
    before = dump(auth)
    with loading(store, auth) as bulk:
        with running(server, batch(bulk, lane, "one")) as tx:
            other = batch(bulk, (lane + 1) % LANES, "two")
            cypher.load("load_entities").run(bulk.write, **other)
            tx.commit()
        bulk.undo(bulk.id, lambda *_: None)
    assert (dump(auth), marks(auth)) == (before, settled(2))


@lanes
def test_recovery_waits_for_a_running_batch_of_each_lane(
    tenant: Tenants, store: Store, server: Connection, lane: int
) -> None:
    auth = tenant(given=["add user:ann"])
    before, undone = dump(auth), list[tuple[int, int]]()
    with loading(store, auth) as bulk:
        recovery = threading.Thread(target=lambda: bulk.undo(bulk.id, lambda *step: undone.append(step)))
        with running(server, batch(bulk, lane, "late")) as tx:
            recovery.start()
            recovery.join(1.0)
            assert recovery.is_alive() and not undone
            tx.commit()
        recovery.join(WAIT)
    assert (undone, dump(auth), marks(auth)) == ([(1, 1)], before, settled(2))


@lanes
def test_batch_after_a_take_over_writes_nothing(tenant: Tenants, store: Store, lane: int) -> None:
    auth = tenant(given=["add user:ann"])
    before = dump(auth)
    with loading(store, auth) as bulk:
        late = batch(bulk, lane, "late")
        assert [row["left"] for row in taken_over(store, bulk)] == [0]
        with pytest.raises(Inconsistent, match="another caller rolled it back"):
            cypher.load("load_entities").run(bulk.write, **late)
        cypher.load("load_undone").run(store.execute, root=bulk.root, load="other")
        with pytest.raises(Inconsistent, match="another caller rolled it back"):
            cypher.load("load_entities").run(bulk.write, **late)
    assert (dump(auth), marks(auth)) == (before, settled(2))
