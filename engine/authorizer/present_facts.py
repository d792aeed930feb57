"""All facts of the present state in memory, for the effects of a change: who would gain and lose what."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from grantpath.engine.answers.access_effects import Effects
from grantpath.engine.policy.policy import Policy
from grantpath.engine.tenants.open_tenant import OpenTenant
from grantpath.graph.errors import Conflict, Inconsistent

if TYPE_CHECKING:
    from grantpath.engine.facts.copy.replica import Replica
    from grantpath.engine.facts.set.fact_draft import Facts
    from grantpath.engine.facts.set.fact_version import FactVersion

TRIES = 20  # of reading the facts and planning at the same revision, while others change the root
READ_AT = (3, 10)  # before these tries, a copy that cannot be proved current is read again
PAUSE = 0.02  # seconds between two tries
Found = TypeVar("Found")


def at_present(opened: OpenTenant, copy: "Replica", work: "Callable[[FactVersion], Found | None]") -> Found:
    """The result of `work` on the facts of a copy that is proved current.

    `work` returns None if it finds the root at another revision; it is then called again with newer facts. Raises
    Inconsistent if that happens too often.
    """
    for turn in range(TRIES):
        version = copy.current(opened.policy, whole=False)
        if version is None and turn in READ_AT:
            copy.read(opened.policy)
            version = copy.current(opened.policy, whole=False)
        if version is not None and (found := work(version)) is not None:
            return found
        time.sleep(PAUSE)
    raise changing(opened.tenant)


def changing(tenant: str) -> Inconsistent:
    """The error about a root that does not stay at one revision for long enough."""
    return Inconsistent(f"{tenant} changes too often to compare its facts at one revision; ask again later")


def effects(
    opened: OpenTenant, copy: "Replica", version: "FactVersion", entries: "Sequence[Facts]", policy: Policy
) -> Effects:
    """The effects of the facts that the entries of a dry run add and remove, and of another policy.

    Raises Conflict if a fact of the entries does not fit this version of the copy.
    """
    from grantpath.engine.facts.compare.comparison import compare
    from grantpath.engine.facts.set.fact_builder import under_policy
    from grantpath.engine.facts.set.fact_draft import Contradiction
    from grantpath.engine.facts.set.fact_set import FactSet  # only here: they need an extra

    try:
        after = copy.planned(version, entries)
    except Contradiction as error:
        raise Conflict(
            f"{opened.tenant} does not have the facts that this change is about: {error}; repeat the dry run",
            code="root_moved",
        ) from None
    if policy is not opened.policy:
        after = under_policy(after, policy)
    statements = [text for entry in entries for name in ("added", "removed") for text in entry[name]]
    return compare(FactSet(version, opened.policy, opened.root), FactSet(after, policy, opened.root), statements)
