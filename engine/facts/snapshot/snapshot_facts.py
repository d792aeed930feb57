"""Reads the facts of a snapshot into memory, as the beginning of a copy that is then brought up to date by the log."""

import numpy as np

from grantpath.engine.facts.set.fact_builder import FactVersionBuilder
from grantpath.engine.facts.set.fact_version import FactOrigin, FactVersion, is_stored
from grantpath.engine.facts.snapshot.snapshot_reader import SnapshotReader
from grantpath.engine.policy.facts import Fact
from grantpath.engine.policy.policy import Policy
from grantpath.graph.errors import InvalidInput
from grantpath.graph.files.remote_path import AnyPath


def read_snapshot(
    folder: AnyPath | str, tenant: str, policy: Policy, origin: FactOrigin, revision: int, limit: int | None = None
) -> FactVersion:
    """The facts of a snapshot of this root. `origin` and `revision` are those that the root has now.

    Raises InvalidInput if the folder is not a snapshot, or a snapshot of another root, of an earlier root with this
    name or with another policy; TooLarge if the facts need more than `limit` bytes of memory.
    """
    source = SnapshotReader(folder)
    require_snapshot_of(source, tenant, policy, origin, revision)
    builder = FactVersionBuilder(policy, limit, known=source.refs)  # the number of an entity is its position
    for entity in np.flatnonzero(source.numbering.exists).tolist():
        builder.entity(entity)
    containers: dict[int, list[int]] = {}
    for member, container in source.memberships:
        containers.setdefault(member, []).append(container)
    for member, found in containers.items():
        builder.member(member, found)
    table = source.fact_table
    names = [_stored(fact) for fact in table.keys]
    for principal, key, place in zip(table.principal.tolist(), table.key.tolist(), table.place.tolist(), strict=True):
        if is_stored(names[key]):
            builder.grant(principal, names[key], place)
    return builder.version(origin, source.meta.revision)


def _stored(fact: Fact) -> str:
    return " ".join((fact.kind.value, *fact.privileges))


def require_snapshot_of(source: SnapshotReader, tenant: str, policy: Policy, origin: FactOrigin, revision: int) -> None:
    """Raises InvalidInput if a snapshot is not one of this root with this policy, at `revision` or earlier."""
    meta = source.meta
    if meta.root != tenant:
        problem = f"is a snapshot of {meta.root}, not of {tenant}"
    elif meta.policy_digest != policy.digest:
        problem = f"is a snapshot with another policy ({meta.policy}) than the root has now"
    elif not meta.made:
        problem = "does not contain the creation id of its root, because an earlier version of grantpath wrote it"
    elif meta.made != origin.made or not 0 < meta.revision <= revision:
        problem = f"is a snapshot of an earlier root with the name {tenant}"
    else:
        return
    raise InvalidInput(f"{source.named_folder} {problem}; write one with `grantpath mirror OUT`")
