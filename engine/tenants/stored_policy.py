"""The policy that a root remembers: its source as JSON, and the sha256 of that text, which tells policies apart."""

import hashlib
from collections.abc import Mapping

from grantpath import cypher
from grantpath.engine.policy import policy as policies
from grantpath.engine.policy.policy import Policy
from grantpath.graph.errors import InvalidPolicy
from grantpath.graph.store import Store

SHORT = 16  # characters of the digests that older versions of grantpath wrote


def kept_policy(store: Store, tenant: str, kept: Mapping[str, str]) -> Policy:
    """The policy that a root remembers, by the row of tenant_policy.cypher. Replaces a short digest by the whole one.

    Raises InvalidPolicy where the source does not fit the digest, or cannot be read; Unavailable.
    """
    digest = hashlib.sha256(kept["source"].encode()).hexdigest()
    if kept["digest"] == digest[:SHORT]:
        cypher.load("set_policy_digest").run(store.execute, root=tenant, short=kept["digest"], digest=digest)
    elif kept["digest"] != digest:
        raise InvalidPolicy(
            f"the policy that {tenant} remembers does not fit its digest: its source was altered; "
            "restore the database from a backup"
        )
    return policies.from_source(kept["source"])


def is_same(one: Policy, other: Policy) -> bool:
    """Do they say the same? The same policy is written differently by versions of grantpath that know more keys."""
    return one.digest == other.digest or one.canonical == other.canonical
