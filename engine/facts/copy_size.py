"""Estimates the memory that the facts of a root take, and limits it."""

MIB = 2**20
# in bytes, for CPython 3.11 and with all indexes of a FactVersion; a test compares them with what was allocated
ENTITY = 180  # and the length of its reference
MEMBERSHIP = 28
GRANT = 160  # or an ownership


class TooLarge(Exception):
    """The facts take more memory than they may."""


def need_room(size: int, limit: int | None) -> None:
    """Raises TooLarge if a size is above the limit, both in bytes."""
    if limit is not None and size > limit:
        raise TooLarge(
            f"the facts take more than replica_memory={limit // MIB} MiB; raise the limit, or open without a copy"
        )
