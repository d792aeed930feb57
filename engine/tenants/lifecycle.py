"""Creates and removes roots; the caller holds the root's lock.

While a root does not exist, a caller claims its name before it writes or removes anything there. A later claim replaces
an earlier one. So a caller that lost its lock and continues late cannot damage a root that was created since.
"""

import logging
from typing import TYPE_CHECKING, Any

from grantpath.engine.policy.policy import Policy
from grantpath.engine.policy.rule_graph import rule_graph
from grantpath.graph.errors import Inconsistent, Unavailable
from grantpath.graph.guard.queries import load_query
from grantpath.graph.guard.revision_marks import Marks
from grantpath.graph.guard.transaction import Row
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
    named = {"ref": root.text, "type": root.type, "name": root.name, "labels": policy.labels(root.type)}
    if not (_ask(held, "create_tenant", by=held.id, **named, builtins=builtins(policy)) and _begin(held, policy)):
        raise Inconsistent(f"{held.root} was created or removed by another caller; open it again")
    log.info("created the root %s with the policy %s", held.root, policy.name)
    return True


def _begin(held: Held, policy: Policy) -> bool:
    """Makes the root readable and writes its policy as nodes, in one transaction. False if the claim was lost."""
    graph = rule_graph(policy)

    def work(tx: "ManagedTransaction") -> bool:
        def send(text: str, given: dict[str, Any]) -> list[Row]:
            return list(tx.run(text, given).data())

        mine = {"policy": policy.name, "digest": policy.digest, "source": policy.source}
        begun = load_query("begin_tenant").run(send, root=held.root, by=held.id, **mine)
        write = load_query("write_policy_graph")
        return bool(begun and write.run(send, root=held.root, digest=policy.digest, graph=graph))

    return held.transaction(work)


def claim(held: Held) -> bool:
    """Claims the name of a root; False if the root exists."""
    return bool(_ask(held, "claim_tenant", by=held.id))


def _ask(held: Held, query: str, **parameters: Any) -> list[Row]:
    """Runs a query of cypher/ in a transaction of the lock holder."""
    return load_query(query).run(held.execute, root=held.root, **parameters)


def end_root(held: Held, marks: Marks) -> None:
    """Removes the marks of a root, which makes it unreadable. Raises Inconsistent if they have changed, Unavailable."""
    compared = {"revision": marks.revision, "begun": marks.begun, "made": marks.made, "loading": marks.loading}
    try:
        ended = bool(_ask(held, "end_tenant", by=held.id, **compared))
    except Unavailable as error:
        try:
            ended = claim(held)  # false if the root still exists, so that nothing was done
        except Unavailable:
            raise Unavailable(f"{error}; it is not known whether {held.root} was dropped", unknown=True) from error
        if not ended:
            raise
    if not ended:
        raise Inconsistent(f"{held.root} was changed by another caller; it was not dropped, try again")


def sweep_root(held: Held) -> bool:
    """Removes the remains of a root whose name this caller has claimed; False if there were none."""
    swept = False
    while _sweep_some(held):
        swept = True
    return swept


def _sweep_some(held: Held) -> bool:
    """Removes a batch; False if nothing is left, or if another caller has claimed the name and so owns the rest."""
    rows = _ask(held, "remove_tenant", by=held.id)
    return bool(rows and (rows[0]["removed"] or rows[0]["edges"]))
