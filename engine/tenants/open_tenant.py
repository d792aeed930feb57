"""An open root: its store, its policy, and guarded queries. It can follow its root to another policy."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from copy import copy
from functools import partial, wraps
from itertools import count
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

from grantpath import cypher
from grantpath.engine.policy.policy import Policy
from grantpath.engine.tenants import one_revision, registry
from grantpath.engine.tenants.asked import with_question
from grantpath.engine.tenants.one_revision import GuardedAsk
from grantpath.engine.tenants.opening import other_policy
from grantpath.engine.tenants.stored_policy import is_same, kept_policy
from grantpath.graph.errors import GrantpathError, Inconsistent, Invalid
from grantpath.graph.guard.store import Store
from grantpath.graph.language.inputs import require_number
from grantpath.graph.language.reference import Reference, written

UPGRADING = "policy upgrade"  # during an upgrade, a text that begins with this is stored at the root
PAUSE = 0.02  # seconds between two checks of a root that is being upgraded
Given = ParamSpec("Given")
Result = TypeVar("Result")
Self = TypeVar("Self", bound="OpenTenant")


def retry_on_upgrade(verb: Callable[Concatenate[Self, Given], Result]) -> Callable[Concatenate[Self, Given], Result]:
    """Decorates a method so that it waits for an upgrade of its root's policy, and is repeated with the new policy.

    An error of the method contains the question.
    """

    @wraps(verb)
    def run(self: Self, *given: Given.args, **named: Given.kwargs) -> Result:
        deadline, late_once = time.monotonic() + self.store.timeout, False
        given = tuple(map(_again, given))  # type: ignore[assignment]
        named = {name: _again(value) for name, value in named.items()}  # type: ignore[assignment]
        while True:
            view, used = self._view, self.policy
            try:
                return verb(view or self, *given, **named)  # type: ignore[arg-type]
            except GrantpathError as error:
                # trying a change can take longer than the timeout, and only then its root is prepared for it
                late = time.monotonic() > deadline
                may_be_repeated = isinstance(error, Inconsistent | Invalid) and (
                    not late or (error.code == "policy_changed" and not late_once)
                )
                if not may_be_repeated or not (
                    self._adopts(error, used) if view is None else self._must_repeat(view, error)
                ):
                    with_question(error, verb, given, named, (view or self).policy, self.root)
                    raise
                late_once = late_once or late

    return run  # type: ignore[return-value]


class _Again(Iterable[Any]):
    """The items of an iterator, any number of times: a method that is repeated reads its argument again."""

    def __init__(self, items: Iterator[Any]) -> None:
        self._items, self._read = items, list[Any]()

    def __iter__(self) -> Iterator[Any]:
        for at in count():
            if at == len(self._read):
                try:
                    self._read.append(next(self._items))
                except StopIteration:
                    return
            yield self._read[at]


def _again(value: Any) -> Any:
    """The value, which can be iterated again."""
    return _Again(value) if isinstance(value, Iterator) else value


class OpenTenant:
    """One root and its policy. If it follows, each method runs on a view that keeps one policy from start to end."""

    store_type: type[Store] = Store  # the class of the store that `open` creates

    def __init__(self, store: Store, tenant: str, policy: Policy, root: Reference) -> None:
        self.store = store
        self.tenant = tenant
        self.root = root
        self._view: OpenTenant | None = None
        self._use(policy)

    def __repr__(self) -> str:
        return f"<{type(self).__name__.strip('_')} of {self.tenant}, policy {self.policy.name}, at {self.store.uri}>"

    def close(self) -> None:
        """Closes the connections."""
        self.store.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def follow(self) -> None:
        """From now on, a method that finds that the root has a new policy is repeated with that policy."""
        view = copy(self)
        view._view = None  # the view itself keeps its policy
        self._view = view

    def _use(self, policy: Policy) -> None:
        self.policy = policy

    def _must_repeat(self, view: "OpenTenant", error: GrantpathError) -> bool:
        """Must the call be repeated, because the root is being upgraded or has another policy than the view?

        Input that is invalid under the policy of the view may be valid under the new one.
        """
        kept = registry.find(self.store, self.tenant)
        if kept is None:
            return False
        writing = kept["writing"] or ""
        if isinstance(error, Inconsistent) and writing.startswith(UPGRADING):
            time.sleep(PAUSE)
            return True
        if kept["digest"] == view.policy.digest:  # perhaps again: it was replaced and put back since the question
            return not writing and error.code in ("policy_changed", "write_under_way")
        if kept["digest"] != self.policy.digest:
            self._use(kept_policy(self.store, self.tenant, kept))
            self.follow()
        return True

    def _adopts(self, error: GrantpathError, used: Policy) -> bool:
        """Must the call be repeated, because the root's policy is the same as the one that was used, but its facts got
        a later format? Another thread may have adopted it."""
        if not isinstance(error, Inconsistent):
            return False
        return self.policy is not used or self.adopt() or self.policy is not used

    def adopt(self) -> bool:
        """Uses the root's policy as it is stored now, if it decides as this one does. False if nothing changes."""
        kept = registry.find(self.store, self.tenant)
        if kept is None or kept["digest"] == self.policy.digest:
            return False
        stored = kept_policy(self.store, self.tenant, kept)
        if not is_same(stored, self.policy):
            return False
        self._use(Policy(self.policy.file, stored.source))  # the file lists types in the order of its author
        if self._view is not None:
            self.follow()
        return True

    def reference(self, type: str, *names: str) -> str:
        """The canonical reference of a type and raw names, each quoted only if necessary, by this root's policy:
        `auth.reference("user", login)`, `auth.reference("table", "hr", "public", "staff")`.

        Use it for names that come from outside: parsing the result returns exactly these names, whatever characters
        they contain. Answers contain this text. Raises InvalidReference if a name is not possible or their number does
        not fit the type, Unknown if the policy does not define the type.
        """
        self.policy.names.check_type(type)
        return self.policy.reference(written(type, names, self.policy.names.one_segment), self.root).text

    def operator(self, by: str | None) -> str | None:
        """The canonical reference of an operator, for the log. Raises InvalidReference, Unknown, Invalid."""
        return None if by is None else self.policy.operator(by, self.root)

    def near(self, ref: str) -> str:
        """` (did you mean X?)` with existing names that are similar to a missing one; empty if there are none."""
        return registry.near(self.store, self.tenant, self.policy, ref)

    def require_existing(self, needed: Iterable[str], known: Collection[str]) -> None:
        """Raises Unknown for the first of these references that is not `known`, or that the policy hides."""
        for ref in needed:
            if ref not in known or ref in self.policy.hidden:
                error = registry.absent(self.store.read, self.tenant, self.root, ref)
                raise registry.suggesting(error, self.store, self.tenant, self.policy)

    def revision_now(self) -> int:
        """The root's revision. Raises Unknown, Inconsistent, Unavailable."""
        return self.state_now()[0]

    @retry_on_upgrade
    def state_now(self) -> tuple[int, str | None]:
        """The revision, and the root's creation id: a recreated root counts from 0. Raises the same errors."""
        row = self.ask("revision")
        return int(row["revision"]), row["made"]

    def ask(self, query: str, *, at_least: int | None = None, **parameters: Any) -> Mapping[str, Any]:
        """The one row of a guarded query of cypher/, from the revision `at_least` or a later one.

        Raises InvalidInput if `at_least` is not an integer, Inconsistent if the root got another policy since it was
        opened, Unavailable.
        """
        if at_least is not None:
            require_number("at_least", at_least)
        read = partial(self.store.read_guarded, at_least=at_least)
        row = cypher.load(query).run(read, root=self.tenant, **parameters)
        if row.get("policy", self.policy.digest) != self.policy.digest:
            raise other_policy(self.tenant)
        return row

    @retry_on_upgrade
    def at_one_revision(self, work: Callable[[GuardedAsk], Result]) -> Result:
        """Calls `work` with a function whose queries are all answered at one revision, and returns its result.

        `work` is repeated if the root changed meanwhile. Raises Inconsistent if the root changed in each try, and the
        errors of `ask`.
        """
        return one_revision.at_one_revision(self.tenant, self.ask, work)
