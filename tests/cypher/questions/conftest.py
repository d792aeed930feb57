"""The random worlds that the tests of cypher/questions/ share."""

from collections.abc import Iterator

import pytest

from grantpath.graph.guard.store import Store

from ...conftest import Tenants
from ...support.sizes import size
from ...support.twin import Twin

SHARED = ["lakehouse", "gravitino", "onehouse"]  # DENY and nesting; grants to roles only; ladders
# what random facts seldom give, for the nested groups and roles of random_world.py
SELDOM = [
    *("member user:same1 of group:left", "member user:same2 of group:left", "member group:bottom of group:top"),
    *("allow SELECT_TABLE on metalake:main to role:top", "allow SELECT_TABLE on metalake:main to role:left"),
    *("allow USE_SCHEMA on metalake:main to group:bottom", "deny USE_SCHEMA on metalake:main to group:left"),
    *("allow MANAGE_GRANTS on metalake:main to group:left", "deny MANAGE_GRANTS on metalake:main to user:same2"),
    *("allow MANAGE_GROUPS on metalake:main to user:same1", "deny CREATE_TAG on metalake:main to user:lonely"),
    *("add role:alike1", "allow CREATE_ROLE on metalake:main to role:alike1", "add role:alike2"),
    *("allow CREATE_ROLE on metalake:main to role:alike2", "member user:clerk of group:chain0"),
    *("allow RUN_JOB on metalake:main to group:chain3", "allow CREATE_CATALOG on metalake:main to user:clerk"),
    *(
        "add catalog:quiet",
        "add schema:quiet.s",
        "add table:quiet.s.t",
        "add role:reader",
        "member user:sue of role:reader",
    ),
    *("allow USE_CATALOG on catalog:quiet to role:reader", "allow USE_SCHEMA on catalog:quiet to role:reader"),
    *("allow MODIFY_TABLE on catalog:quiet to role:reader", "deny MODIFY_TABLE on table:quiet.s.t to user:sue"),
    "deny USE_CATALOG on catalog:quiet to group:left",
    "member user:same1 of role:reader",
    *("add tag:open", "add tag:shut", "allow SELECT_TABLE on tag:open to role:reader", "owner group:left of tag:open"),
    *(
        "tag table:quiet.s.t with tag:open",
        "allow SELECT_TABLE on tag:shut to group:chain3",
        "deny SELECT_TABLE on tag:shut to user:sue",
    ),
    *(
        "tag catalog:quiet with tag:open",
        "allow MODIFY_TABLE on tag:open to user:clerk",
        "allow MODIFY_TABLE on tag:shut to role:reader",
    ),
    *("allow MODIFY_TABLE on catalog:quiet to group:chain0", "allow APPLY_TAG on tag:open to user:clerk"),
]


@pytest.fixture(scope="session")
def worlds(store: Store) -> Iterator[list[Twin]]:
    """Random worlds, each in the oracle and in the graph."""
    tenants = Tenants(store)
    made = []
    for again in range(size(6, 1)):
        for policy in SHARED:
            twin = Twin(tenants, policy, f"questions {again}", 100)
            if policy == "lakehouse":
                twin.say(SELDOM)
            if policy == "onehouse":  # a root on which nothing is granted
                on_root = [grant for grant in sorted(twin.world.grants) if grant[2] == twin.world.root]
                twin.say(f"revoke {effect} {name} on {on} from {by}" for effect, name, on, by in on_root)
            assert twin.differences == []
            made.append(twin)
    yield made
    tenants.remove()
