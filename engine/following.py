"""Lets an open root go on by the policy that it is given meanwhile."""

import time
from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from grantpath.engine import roots
from grantpath.engine.changing import Changer
from grantpath.engine.policy import Policy
from grantpath.engine.root_policy import kept_policy
from grantpath.graph.errors import GrantpathError, Inconsistent, Invalid
from grantpath.graph.reference import Reference
from grantpath.graph.store import Store

UPGRADING = "policy upgrade"  # what an upgrade calls itself while it writes
PAUSE = 0.02  # seconds between two looks at a root that is being upgraded
Given = ParamSpec("Given")
Result = TypeVar("Result")
Self = TypeVar("Self", bound="Followed")


class Followed:
    """One root and its policy. Where it follows, each verb runs on a view that holds one policy from start to end."""

    def __init__(self, store: Store, tenant: str, policy: Policy, root: Reference) -> None:
        self.store = store
        self.tenant = tenant
        self.root = root
        self._view: Followed | None = None
        self._use(policy)

    def follow(self) -> None:
        """From now on a verb that meets another policy of the root goes on by that one."""
        self._view = copy(self)

    def _use(self, policy: Policy) -> None:
        self.policy = policy
        self._changer = Changer(self.store, self.tenant, policy, self.root)

    def _goes_on(self, view: "Followed", error: GrantpathError) -> bool:
        """Is the verb to be repeated: is the root being upgraded, or has it another policy than the view?

        What is invalid by the policy of the view may be valid by another one.
        """
        kept = roots.find(self.store, self.tenant)
        if kept is None:
            return False
        if isinstance(error, Inconsistent) and (kept["writing"] or "").startswith(UPGRADING):
            time.sleep(PAUSE)
            return True
        if kept["digest"] == view.policy.digest:
            return False
        if kept["digest"] != self.policy.digest:
            self._use(kept_policy(self.store, self.tenant, kept))
            self.follow()
        return True


def following(verb: Callable[Concatenate[Self, Given], Result]) -> Callable[Concatenate[Self, Given], Result]:
    """A verb that is repeated by the new policy where its root was given one, and waits while it is given it."""

    @wraps(verb)
    def run(self: Self, *given: Given.args, **named: Given.kwargs) -> Result:
        deadline = time.monotonic() + self.store.timeout
        while True:
            view = self._view
            if view is None:
                return verb(self, *given, **named)
            try:
                return verb(view, *given, **named)  # type: ignore[arg-type]
            except (Inconsistent, Invalid) as error:
                if time.monotonic() > deadline or not self._goes_on(view, error):
                    raise

    return run  # type: ignore[return-value]
