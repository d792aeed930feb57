"""AsyncAuthorizer: the methods of Authorizer for services on an event loop. It contains no logic for decisions.

Each call runs the method of Authorizer in a thread of the store, and the event loop goes on meanwhile.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine, Generator, Iterable
from functools import partial, wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, Unpack, overload

from grantpath.engine.answers.decision import Decision
from grantpath.engine.answers.listing import Listing
from grantpath.engine.answers.request import AnyCheck
from grantpath.engine.authorizer.async_listing import AsyncListing
from grantpath.engine.authorizer.authorizer import Authorizer
from grantpath.engine.authorizer.checks_together import ChecksTogether
from grantpath.engine.change.verbs import AsyncBatch, ChangeOptions
from grantpath.engine.policy.policy import Policy
from grantpath.graph.errors import GrantpathError, Unavailable
from grantpath.graph.guard.async_store import AsyncStore
from grantpath.graph.language.reference import Reference

if TYPE_CHECKING:
    from grantpath.engine.facts.copy.replica import Replica
    from grantpath.engine.past.past_root import AsOf

Decisions = list[Decision]  # AsyncAuthorizer has a method `list`
DecisionsOrErrors = list[Decision | GrantpathError]
Given = ParamSpec("Given")
Result = TypeVar("Result")
AsyncVerb = Callable[Concatenate["AsyncAuthorizer", Given], Coroutine[Any, Any, Result]]


def _asked(verb: Callable[Concatenate[Authorizer, Given], Result]) -> AsyncVerb[Given, Result]:
    """The async form of a question."""

    @wraps(verb)
    async def run(self: "AsyncAuthorizer", /, *given: Given.args, **named: Given.kwargs) -> Result:
        return await self._ask(partial(verb, self._inner, *given, **named))

    return run


def _checked(verb: Callable[Concatenate[Authorizer, Given], Decision]) -> AsyncVerb[Given, Decision]:
    """The async form of a check: those that wait for the copy of the facts at the same time are answered together."""

    @wraps(verb)
    async def run(self: "AsyncAuthorizer", /, *given: Given.args, **named: Given.kwargs) -> Decision:
        check = partial(verb, self._inner, *given, **named)
        if self.replica is None or named.get("as_of") is not None:
            return await self._ask(check)
        self._require_own_loop()
        return await self._together.run(self.replica, check)

    return run


def _waiting(verb: Callable[Concatenate[Authorizer, Given], Result]) -> AsyncVerb[Given, Result]:
    """The async form of a method that waits for writers or computes for long: questions have other threads."""

    @wraps(verb)
    async def run(self: "AsyncAuthorizer", /, *given: Given.args, **named: Given.kwargs) -> Result:
        self._require_own_loop()
        return await self._store.changes.run(partial(verb, self._inner, *given, **named))

    return run


def _listed(
    verb: Callable[Concatenate[Authorizer, Given], Listing],
) -> Callable[Concatenate["AsyncAuthorizer", Given], AsyncListing]:
    """The async form of a question whose answer is a list in pages."""

    @wraps(verb)
    def run(self: "AsyncAuthorizer", /, *given: Given.args, **named: Given.kwargs) -> AsyncListing:
        return AsyncListing(self._ask, partial(verb, self._inner, *given, **named))

    return run


def _opened(
    opening: Callable[Concatenate[str, Given], Authorizer],
) -> "Callable[Concatenate[str, Given], Opening]":
    @wraps(opening)
    def run(root: str, /, *given: Given.args, **named: Given.kwargs) -> "Opening":
        return Opening(partial(opening, root, *given, **named))

    return run


class _Inner(Authorizer):
    """The synchronous authorizer, with the store of an event loop."""

    store_type = AsyncStore


class AsyncAuthorizer:
    """Answers questions about one root, and changes it, on one event loop. All tasks of the event loop can share it.

    Its methods have the same parameters, results and errors as the methods of Authorizer with the same names. Also:

    - A cancelled question continues in its thread until it is answered or its timeout ends. The answer is discarded.
    - A cancelled change may still be made, because it continues in its thread. Give each change an `id`; after a
      cancellation, repeat the change with this id.
    - On another event loop and in a forked process, each method raises Unavailable. Open another AsyncAuthorizer there.

    """

    open = staticmethod(_opened(_Inner.open))

    @staticmethod
    @wraps(Authorizer.drop_root)
    async def drop_root(root: str, **named: Any) -> None:
        await asyncio.to_thread(partial(Authorizer.drop_root, root, **named))

    def __init__(self, inner: Authorizer, store: AsyncStore) -> None:
        """Call `open` instead. Belongs to the running event loop; `inner` must use `store`."""
        self._inner = inner
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._pid = os.getpid()
        self._together = ChecksTogether(inner, store)

    def __repr__(self) -> str:
        return f"<AsyncAuthorizer of {self.tenant}, policy {self.policy.name}, at {self._store.uri}>"

    # ---- questions -----------------------------------------------------------------------------------------------
    check = _checked(Authorizer.check)

    @overload
    async def check_many(
        self,
        checks: Iterable[AnyCheck],
        *,
        each: Literal[False] = False,
        at_least: int | None = None,
        as_of: "AsOf | None" = None,
    ) -> Decisions: ...
    @overload
    async def check_many(
        self, checks: Iterable[AnyCheck], *, each: bool, at_least: int | None = None, as_of: "AsOf | None" = None
    ) -> DecisionsOrErrors: ...
    @wraps(Authorizer.check_many)
    async def check_many(self, checks: Iterable[AnyCheck], **named: Any) -> Any:
        return await self._ask(partial(self._inner.check_many, checks, **named))

    filter = _asked(Authorizer.filter)
    check_table = _asked(Authorizer.check_table)
    explain = _asked(Authorizer.explain)
    revocation = _asked(Authorizer.revocation)
    who = _listed(Authorizer.who)
    which = _listed(Authorizer.which)
    log = _asked(Authorizer.log)
    revision_now = _asked(Authorizer.revision_now)
    state_now = _asked(Authorizer.state_now)
    past = _asked(Authorizer.past)
    since = _asked(Authorizer.since)

    # ---- what is in the root -------------------------------------------------------------------------------------
    show = _asked(Authorizer.show)
    list = _asked(Authorizer.list)
    grants = _asked(Authorizer.grants)
    members = _asked(Authorizer.members)
    memberships = _asked(Authorizer.memberships)
    ending = _asked(Authorizer.ending)
    can = _asked(Authorizer.can)
    question = _asked(Authorizer.question)

    # ---- in threads ----------------------------------------------------------------------------------------------
    change = _waiting(Authorizer.change)
    change_all = _waiting(Authorizer.change_all)
    allow = _waiting(Authorizer.allow)
    deny = _waiting(Authorizer.deny)
    revoke = _waiting(Authorizer.revoke)
    add = _waiting(Authorizer.add)
    drop = _waiting(Authorizer.drop)
    join = _waiting(Authorizer.join)
    leave = _waiting(Authorizer.leave)
    set_owner = _waiting(Authorizer.set_owner)
    hand_over = _waiting(Authorizer.hand_over)
    rename = _waiting(Authorizer.rename)
    move = _waiting(Authorizer.move)
    tag = _waiting(Authorizer.tag)
    untag = _waiting(Authorizer.untag)
    expire = _waiting(Authorizer.expire)
    plan = _waiting(Authorizer.plan)
    effects_of = _waiting(Authorizer.effects_of)
    given = _waiting(Authorizer.given)
    verify_log = _waiting(Authorizer.verify_log)

    def batch(self, **options: Unpack[ChangeOptions]) -> AsyncBatch:
        """The changes of an `async with` block, made at its end, like Authorizer.batch."""
        return AsyncBatch(lambda statements: self.change_all(statements, **options))

    # ---- without the database ------------------------------------------------------------------------------------
    @property
    def tenant(self) -> str:
        """The key of the root."""
        return self._inner.tenant

    @property
    def root(self) -> Reference:
        """The root object."""
        return self._inner.root

    @property
    def policy(self) -> Policy:
        """The root's policy."""
        return self._inner.policy

    @property
    def replica(self) -> "Replica | None":
        """The copy of the facts, for `open(..., replica=True)`."""
        return self._inner.replica

    def reference(self, type: str, *names: str) -> str:
        """The canonical reference of a type and raw names, like Authorizer.reference."""
        return self._inner.reference(type, *names)

    # ---- life ----------------------------------------------------------------------------------------------------
    async def close(self) -> None:
        """Waits for the changes that have begun, then closes the connections."""
        self._require_own_loop()
        await self._store.close_all()

    async def __aenter__(self) -> "AsyncAuthorizer":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def _ask(self, question: Callable[[], Result]) -> Result:
        self._require_own_loop()
        return await self._store.questions.run(question)

    def _require_own_loop(self) -> None:
        """Raises Unavailable in another event loop or process, because the connections belong to the first one."""
        if asyncio.get_running_loop() is not self._loop or os.getpid() != self._pid:
            raise Unavailable(
                f"this AsyncAuthorizer of {self.tenant} belongs to another event loop or process; open one for each"
            )


class Opening:
    """An AsyncAuthorizer that is being opened. Use it with `async with`; or await it, and close the result."""

    def __init__(self, opening: Callable[[], Authorizer]) -> None:
        self._opening = opening
        self._made: AsyncAuthorizer | None = None

    def __await__(self) -> Generator[Any, None, AsyncAuthorizer]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncAuthorizer:
        self._made = await self._open()
        return self._made

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._made is not None:
            await self._made.close()

    async def _open(self) -> AsyncAuthorizer:
        """Opens the Authorizer in a thread. If the caller is cancelled meanwhile, the opened Authorizer is closed."""
        opening = asyncio.ensure_future(asyncio.to_thread(self._opening))
        try:
            inner = await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(_close_unused)
            raise
        assert isinstance(inner.store, AsyncStore)
        return AsyncAuthorizer(inner, inner.store)


def _close_unused(opening: "asyncio.Future[Authorizer]") -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
