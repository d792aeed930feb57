"""Checks by the revision marks of a root whether a snapshot is one of this root."""

from collections.abc import Mapping
from typing import Any

from grantpath.engine.facts.snapshot.snapshot_reader import SnapshotMeta
from grantpath.graph.errors import InvalidInput
from grantpath.spark_sync.session.snapshot import Snapshot


def require_root(source: Snapshot, root: str) -> None:
    """Raises InvalidInput if the snapshot is of another root."""
    if source.meta.root != root:
        raise InvalidInput(
            f"{source.named_folder} is a snapshot of {source.meta.root}, not of {root}; name the snapshot of this root,"
            " or write one with `grantpath mirror OUT`"
        )


def another(meta: SnapshotMeta, marks: Mapping[str, Any]) -> str | None:
    """The reason why the log of a root with these marks cannot continue a snapshot; None if it can."""
    if not meta.made:
        return "the snapshot does not contain the creation id of its root"
    if meta.made != marks["made"] or meta.revision > marks["revision"]:
        return "the root was created again"
    if meta.policy_digest != marks["policy"]:
        return "the policy was upgraded"
    return None


def same_root(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether two readings of the marks are of the same root, which was not created again in between."""
    return bool(before["made"] == after["made"] and before["revision"] <= after["revision"])
