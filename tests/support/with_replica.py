"""Authorizers that answer from a copy of the facts, and the counts of their answers."""

import copy
import time
from typing import Any

from neo4j.exceptions import ClientError

from grantpath.engine import Authorizer
from grantpath.engine.facts.copy.replica import Replica
from grantpath.engine.facts.set.fact_version import FactVersion
from grantpath.graph.client.driver import FORBIDDEN, in_words
from grantpath.graph.guard.store import Store


def with_replica(auth: Authorizer) -> Authorizer:
    """The same root with a copy of its facts, as `open(..., replica=True)` returns it."""
    other = copy.copy(auth)
    other.replica = Replica(other.store, other.tenant, other.root)
    assert other.replica.read(other.policy), "the root is quiet, so it can be read"
    return other


def as_reader(auth: Authorizer, timeout: float = 60.0) -> Authorizer:
    """The same root for a database user who may only read, with connections of its own and no copy. Neo4j Community
    has no such users, so each attempt to remove what has ended raises the driver's error."""
    store = Store(auth.store.connection, timeout)
    store._guard.end_piece = _forbidden  # type: ignore[method-assign, assignment]
    return Authorizer(store, auth.tenant, auth.policy, auth.root)


def _forbidden(*_: object) -> None:
    cause = ClientError._hydrate_neo4j(code=FORBIDDEN, message="Set label is not allowed")  # as the driver makes it
    raise in_words("bolt://localhost", cause) from cause


def until_read(auth: Authorizer) -> None:
    """Waits until the copy is current again, after a thread has read it."""
    deadline = time.monotonic() + 60
    while replica_of(auth).current(auth.policy) is None:
        assert time.monotonic() < deadline, "the copy was not read again"
        time.sleep(0.01)


def content(auth: Authorizer) -> dict[str, dict[str, object]]:
    """All that the copy of an authorizer contains, by reference."""
    version = replica_of(auth).current(auth.policy)
    assert version is not None
    return content_of(version)


def content_of(version: FactVersion) -> dict[str, dict[str, object]]:
    """All facts of a version, by reference."""
    refs = version.numbers.refs

    def named(value: Any) -> object:
        if isinstance(value, dict):
            return {name: named(by) for name, by in value.items()}
        if isinstance(value, bool):
            return value
        return {refs[each] for each in ([value] if isinstance(value, int) else list(value))}

    maps: dict[str, dict[str, object]] = {}
    for name in ("existing", "containers", "grants", "users_in", "others_in", "places_of"):
        layers = getattr(version, name)
        whole = {**layers._base, **layers._latest}
        maps[name] = {refs[number]: named(value) for number, value in whole.items() if value is not None}
    for name in ("listed", "granted_names"):
        maps[name] = {type_: list(found) for type_, found in getattr(version, name).items() if found}
    return maps


def replica_of(auth: Authorizer) -> Replica:
    """The copy of an authorizer that has one."""
    assert auth.replica is not None
    return auth.replica
