"""Reads all facts of a root into memory, while others may change it."""

from collections.abc import Iterable

from grantpath.engine.facts.fact_builder import FactVersionBuilder
from grantpath.engine.facts.fact_version import OWNS, FactOrigin, FactVersion
from grantpath.engine.policy.policy import Policy
from grantpath.graph.queries import load_query
from grantpath.graph.store import Store
from grantpath.graph.transaction import Row


def read_facts(
    store: Store, tenant: str, policy: Policy, origin: FactOrigin, revision: int, limit: int | None = None
) -> FactVersion:
    """The facts of a root, read while others may change it. `revision` is the root's revision before the reading.

    Of what is committed meanwhile, all or a part may be missing: apply the deltas after `revision` with `exact=False`
    (see `advanced`). Raises Unavailable, and TooLarge if they take more than `limit` bytes of memory.
    """

    def rows(query: str) -> Iterable[Row]:
        return load_query(query).run(store.read_all, root=tenant)

    builder = FactVersionBuilder(policy, limit)
    number = builder.number
    for row in rows("dump_entities"):
        if row["created"]:
            builder.entity(number(row["ref"]))
    for row in rows("dump_edges"):
        subject = number(row["ref"])
        builder.member(subject, map(number, row["containers"]))
        for effect, privilege, object_ in row["grants"]:
            builder.grant(subject, f"{effect} {privilege}", number(object_))
        for object_ in row["owned"]:
            builder.grant(subject, OWNS, number(object_))
    return builder.version(origin, revision)
