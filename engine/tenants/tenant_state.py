"""All facts of one tenant at one revision, for evaluations outside the database."""

from collections.abc import Sequence
from dataclasses import dataclass

from grantpath.engine.policy.policy import Policy
from grantpath.engine.tenants.open_tenant import OpenTenant


@dataclass(frozen=True)
class Entity:
    """A node as it is stored. `exists` is false for a name with grants on it before it is created."""

    ref: str
    type: str
    exists: bool = True
    builtin: bool = False


@dataclass(frozen=True)
class Edge:
    """A relationship: MEMBER_OF, HAS_ROLE, OWNS, TAGGED, or ALLOW and DENY with their privilege."""

    kind: str
    source: str
    target: str
    privilege: str | None = None


@dataclass(frozen=True)
class TenantState:
    """The facts of a tenant, and the policy that evaluates them. `root` is the reference of the root object; `id`
    distinguishes the states of one run."""

    id: str
    policy: Policy
    root: str
    entities: Sequence[Entity]
    edges: Sequence[Edge]


def read_state(id_: str, tenant: OpenTenant) -> TenantState:
    """Reads the state of a small tenant in one query. Raises Unknown, Inconsistent, Unavailable."""
    row = tenant.ask("tenant_state")
    entities = [Entity(**entity) for entity in row["entities"]]
    return TenantState(id_, tenant.policy, tenant.root.text, entities, [Edge(**edge) for edge in row["edges"]])
