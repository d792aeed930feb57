"""Checks whether the actors of changes may make them, in the transaction that makes them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from grantpath.engine.answers import request
from grantpath.engine.answers.evaluation import Evaluation
from grantpath.engine.answers.remedy import nearest
from grantpath.engine.change.change_step import Actor, ChangeStep
from grantpath.engine.policy.fact_plan import FactPlan
from grantpath.engine.policy.index import Lengths
from grantpath.engine.policy.policy import Policy
from grantpath.engine.policy.statement_rules import ResolvedStatement
from grantpath.graph.errors import Refused
from grantpath.graph.guard.transaction import AskByName
from grantpath.graph.language.reference import Reference
from grantpath.graph.messages import indefinite, short

AT_ONCE = 500  # checks in one query
MANY = 10  # the smallest batch that checks the places above its objects first
SHARED = 2  # and the least number of changes that must share such a check, on average
_Acting = tuple[ChangeStep, Actor]


@dataclass
class _Checks:
    """Checks that run in one query. Equal checks are sent once."""

    one_role: bool
    conditions: list[Any] = field(default_factory=list)
    checks: list[dict[str, Any]] = field(default_factory=list)
    _conditions: dict[FactPlan, int] = field(default_factory=dict)
    _checks: dict[tuple[Actor, int, frozenset[tuple[str, Reference]]], int] = field(default_factory=dict)

    def add(self, actor: Actor, right: FactPlan, where: request.Places) -> int:
        """Adds a check of an actor; returns the index of its answer."""
        condition = self._conditions.setdefault(right, len(self.conditions))
        if condition == len(self.conditions):
            self.conditions.append(right.parameters)
        seen = {at: ref for at, ref in where.items() if at in right.places or at in right.inside}
        key = (actor, condition, frozenset(seen.items()))
        if key not in self._checks:
            self._checks[key] = len(self.checks)
            # made from what the key has, so that two checks with one key cannot be different questions
            self.checks.append(
                request.check_parameters(
                    actor.ref.text, seen, right, condition, self.one_role, actor.as_role, needed=[]
                )
            )
        return self._checks[key]

    def answers(self, ask: AskByName) -> list[Any]:
        """By index, the roles with which the actor of a check can act, each with its decision."""
        row = ask("check", checks=request.numbered(self.checks), conditions=self.conditions)[0]
        return [answer["acting"] for answer in request.check_answers(row["answers"], len(self.checks))]


class Authorizing:
    """Authorizes changes of one root by one policy."""

    def __init__(self, policy: Policy, root: Reference, ask: AskByName) -> None:
        self._policy = policy
        self._root = root
        self._ask = ask
        self._rights: dict[tuple[str, str, str | None, frozenset[str], bool, Lengths], FactPlan] = {}
        self._above: dict[FactPlan, FactPlan] = {}

    def right(self, change: ResolvedStatement) -> FactPlan:
        """The condition that the actor of a change must satisfy."""
        subject = change.subject.type if change.subject else None
        lengths = self._policy.lengths(change.object, change.second_objects)
        given = frozenset(change.second_objects)
        key = (change.kind, change.object.type, subject, given, change.new_subject, lengths)
        if key not in self._rights:
            self._rights[key] = FactPlan(self._policy.change(*key))
        return self._rights[key]

    def where(self, change: ResolvedStatement) -> request.Places:
        """The places that the condition of a change refers to."""
        return request.places(self._policy, self._root, change.object, change.second_objects, change.subject)

    def authorize(self, steps: Iterable[ChangeStep]) -> dict[ChangeStep, str | None]:
        """By step that has an actor, the role that the actor acts with, if the policy has active roles. A refused step
        gets its error."""
        roles: dict[ChangeStep, str | None] = {}
        waiting = self._of_users(steps)
        while some := list(islice(waiting, AT_ONCE)):
            by_above = self._allowed_by_above(some)
            roles.update(dict.fromkeys(step for step, _ in by_above))
            roles.update(self._each([each for each in some if each not in by_above]))
        return roles

    def _of_users(self, steps: Iterable[ChangeStep]) -> Iterator[_Acting]:
        """The steps of actors that are users, with their actors. A step of another actor is refused."""
        for step in steps:
            if step.actor and step.actor.ref.type in self._policy.user_types:
                yield step, step.actor
            elif step.actor:
                step.error = Refused(
                    f"{short(step.text)!r} by {short(step.actor.ref.text)} is refused: "
                    f"{indefinite(step.actor.ref.type)} cannot act; name a user",
                    code="actor_refused",
                )

    def _allowed_by_above(self, steps: Sequence[_Acting]) -> set[_Acting]:
        """The steps that the places above their objects already allow. Many objects share few such places.

        Not used with active roles: the role to act with depends on all places.
        """
        if len(steps) < MANY or self._policy.active_roles:
            return set()
        checks, asked = _Checks(one_role=False), []
        for step, actor in steps:
            where = self.where(step.change)
            above = self._above_of(step.change, where)
            if above.clauses:
                asked.append(((step, actor), checks.add(actor, above, where)))
        if not asked or len(checks.checks) * SHARED > len(asked):
            return set()
        answers = checks.answers(self._ask)
        return {acting for acting, at in asked if any(each["allowed"] for each in answers[at])}

    def _above_of(self, change: ResolvedStatement, where: request.Places) -> FactPlan:
        """The condition of a change, reduced to the places above its object."""
        right = self.right(change)
        if right not in self._above:
            own = {at for at, ref in where.items() if ref == change.object and ref != self._root}
            self._above[right] = right.without({*own, *(at for at in where if "." in at)})
        return self._above[right]

    def _each(self, steps: Sequence[_Acting]) -> dict[ChangeStep, str | None]:
        one_role = self._policy.active_roles
        checks, asked = _Checks(one_role), []
        for step, actor in steps:
            right, where = self.right(step.change), self.where(step.change)
            asked.append((step, actor, right, where, checks.add(actor, right, where)))
        if not asked:
            return {}
        answers = checks.answers(self._ask)
        roles = {}
        for step, actor, right, where, at in asked:
            won: list[str | None] = [each["role"] for each in answers[at] if each["allowed"]]
            if won:
                roles[step] = min(won, key=lambda role: (role or "").encode())
                continue
            evaluation = Evaluation(self._policy, self._root, actor.ref, right.clauses, where, one_role, actor.as_role)
            missing = "; ".join(nearest(evaluation, answers[at], None).texts)
            step.error = Refused(f"{short(step.text)!r} by {short(actor.ref.text)} is refused: {missing}")
        return roles
