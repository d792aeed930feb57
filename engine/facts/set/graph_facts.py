"""Reads all facts of a root into memory, while others may change it."""

from collections import defaultdict
from collections.abc import Iterable

from grantpath import cypher
from grantpath.engine.facts.set.fact_builder import FactVersionBuilder
from grantpath.engine.facts.set.fact_version import FactOrigin, FactVersion
from grantpath.engine.facts.set.graph_ranges import ranges
from grantpath.engine.policy.policy import Policy
from grantpath.graph.guard.store import Store
from grantpath.graph.guard.transaction import Row


def read_facts(
    store: Store, tenant: str, policy: Policy, origin: FactOrigin, revision: int, limit: int | None = None
) -> FactVersion:
    """The facts of a root, read while others may change it. `revision` is the root's revision before the reading.

    Changes that are committed during the reading may be missing, in whole or in part. Apply the deltas after `revision`
    with `exact=False` (see `advanced`). Raises Unavailable, and TooLarge if the facts need more than `limit` bytes.
    """
    parts = ranges(store, tenant)
    builder = FactVersionBuilder(policy, limit)
    number = builder.number

    def rows(query: str, part: tuple[str, str], **more: list[str]) -> Iterable[Row]:
        return cypher.load(query).run(store.read_all, root=tenant, low=part[0], high=part[1], **more)

    for part in parts:
        for row in rows("mirror_entities", part):
            entities = [*map(number, row["refs"])]
            for entity in entities if row["exists"] else ():
                builder.entity(entity)
    for part in parts:
        containers = defaultdict[int, list[int]](list)
        for row in rows("mirror_members", part):
            for ref, container in zip(row["refs"], row["containers"], strict=True):
                containers[number(ref)].append(number(container))
        for member, inside in containers.items():
            builder.member(member, inside)
        for row in rows("mirror_grants", part, tags=[*policy.file.tags], by_tag=[]):
            for ref, object_ in zip(row["refs"], row["objects"], strict=True):
                builder.grant(number(ref), row["fact"], number(object_))
    return builder.version(origin, revision)
