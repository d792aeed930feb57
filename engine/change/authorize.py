"""Asks whether an actor may make the changes of a batch, in the transaction that makes them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from grantpath.engine.change.planned_change import Actor, PlannedChange
from grantpath.engine.decide import request
from grantpath.engine.decide.evaluation import Evaluation
from grantpath.engine.decide.remedy import nearest
from grantpath.engine.policy.fact_plan import FactPlan
from grantpath.engine.policy.policy import Policy
from grantpath.engine.policy.statement_rules import ResolvedStatement
from grantpath.graph.errors import Refused
from grantpath.graph.messages import indefinite, short
from grantpath.graph.reference import Reference
from grantpath.graph.transaction import AskByName

AT_ONCE = 500  # checks in one statement
MANY = 10  # changes for which it pays to ask first what is above their objects,
SHARED = 2  # where so many or more of them share a question


@dataclass
class _Checks:
    """Checks of one actor that are asked together. The same question is asked once."""

    actor: Actor
    one_role: bool
    conditions: list[Any] = field(default_factory=list)
    checks: list[dict[str, Any]] = field(default_factory=list)
    _conditions: dict[int, int] = field(default_factory=dict)
    _checks: dict[tuple[Any, ...], int] = field(default_factory=dict)

    def add(self, right: FactPlan, where: request.Places) -> int:
        """The index of its answer."""
        condition = self._conditions.setdefault(id(right), len(self.conditions))
        if condition == len(self.conditions):
            self.conditions.append(right.parameters)
        seen = (ref.text for at, ref in where.items() if at in right.at or at in right.inside)
        key = (condition, *seen)
        if key not in self._checks:
            self._checks[key] = len(self.checks)
            actor, as_role = self.actor.ref.text, self.actor.as_role
            self.checks.append(
                request.check_parameters(actor, where, right, condition, self.one_role, as_role, needed=[])
            )
        return self._checks[key]

    def answers(self, ask: AskByName) -> list[Any]:
        """By index whom the actor acts as, and what is allowed to each."""
        row = ask("check", checks=request.numbered(self.checks), conditions=self.conditions)[0]
        return [answer["hats"] for answer in request.in_order(row["answers"], len(self.checks))]


class Authorizing:
    """Who may change what under one root, by one policy."""

    def __init__(self, policy: Policy, root: Reference, ask: AskByName) -> None:
        self._policy = policy
        self._root = root
        self._ask = ask
        self._rights: dict[tuple[str, str, str | None, frozenset[str]], FactPlan] = {}
        self._above: dict[int, FactPlan] = {}

    def right(self, change: ResolvedStatement) -> FactPlan:
        """What must be true of who makes it."""
        key = (change.kind, change.object.type, change.subject.type if change.subject else None)
        second_objects = frozenset(change.second_objects)
        if (*key, second_objects) not in self._rights:
            self._rights[*key, second_objects] = FactPlan(self._policy.change(*key, second_objects))
        return self._rights[*key, second_objects]

    def where(self, change: ResolvedStatement) -> request.Places:
        """The places that this is about."""
        second_objects = {**change.second_objects, **({"grantee": change.subject} if change.subject else {})}
        return request.places(self._policy, self._root, change.object, second_objects)

    def authorize(self, steps: Iterable[PlannedChange], actor: Actor) -> dict[PlannedChange, str | None]:
        """By step the role that the actor acts with, if the policy has active roles; who is refused gets the error."""
        roles: dict[PlannedChange, str | None] = {}
        waiting = iter(steps)
        while some := list(islice(waiting, AT_ONCE)):
            if actor.ref.type not in self._policy.user_types:
                for step in some:
                    step.error = Refused(
                        f"{short(step.text)!r} by {short(actor.ref.text)} is refused: "
                        f"{indefinite(actor.ref.type)} does not act; "
                        "name a user",
                        code="actor_refused",
                    )
                continue
            by_above = self._allowed_by_above(some, actor)
            roles.update(dict.fromkeys(by_above))
            roles.update(self._each([step for step in some if step not in by_above], actor))
        return roles

    def _allowed_by_above(self, steps: Sequence[PlannedChange], actor: Actor) -> set[PlannedChange]:
        """Those that what is above their objects allows alone: many objects are in few places.

        Where roles act one at a time each of them counts, so that all places must be looked at.
        """
        if len(steps) < MANY or self._policy.active_roles:
            return set()
        checks, asked = _Checks(actor, one_role=False), []
        for step in steps:
            where = self.where(step.change)
            above = self._above_of(step.change, where)
            if above.clauses:
                asked.append((step, checks.add(above, where)))
        if not asked or len(checks.checks) * SHARED > len(asked):
            return set()
        answers = checks.answers(self._ask)
        return {step for step, at in asked if any(each["allowed"] for each in answers[at])}

    def _above_of(self, change: ResolvedStatement, where: request.Places) -> FactPlan:
        """Its right, as far as the places above its object answer it."""
        right = self.right(change)
        if id(right) not in self._above:
            own = {at for at, ref in where.items() if ref == change.object and ref != self._root}
            self._above[id(right)] = right.without({*own, *(at for at in where if "." in at)})
        return self._above[id(right)]

    def _each(self, steps: Sequence[PlannedChange], actor: Actor) -> dict[PlannedChange, str | None]:
        one_role = self._policy.active_roles
        checks, asked = _Checks(actor, one_role), []
        for step in steps:
            right, where = self.right(step.change), self.where(step.change)
            asked.append((step, right, where, checks.add(right, where)))
        if not asked:
            return {}
        answers = checks.answers(self._ask)
        roles = {}
        for step, right, where, at in asked:
            won: list[str | None] = [each["role"] for each in answers[at] if each["allowed"]]
            if won:
                roles[step] = min(won, key=lambda role: (role or "").encode())
                continue
            evaluation = Evaluation(self._policy, self._root, actor.ref, right.clauses, where, one_role, actor.as_role)
            missing = "; ".join(nearest(evaluation, answers[at], None).texts)
            step.error = Refused(f"{short(step.text)!r} by {short(actor.ref.text)} is refused: {missing}")
        return roles
