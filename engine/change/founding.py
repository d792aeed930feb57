"""Creates a root for a user whom the policy allows to: the user is added to it, and gets what creators get.

The rule is `changes.add` of the root's type. It is asked in the roots that exist already, because only facts set the
lists of service admins, and a Gravitino server has one list for all metalakes.
"""

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from grantpath.engine.change.authorize import Authorizing
from grantpath.engine.change.change_step import Actor, ChangeStep
from grantpath.engine.change.ending import end_due
from grantpath.engine.change.service import ChangeService
from grantpath.engine.policy.policy import Policy
from grantpath.engine.policy.statement_rules import ResolvedStatement
from grantpath.engine.tenants import registry
from grantpath.engine.tenants.open_tenant import PAUSE, OpenTenant
from grantpath.engine.tenants.stored_policy import kept_policy
from grantpath.graph.errors import GrantpathError, Inconsistent, Refused
from grantpath.graph.guard.store import Store
from grantpath.graph.language.reference import Reference


def create_by(store: Store, tenant: str, policy: Policy, root: Reference, by: str) -> None:
    """Creates the root as the actor `by`. Does nothing if it exists.

    Raises Refused, Invalid, InvalidReference, Unknown, Inconsistent, Unavailable.
    """
    actor = Actor(policy.reference(policy.operator(by, root), root), None)
    if not _is_allowed(store, registry.present(registry.names(store)), actor, root.type):
        raise Refused(
            f"'add {root}' by {actor.ref} is refused: no root of this database allows {actor.ref} to create another "
            "one; create it without an actor (omit `by`), and set its owner by a fact"
        )
    if not registry.create(store, tenant, policy, root):
        return
    try:
        ChangeService(store, tenant, policy, root).found(actor.ref)
    except GrantpathError:
        with suppress(GrantpathError):  # the original error is more informative
            registry.take_back(store, tenant)
        raise


def _is_allowed(store: Store, roots: Iterable[str], actor: Actor, type_: str) -> bool:
    """Whether one of the roots lets the actor create another root of a type.

    Roots that are being written or given another policy are asked again, after all others. Raises Inconsistent if one
    of them does not answer in time, and no other one lets the actor.
    """
    deadline = time.monotonic() + store.timeout
    while True:
        unanswered: dict[str, Inconsistent] = {}
        for root in roots:
            if unanswered and time.monotonic() > deadline:
                break
            try:
                if _may_create(store, root, actor, type_):
                    return True
            except Inconsistent as error:
                unanswered[root] = error
        if not unanswered:
            return False
        if time.monotonic() > deadline:
            raise next(iter(unanswered.values()))
        roots = [*unanswered]
        time.sleep(PAUSE)


def _may_create(store: Store, tenant: str, actor: Actor, type_: str) -> bool:
    """Whether a root lets the actor create another root of a type."""
    kept = registry.find(store, tenant)
    if kept is None or not tenant.startswith(f"{type_}:"):
        return False
    policy = kept_policy(store, tenant, kept)
    if policy.names.change("add", policy.root_type) is None:
        return False
    store.ends_by(end_due)
    opened = OpenTenant(store, tenant, policy, policy.root(tenant))

    def ask(query: str, **parameters: Any) -> list[Mapping[str, Any]]:
        return [opened.ask(query, **parameters)]

    step = ChangeStep(ResolvedStatement("add", opened.root, None, None, None, {}, f"add {opened.root}"), actor)
    Authorizing(policy, opened.root, ask).authorize([step])
    return step.error is None
