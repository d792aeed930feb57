"""Authorizers that answer from a copy of the facts, and the counts of their answers."""

import copy

from grantpath.engine import Authorizer
from grantpath.engine.facts.replica import Replica


def with_replica(auth: Authorizer) -> Authorizer:
    """The same root with a copy of its facts, as `open(..., replica=True)` returns it."""
    other = copy.copy(auth)
    other.replica = Replica(other.store, other.tenant)
    assert other.replica.read(other.policy), "the root is quiet, so it can be read"
    return other


def replica_of(auth: Authorizer) -> Replica:
    """The copy of an authorizer that has one."""
    assert auth.replica is not None
    return auth.replica
