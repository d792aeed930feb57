"""The stored policy of a root: its source as JSON, and the sha256 of that text, which identifies the policy."""

from collections.abc import Mapping

from grantpath import cypher
from grantpath.engine.policy import policy as policies
from grantpath.engine.policy.policy import Policy
from grantpath.graph.errors import InvalidPolicy
from grantpath.graph.guard.store import Store


def kept_policy(store: Store, tenant: str, kept: Mapping[str, str]) -> Policy:
    """The stored policy of a root, from the row of tenant_policy.cypher. Replaces a short digest by the full one.

    Raises InvalidPolicy if the source does not match the digest or cannot be read; Unavailable.
    """
    if not policies.is_digest(kept["digest"], kept["source"]):
        raise InvalidPolicy(
            f"the stored policy of {tenant} does not match its digest: its source was altered; "
            "restore the database from a backup"
        )
    try:
        policy = policies.from_source(kept["source"])
    except InvalidPolicy as error:  # of many roots, it must be known which one
        raise InvalidPolicy(f"{tenant}: {error}") from None
    if kept["digest"] != policy.digest:
        cypher.load("set_policy_digest").run(store.execute, root=tenant, short=kept["digest"], digest=policy.digest)
    return policy


def is_same(one: Policy, other: Policy) -> bool:
    """Are the policies equivalent? Versions of grantpath that know more keys write the same policy differently."""
    return one.digest == other.digest or one.canonical == other.canonical
