"""A check over the oracle's facts, in the form in which the engine gets it from the queries."""

from collections.abc import Iterator
from typing import Any

from grantpath.engine.answers.evaluation import Evaluation
from grantpath.engine.answers.request import places
from grantpath.engine.policy.clauses import facts_of
from grantpath.engine.policy.policy import Policy

from ..oracle import Oracle
from ..oracle.notation import Ref
from .in_memory import Situation, places_of
from .random_world import Check


class AskedCheck:
    """A check, its evaluation, and the acting principals with their facts."""

    def __init__(self, policy: Policy, world: Oracle, check: Check) -> None:
        self.world, self.check = world, check
        subject, name, target, with_, as_role = check
        root = policy.reference(str(world.root), policy.root(world.root.segments[0]))
        second_objects = {key: policy.reference(ref, root) for key, ref in with_.items()}
        object_, who = policy.reference(target, root), policy.reference(subject, root)
        question = policy.question(name, object_.type, frozenset(with_))
        by_at = places(policy, root, object_, second_objects)
        role = policy.reference(as_role, root).text if as_role else None
        one_role = question.one_role and (role is not None or who.type not in policy.role_types)
        self.evaluation = Evaluation(policy, root, who, question.clauses, by_at, one_role, role)
        self.places = places_of(
            world, world.resolve(target), {f"with.{key}": world.resolve(ref) for key, ref in with_.items()}
        )
        self.places[world.root.type] = world.root
        self.acted = list(self._acted())

    def _acted(self) -> Iterator[dict[str, Any]]:
        who = self.world.resolve(self.check[0])
        if who not in self.world.existing:
            return
        held, role = self.world.reach(who), self.evaluation.as_role
        active = self.world.resolve(role) if role else None
        if active and active not in held:
            return
        if not self.evaluation.one_role:
            yield self._acting_as(who, role, held)
            return
        direct = {each for each in self.world.containers.get(who, ()) if each.type == "role"}
        for each in [active] if active else sorted(direct):
            yield self._acting_as(who, str(each), self.world.reach(each))

    def _acting_as(self, who: Ref, role: str | None, principals: set[Ref]) -> dict[str, Any]:
        situation = Situation(self.world, who, principals, self.places)
        found = [
            {"fact": str(fact), "by": self._by(str(fact), principals)}
            for fact in facts_of(self.evaluation.clauses)
            if situation.true(fact)
        ]
        return {"role": role, "found": found, "allowed": situation.allows(self.evaluation.clauses)}

    def _by(self, fact: str, principals: set[Ref]) -> list[str]:
        match fact.split(" "):
            case ["ALLOW" | "DENY" as effect, privilege, at]:
                name, _, kind = privilege.partition("#")
                places = {self.places[at]}
                if kind:
                    places = {tag for tagged, tag in self.world.tags if tagged == self.places[at] and tag.type == kind}
                return sorted(
                    {
                        str(to)
                        for how, what, on, to in self.world.grants
                        if (how, what) == (effect.lower(), name) and on in places and to in principals
                    }
                )
            case ["OWNS", at]:
                return [str(self.world.owners[self.places[at]])]
        return []
