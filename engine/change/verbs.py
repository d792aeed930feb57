"""Changes as method calls: the statement that each verb stands for, and batches that collect statements."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, TypedDict

from grantpath.engine.change.made import Change
from grantpath.graph.errors import InvalidInput
from grantpath.graph.language.ends import end_text
from grantpath.graph.language.inputs import require_second_objects
from grantpath.graph.language.statement import Effect, parse_statement, statement
from grantpath.graph.messages import short

Until = datetime | str  # when a grant or a membership ends


class ChangeOptions(TypedDict, total=False):
    """What each verb takes beside its own words, as `Authorizer.change` does."""

    by: str | None
    as_role: str | None
    id: str | None
    dry_run: bool


# ---- the statement of each verb -------------------------------------------------------------------------------------
def allow(privilege: str, on: str, to: str, until: Until | None = None) -> str:
    """The statement that grants a privilege."""
    return statement("allow", privilege, "on", on, "to", to, *_ends(until))


def deny(privilege: str, on: str, to: str, until: Until | None = None) -> str:
    """The statement that denies a privilege."""
    return statement("deny", privilege, "on", on, "to", to, *_ends(until))


def _ends(until: Until | None) -> list[str]:
    return [] if until is None else ["until", end_text(until)]


def revoke(privilege: str, on: str, from_: str, effect: Effect) -> str:
    """The statement that removes a grant. Raises InvalidInput if `effect` is neither ALLOW nor DENY."""
    if effect not in ("ALLOW", "DENY"):
        raise InvalidInput(f"effect={short(repr(effect))} must be 'ALLOW' or 'DENY'")
    return statement("revoke", effect.lower(), privilege, "on", on, "from", from_)


def add(ref: str, with_: Mapping[str, str] | None) -> str:
    """The statement that creates an entity, with its second objects. Raises InvalidInput if these are no mapping."""
    seconds = [f"{key}={second}" for key, second in sorted(require_second_objects(with_).items(), key=str)]
    listed = [*(f"{each}," for each in seconds[:-1]), *seconds[-1:]]
    return statement("add", ref, *(["with", *listed] if listed else []))


def drop(ref: str) -> str:
    """The statement that removes an entity."""
    return statement("drop", ref)


def join(subject: str, container: str, until: Until | None = None) -> str:
    """The statement that makes a subject a member."""
    return statement("member", subject, "of", container, *_ends(until))


def leave(subject: str, container: str) -> str:
    """The statement that ends a membership."""
    return statement("remove", subject, "from", container)


def set_owner(ref: str, owner: str) -> str:
    """The statement that sets an owner."""
    return statement("owner", owner, "of", ref)


def hand_over(former: str, to: str) -> str:
    """The statement that hands over all that a subject owns."""
    return statement("hand", "over", former, "to", to)


def rename(ref: str, to: str) -> str:
    """The statement that gives an entity another name."""
    return statement("rename", ref, "to", to)


def move(ref: str, to: str) -> str:
    """The statement that moves an object into another parent."""
    return statement("move", ref, "to", to)


def tag(ref: str, tag: str) -> str:
    """The statement that tags an object."""
    return statement("tag", ref, "with", tag)


def untag(ref: str, tag: str) -> str:
    """The statement that removes a tag from an object."""
    return statement("untag", ref, "from", tag)


# ---- batches --------------------------------------------------------------------------------------------------------
class StatementBatch:
    """Statements that are collected in a `with` block. At its end they are made in one transaction, in order; if the
    block raises, none is made.

    `changes` has one Change for each statement after the block. A wrong statement raises at the end of the block, with
    its index from 0, and nothing is done; a malformed one raises at once.
    """

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.changes: Sequence[Change] = ()
        self._begun = self._ended = False

    def __repr__(self) -> str:
        state = "made" if self.changes else "not made"
        return f"<{type(self).__name__} of {len(self.statements)} statements, {state}>"

    def change(self, text: str) -> None:
        """Adds a statement. Raises InvalidInput if it is malformed, or outside of the block."""
        if not self._begun:
            raise InvalidInput("a batch makes its changes at the end of a block; write `with auth.batch() as batch:`")
        if self._ended:
            raise InvalidInput("the block of this batch has ended; begin another one with `batch`")
        self.statements.append(parse_statement(text).text)

    def allow(self, privilege: str, *, on: str, to: str, until: Until | None = None) -> None:
        """Grants a privilege, until an end if one is given."""
        self.change(allow(privilege, on, to, until))

    def deny(self, privilege: str, *, on: str, to: str, until: Until | None = None) -> None:
        """Denies a privilege, until an end if one is given; a DENY overrides every ALLOW."""
        self.change(deny(privilege, on, to, until))

    def revoke(self, privilege: str, *, on: str, from_: str, effect: Effect = "ALLOW") -> None:
        """Removes the ALLOW of a privilege, or its DENY."""
        self.change(revoke(privilege, on, from_, effect))

    def add(self, ref: str, *, with_: Mapping[str, str] | None = None) -> None:
        """Creates an entity; `with_` names second objects."""
        self.change(add(ref, with_))

    def drop(self, ref: str) -> None:
        """Removes an entity with everything inside it."""
        self.change(drop(ref))

    def join(self, subject: str, container: str, *, until: Until | None = None) -> None:
        """Makes a subject a member of a group, or gives it a role, until an end if one is given."""
        self.change(join(subject, container, until))

    def leave(self, subject: str, container: str) -> None:
        """Ends a membership."""
        self.change(leave(subject, container))

    def set_owner(self, ref: str, owner: str) -> None:
        """Sets the owner of an object."""
        self.change(set_owner(ref, owner))

    def hand_over(self, former: str, *, to: str) -> None:
        """Makes `to` the owner of all that `former` owns."""
        self.change(hand_over(former, to))

    def rename(self, ref: str, *, to: str) -> None:
        """Gives an entity another name; all that is stored about it stays."""
        self.change(rename(ref, to))

    def move(self, ref: str, *, to: str) -> None:
        """Moves an object, with all that is below it, into another parent."""
        self.change(move(ref, to))

    def tag(self, ref: str, *, with_: str) -> None:
        """Tags an object."""
        self.change(tag(ref, with_))

    def untag(self, ref: str, *, from_: str) -> None:
        """Removes a tag from an object."""
        self.change(untag(ref, from_))


class Batch(StatementBatch):
    """A batch of `Authorizer.batch`."""

    def __init__(self, make: Callable[[list[str]], list[Change]]) -> None:
        super().__init__()
        self._make = make

    def __enter__(self) -> "Batch":
        self._begun = True
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended = True
        if kind is None:
            self.changes = self._make(self.statements)


class AsyncBatch(StatementBatch):
    """A batch of `AsyncAuthorizer.batch`, for `async with`."""

    def __init__(self, make: Callable[[list[str]], Coroutine[Any, Any, list[Change]]]) -> None:
        super().__init__()
        self._make = make

    async def __aenter__(self) -> "AsyncBatch":
        self._begun = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._ended = True
        if kind is None:
            self.changes = await self._make(self.statements)
