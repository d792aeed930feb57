"""Estimates the memory that the facts of a root need, and limits it."""

MIB = 2**20
# in bytes, for CPython 3.11, with all indexes of a FactVersion; a test compares the estimates with the real allocation
ENTITY = 180  # plus the length of its reference
MEMBERSHIP = 28
GRANT = 160  # or an ownership


class TooLarge(Exception):
    """The facts need more memory than the limit."""


def require_room(size: int, limit: int | None) -> None:
    """Raises TooLarge if a size is above the limit, both in bytes."""
    if limit is not None and size > limit:
        raise TooLarge(
            f"the facts take more than replica_memory={limit // MIB} MiB; raise the limit, or open without a copy"
        )
