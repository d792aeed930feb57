"""Creates and removes roots; the caller holds the root's lock.

While a root does not exist, a caller claims its name before it writes or removes anything there. A later claim replaces
an earlier one. So a caller that lost its lock and continues late cannot damage a root that was created since.
"""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from grantpath import cypher
from grantpath.engine.policy.policy import Policy
from grantpath.engine.policy.rule_graph import rule_graph
from grantpath.graph.errors import Inconsistent, Unavailable
from grantpath.graph.guard.revision_marks import Marks
from grantpath.graph.guard.transaction import AskByName, Row, query_by_name
from grantpath.graph.guard.writer_lock import Held
from grantpath.graph.language.reference import Reference, name_of, type_of

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

log = logging.getLogger("grantpath.change")


def builtins(policy: Policy) -> list[dict[str, Any]]:
    """The built-in subjects of a policy, with their memberships, grants and ownership."""
    return [
        {
            "ref": ref,
            "type": type_of(ref),
            "name": name_of(ref),
            "labels": policy.labels(type_of(ref)),
            "securable": policy.is_securable(type_of(ref)),
            "allow": [policy.names.canonical(name) for name in entry.allow],
            "owns": bool(entry.owns),
            "holds": [
                *entry.holds,
                *(
                    other
                    for other, each in policy.builtins.items()
                    if type_of(ref) in each.held_by_every and other != ref
                ),
            ],
        }
        for ref, entry in policy.builtins.items()
    ]


def named(policy: Policy, root: Reference) -> dict[str, Any]:
    """The parameters of create_tenant.cypher, except the tenant and the caller."""
    return {
        "ref": root.text,
        "type": root.type,
        "name": root.name,
        "labels": policy.labels(root.type),
        "builtins": builtins(policy),
    }


def make_root(held: Held, policy: Policy, root: Reference) -> bool:
    """Creates a root under its lock; False if another caller has created it. Raises Inconsistent if the lock was lost,
    Unavailable.

    The marks are written last, by a statement of their own. Without them nothing can be read, so the first answer sees
    the complete root.
    """
    if not claim(held):
        return False  # the lock was lost, and a concurrent caller has created it
    while _sweep_some(held):  # the remains of an interrupted drop
        pass
    if not (_ask(held, "create_tenant", by=held.id, **named(policy, root)) and _begin(held, policy)):
        raise Inconsistent(f"{held.root} was created or removed by another caller; open it again")
    log.info("created the root %s with the policy %s", held.root, policy.name)
    return True


def _begin(held: Held, policy: Policy) -> bool:
    """Makes the root readable and writes its policy as nodes, in one transaction. False if the claim was lost."""

    def work(tx: "ManagedTransaction") -> bool:
        ask = _within(tx, held)
        return bool(ask("begin_tenant", by=held.id, **_stored(policy)) and _write_policy_graph(ask, policy))

    return held.transaction(work)


def renew_root(held: Held, marks: Marks, policy: Policy, root: Reference) -> None:
    """Removes everything in a root and creates the root anew, in one transaction: it has no facts, no history and
    another creation id. It is for small roots; the copy of the same policy stays. Raises Inconsistent if the root has
    changed, Unavailable."""

    def work(tx: "ManagedTransaction") -> bool:
        ask = _within(tx, held)
        # a change that drops the root object removes the copy of the policy
        has_rules = marks.policy == policy.digest and bool(ask("entity_exists", ref=root.text))
        if not ask("end_tenant", by=held.id, **_compared(marks)):
            return False
        while any(ask("remove_tenant", by=held.id, rules=not has_rules)[0].values()):
            pass
        ask("create_tenant", by=held.id, **named(policy, root))
        ask("begin_tenant", by=held.id, **_stored(policy))
        return has_rules or _write_policy_graph(ask, policy)

    if not held.transaction(work):
        raise Inconsistent(f"{held.root} was changed by another caller; try again")


def _within(tx: "ManagedTransaction", held: Held) -> AskByName:
    """Runs queries of cypher/ in a transaction."""

    def send(text: str, given: Mapping[str, Any]) -> list[Row]:
        return list(tx.run(text, dict(given)).data())

    return query_by_name(send, held.root)


def _stored(policy: Policy) -> dict[str, str]:
    return {"policy": policy.name, "digest": policy.digest, "source": policy.source}


def _write_policy_graph(ask: AskByName, policy: Policy) -> bool:
    return bool(ask("write_policy_graph", digest=policy.digest, graph=rule_graph(policy)))


def claim(held: Held) -> bool:
    """Claims the name of a root; False if the root exists."""
    return bool(_ask(held, "claim_tenant", by=held.id))


def _ask(held: Held, query: str, **parameters: Any) -> list[Row]:
    """Runs a query of cypher/ in a transaction of the lock holder."""
    return cypher.load(query).run(held.execute, root=held.root, **parameters)


def end_root(held: Held, marks: Marks) -> None:
    """Removes the marks of a root, which makes it unreadable. Raises Inconsistent if they have changed, Unavailable."""
    try:
        ended = bool(_ask(held, "end_tenant", by=held.id, **_compared(marks)))
    except Unavailable as error:
        try:
            ended = claim(held)  # false if the root still exists, so that nothing was done
        except Unavailable:
            raise Unavailable(f"{error}; it is not known whether {held.root} was dropped", unknown=True) from error
        if not ended:
            raise
    if not ended:
        raise Inconsistent(f"{held.root} was changed by another caller; it was not dropped, try again")


def _compared(marks: Marks) -> dict[str, Any]:
    return {"revision": marks.revision, "begun": marks.begun, "made": marks.made, "loading": marks.loading}


def sweep_root(held: Held) -> bool:
    """Removes the remains of a root whose name this caller has claimed; False if there were none."""
    swept = False
    while _sweep_some(held):
        swept = True
    return swept


def _sweep_some(held: Held) -> bool:
    """Removes a batch; False if nothing is left, or if another caller has claimed the name and so owns the rest."""
    rows = _ask(held, "remove_tenant", by=held.id, rules=True)
    return bool(rows and (rows[0]["removed"] or rows[0]["edges"]))
