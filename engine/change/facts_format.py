"""The format of a root's facts. It is raised before the first fact that older versions of grantpath do not know.

The number is stored with the policy (`UPGRADE` in schema.py), so the policy's digest changes, which every answer
returns. An open client of this version goes on with the same policy; one of an older version raises an error.
"""

import json
from typing import Protocol

from grantpath.engine.change.audit_writer import append, whole
from grantpath.engine.change.deltas import Delta
from grantpath.engine.policy.policy import Policy
from grantpath.engine.policy.rule_graph import rule_graph
from grantpath.engine.policy.schema import UPGRADE, WITH_ENDS
from grantpath.engine.tenants import opening, registry
from grantpath.engine.tenants.open_tenant import UPGRADING
from grantpath.graph.guard.bulk_write import bulk_write
from grantpath.graph.guard.store import Store
from grantpath.graph.guard.transaction import Send, query_by_name

PREPARED = "prepare for facts that end"  # with which the entry of the log begins


class Opened(Protocol):
    """An open root."""

    store: Store
    tenant: str
    policy: Policy


def of_format(policy: Policy, number: int) -> Policy:
    """The same policy, with the number of a format; unchanged if it has this format or a later one."""
    if policy.facts_format >= number:
        return policy
    return Policy(policy.file, json.dumps({**json.loads(policy.source), UPGRADE: number}, sort_keys=True))


def allow_ends(root: Opened) -> None:
    """Raises the format of the root's facts, so that they can have ends. Does nothing if that was done.

    Raises Inconsistent if the root has another policy or a load is running, Unavailable.
    """
    store, tenant, policy = root.store, root.tenant, root.policy
    new = of_format(policy, WITH_ENDS)
    registry.create_schema(store)  # a database of an older version has no index of ends
    with bulk_write(store, tenant, f"{UPGRADING} {new.name}", lambda *_: None) as bulk:
        kept = registry.find(store, tenant)
        if kept is None:
            raise registry.missing(tenant, {})
        if kept["digest"] == new.digest:
            return
        opening.check_policy(kept["digest"], policy, tenant)
        graph = rule_graph(new)
        bulk.begin()

        def last(ask: Send, revision: int) -> None:
            named = query_by_name(ask, tenant)
            named("set_policy", policy=new.name, digest=new.digest, source=new.source)
            named("write_policy_graph", digest=new.digest, graph=graph)
            entry = whole(revision, bulk.id, f"{PREPARED} ({new.digest})", None, Delta())
            append(named, [{**entry, "policy_before": policy.source, "policy_after": new.source}])

        bulk.finish(last, lambda *_: None)
