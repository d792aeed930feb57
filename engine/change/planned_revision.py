"""Checks that a root is still at the revision for which a change was planned."""

from grantpath.graph.errors import Inconsistent
from grantpath.graph.inputs import need_number


def check_revision(at_revision: int | None) -> None:
    """Raises InvalidInput if a planned revision is neither an integer nor None."""
    if at_revision is not None:
        need_number("at_revision", at_revision)


def need_revision(tenant: str, revision: int, planned: int | None) -> None:
    """Raises Inconsistent if a planned revision is given, and the root is at another one."""
    if planned not in (None, revision):
        raise Inconsistent(
            f"{tenant} is at revision {revision}, not at {planned}; nothing is done. Repeat the plan or dry run, and "
            "pass its revision"
        )
