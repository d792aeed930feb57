"""Computes the nearest remedy of a refused check over the oracle's facts, and applies it to the oracle."""

from collections.abc import Iterator, Mapping
from typing import Any

from grantpath.engine.answers.evaluation import RemedyContext
from grantpath.engine.answers.explanation import remedy_parameters
from grantpath.engine.answers.remedy import Remedy, nearest
from grantpath.engine.policy.policy import Policy

from ..oracle import Oracle
from ..oracle.notation import Ref, read_reference
from .asked_check import AskedCheck
from .random_world import Check

# By policy, the administrative privileges by type, which a remedy should avoid if plain grants are enough.
LAKE = ("lake", "database", "table")
GRAVITINO: dict[str, tuple[str, ...]] = {"MANAGE_GRANTS": ("metalake",), "MANAGE_GROUPS": ("metalake",)}
ADMINISTRATION: dict[str, dict[str, tuple[str, ...]]] = {
    "gravitino": GRAVITINO,
    "lakehouse": GRAVITINO,
    "deltastream": {"MANAGE_GRANTS": ("organization",), "MANAGE_MEMBERS": ("organization",)},
    "onehouse": {
        "ACCOUNT_ADMIN": ("account",),
        "PROJECT_ADMIN": ("project",),
        "GROUP_MANAGER": ("group",),
        "SERVICE_PRINCIPAL_MANAGER": ("service_principal",),
        "ALL": LAKE,
    },
    "cdap": {"ADMIN": ("instance",)},
    "cdap_design": {"ADMIN": ("instance", "namespace"), "ALL": ("instance", "namespace", "dataset", "stream")},
}


class RefusedCheck(AskedCheck):
    """A check that the oracle refuses, and its remedy."""

    def __init__(self, policy: Policy, world: Oracle, check: Check) -> None:
        super().__init__(policy, world, check)
        self.remedy: Remedy = nearest(self.evaluation, self.acted, self._context(self.acted))
        self.seen: Remedy = nearest(self.evaluation, self.acted, None)

    # ---- the results of the queries --------------------------------------------------------------------------
    def _context(self, acted: list[dict[str, Any]]) -> RemedyContext:
        asked, world = remedy_parameters(self.evaluation, acted), self.world
        who = world.resolve(asked["subject"])
        held = world.reach(who) if who in world.existing else set()
        later = {each for role in asked["roles"] for each in world.reach(world.resolve(role))}
        found = [
            {"fact": fact, "by": [by]}
            for place in asked["places"]
            for fact, by in self._edges(world.resolve(place["ref"]), place["at"], later)
        ]
        return RemedyContext(
            held=self._in_order(who, held, asked["types"]),
            existing=frozenset(ref for ref in asked["names"] if read_reference(ref) in world.existing),
            cycles=frozenset(
                (each["member"], each["container"])
                for each in asked["joining"]
                if world.resolve(each["member"]) in world.reach(world.resolve(each["container"]))
            ),
            inside={
                self.evaluation.fact(each["fact"]): self._lacking(each, held if asked["together"] else set())
                for each in asked["below"]
            },
            found=self.evaluation.by_fact(found),
            reached={role: frozenset(map(str, world.reach(world.resolve(role)))) for role in asked["roles"]},
        )

    def _in_order(self, who: Ref, held: set[Ref], types: list[str]) -> list[str]:
        direct = self.world.containers.get(who, set())
        fitting = [each for each in held if each.type in types and each != who]
        return [str(each) for each in sorted(fitting, key=lambda each: (each not in direct, str(each)))]

    def _edges(self, place: Ref, at: str, principals: set[Ref]) -> Iterator[tuple[str, str]]:
        for effect, privilege, on, to in self.world.grants:
            if on == place and to in principals:
                yield f"{effect.upper()} {privilege} {at}", str(to)
        if self.world.owners.get(place) in principals:
            yield f"OWNS {at}", str(self.world.owners[place])

    def _lacking(self, asked: Mapping[str, Any], principals: set[Ref]) -> list[str]:
        have = {on for effect, name, on, to in self.world.grants if to in principals and name in asked["privileges"]}
        inside = self.world.existing_inside(self.world.resolve(asked["ref"]))
        return sorted(str(each) for each in inside if each.type in asked["types"] and each not in have)

    # ---- tests of a remedy -----------------------------------------------------------------------------------
    def problems(self) -> Iterator[str]:
        """The problems of the remedy: a refused statement, or a check that is still refused."""
        after = self.world.clone()
        for statement in self.remedy.statements:
            if (outcome := after.do(statement)) != "done":
                yield f"{statement!r} is {outcome}"
        if self.remedy.statements and not after.check(*self.check):
            yield "the check is still refused"

    def superfluous(self) -> bool:
        """Does a part of the remedy suffice?"""
        chosen = self.remedy.statements
        return any(self._enough(chosen, at) for at in range(len(chosen)))

    def powerful(self) -> bool:
        """Does the remedy give administrative rights?"""
        return any(map(self._powerful, self.remedy.statements))

    def _enough(self, chosen: tuple[str, ...], without: int) -> bool:
        after = self.world.clone()
        for at, statement in enumerate(chosen):
            if at != without:
                after.do(statement)
        return after.check(*self.check)

    def plain_grants_suffice(self) -> bool:
        """If the remedy gives administrative rights: would plain grants suffice?

        The subject, or a role of its own, gets every plain grant on every place of the question.
        """
        if not self.powerful():
            return False
        after, who = self.world.clone(), self.check[0]
        after.do(f"add {who}")
        own = self.evaluation.as_role or "role:plain"
        if read_reference(who).type not in after.grantees:
            after.do(f"add {own}")
            after.do(f"member {who} of {own}")
        for effect, privilege, on, to in sorted(after.grants):
            if effect == "deny" and on in self.places.values():
                after.do(f"revoke deny {privilege} on {on} from {to}")
        for privilege in after.privileges:
            for on in {*self.places.values(), *self.world.existing_inside(self.world.resolve(self.check[2]))}:
                chosen = f"allow {privilege} on {on} to {who if read_reference(who).type in after.grantees else own}"
                if not self._powerful(chosen):
                    after.do(chosen)
        return after.check(*self.check)

    def _powerful(self, statement: str) -> bool:
        """Does it give ownership, a built-in role, or an administrative privilege?"""
        match statement.split(" "):
            case ["owner", *_]:
                return True
            case ["member", _, "of", container]:
                return container in self.evaluation.policy.builtins and container != self.evaluation.as_role
            case ["allow", privilege, "on", ref, *_]:
                types = ADMINISTRATION[self.world.policy].get(privilege, ())
                return ref.partition(":")[0] in types
        return False
