"""Opens a root: resolves its name and its policy, and creates it on request."""

import logging
from collections.abc import Callable

from grantpath.engine.policy import policy as policies
from grantpath.engine.policy.policy import Policy
from grantpath.engine.tenants import registry
from grantpath.engine.tenants.stored_policy import is_same, kept_policy
from grantpath.graph.errors import Conflict, Inconsistent, InvalidInput, InvalidReference, Unknown
from grantpath.graph.guard.store import Store
from grantpath.graph.language.inputs import require_flag, require_limit, require_text
from grantpath.graph.language.reference import Reference
from grantpath.graph.messages import short

log = logging.getLogger("grantpath.change")
DEFAULT_POLICY = "lakehouse"


def check_opening(
    root: str,
    policy: str | None,
    uri: str | None,
    replica_memory: int | None = None,
    create: bool = False,
    by: str | None = None,
    database: str | None = None,
) -> None:
    """Raises InvalidInput if an argument is not valid."""
    require_flag("create", create)
    if by is not None and not create:
        raise InvalidInput("by= names the user who creates the root; pass create=True, too, or omit it")
    require_text("root", root)
    if not root:
        raise InvalidInput("root is empty; name one, e.g. metalake:ml")
    for what, text in (("policy", policy), ("uri", uri), ("database", database)):
        if text is not None:
            require_text(what, text)
        if text == "":
            raise InvalidInput(f"{what} is empty; name one, or omit it")
    require_limit("replica_memory", replica_memory)


def open_root(
    store: Store,
    root: str,
    policy: str | None,
    *,
    may_create: bool = False,
    default: Policy | None = None,
    create: Callable[[Store, str, Policy, Reference], object] = registry.create,
) -> tuple[str, Policy, Reference]:
    """The tenant's key, policy and root reference. A missing root is created only if `may_create`, by `create`, with
    the policy `default` if none is named.

    Raises Unknown, with similar names and the remedy, if the root does not exist; UnknownName, Conflict, InvalidPolicy.
    """
    named = policies.load(policy) if policy else None
    key = _meant(store, root) if named is None else _key(store, root, named)
    kept = registry.find(store, key)
    if kept is None:
        if not may_create:
            raise registry.missing(key, registry.names(store))
        named = named or default or policies.load(DEFAULT_POLICY)
        reference = named.root(key)
        create(store, reference.text, named, reference)
        kept = registry.find(store, reference.text)  # a concurrent caller may have created it, with another policy
        if kept is None:
            raise Inconsistent(f"{reference} was dropped while it was opened; open it again", code="root_unknown")
        key = reference.text
    if named is None or named.digest != kept["digest"]:
        own = kept_policy(store, key, kept)
        if named is not None and not is_same(named, own):
            raise _differs(key, own, named)
        named = own
    log.info("opened %s with the policy %s at %s", key, named.name, store.uri)
    return key, named, named.root(key)


def _key(store: Store, root: str, named: Policy) -> str:
    """The key of a root with this policy. Raises Conflict if the root exists and has a policy with another root type,
    InvalidReference."""
    try:
        return named.root(root).text
    except InvalidReference:
        key = registry.canonical_name(root)
        kept = registry.find(store, key)
        if kept is None:
            raise
        raise _differs(key, kept_policy(store, key, kept), named) from None


def _differs(key: str, own: Policy, named: Policy) -> Conflict:
    version = " in another version than now" if named.name == own.name else f", not {named.name}"
    return Conflict(
        f"{key} uses the policy {own.name}{version}: omit the policy (policy=, --policy), replace its policy with "
        "`grantpath policy upgrade`, or use another root",
        code="policy_differs",
    )


def _meant(store: Store, root: str) -> str:
    """The key of the only root with this name if `root` has no type; a missing root is returned unchanged."""
    if ":" in root:
        return registry.canonical_name(root)
    fitting = registry.named_like(registry.names(store), root)
    if len(fitting) > 1:
        raise Unknown(f"{short(root)} can mean {' or '.join(fitting)}; write the type, too", code="root_unknown")
    return fitting[0] if fitting else root


def check_policy(digest: str, policy: Policy, tenant: str) -> None:
    """Raises Inconsistent unless `digest`, that of the root's current policy, is the digest of `policy`."""
    if digest != policy.digest:
        raise other_policy(tenant)


def other_policy(tenant: str) -> Inconsistent:
    """The error for a root that got another policy since it was opened."""
    return Inconsistent(
        f"{tenant} was given another policy since it was opened; open it again, or with follow_policy=True",
        code="policy_changed",
    )
