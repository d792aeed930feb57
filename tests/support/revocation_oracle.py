"""Computes the revocation of an allowed check over the oracle's facts, and compares it with every smaller set."""

from collections.abc import Iterator
from itertools import combinations, product
from random import Random
from typing import Any

from grantpath.engine.advise.revocation import Revocation, revocation_parameters, revoked
from grantpath.engine.policy.clauses import facts_of
from grantpath.engine.policy.facts import FactKind
from grantpath.engine.policy.policy import Policy
from grantpath.graph.language.statement import Check as Asked

from ..oracle import Oracle
from ..oracle.notation import Ref
from .asked_check import AskedCheck
from .random_world import Check


class AllowedCheck(AskedCheck):
    """A check that the oracle allows, and its revocation."""

    def __init__(self, policy: Policy, world: Oracle, check: Check) -> None:
        super().__init__(policy, world, check)
        subject, name, target, with_, role = check
        self.held = world.reach(world.resolve(subject))
        links = [
            (str(member), "HAS_ROLE" if container.type == "role" else "MEMBER_OF", str(container), None)
            for member in self.held
            for container in world.containers.get(member, ())
        ]
        asked = Asked(subject=subject, name=name, object=target, with_=with_, as_role=role)
        self.answer: Revocation = revoked(asked, 0, self.evaluation, self.acted, links, self._row())

    def _row(self) -> dict[str, Any]:
        """The result of revocation_facts.cypher."""
        asked, world = revocation_parameters(self.evaluation, self.acted), self.world
        return {
            "grants": [
                {"fact": each["fact"], "ref": str(on), "exists": on in world.existing, "privilege": name, "by": str(to)}
                for each in asked["below"]
                for effect, name, on, to in sorted(world.grants)
                if effect == "allow"
                and to in self.held
                and name in each["privileges"]
                and on.type in each["types"]
                and world.resolve(each["ref"]) in world.upward(on)[1:]
            ],
            "tagged": [
                {"fact": each["fact"], "by": str(to), "tag": str(tag)}
                for each in asked["tagged"]
                for tagged, tag in sorted(world.tags)
                if tagged == world.resolve(each["ref"]) and tag.type == each["type"]
                for effect, name, on, to in sorted(world.grants)
                if (effect, name, on) == ("allow", each["privilege"], tag) and to in self.held
            ],
            "owners": [
                {"ref": each["ref"], "owner": str(owners[0])}
                for each in asked["owned"]
                if (owners := self._owners(world.resolve(each["ref"]), each["types"], asked["hidden"]))
            ],
        }

    def _owners(self, ref: Ref, types: list[str], hidden: list[str]) -> list[Ref]:
        above = [self.world.owners[each] for each in self.world.upward(ref)[1:] if each in self.world.owners]
        others = (each for type_ in types for each in sorted(self.world.existing) if each.type == type_)
        fitting = [each for each in [*above, *others] if each.type in types and str(each) not in hidden]
        return [each for each in fitting if each not in self.held]

    # ---- tests of a revocation -----------------------------------------------------------------------------------
    def after(self, statements: tuple[str, ...]) -> bool:
        """The answer after these statements; each must be accepted and change something."""
        world = self.world.clone()
        for statement in statements:
            before = world.clone()
            assert world.do(statement) == "done", statement
            assert (before.containers, before.owners, before.grants) != (world.containers, world.owners, world.grants)
        return world.check(*self.check)

    def smaller(self) -> tuple[str, ...] | None:
        """A set that has fewer statements than the answer (any, if that has none) and makes the answer no."""
        options = [*self._options()]
        most = len(options) + 1 if self.answer.statements is None else len(self.answer.statements)
        for size in range(most):
            for chosen in combinations(options, size):
                for statements in product(*chosen):
                    if not self.after(statements):
                        return statements
        return None

    def _options(self) -> Iterator[list[str]]:
        """By fact, the accepted statements that end it."""
        world = self.world
        ends = [[f"remove {member} from {each}"] for member, those in world.containers.items() for each in those]
        ends += [[f"revoke {effect} {name} on {on} from {to}"] for effect, name, on, to in sorted(world.grants)]
        ends += [
            [f"owner {ref} of {on}" for ref in sorted(world.existing) if ref != owner and ref.type in world.owner_types]
            for on, owner in world.owners.items()
        ]
        for statements in ends:
            accepted = [each for each in statements if world.clone().do(each) == "done"]
            if accepted:
                yield accepted

    def wrong_denies(self) -> Iterator[str]:
        """The statements of `denies` that do not suffice alone; if it has none, the first DENY that does."""
        yield from (each for each in self.answer.denies if self.after((each,)))
        if self.answer.denies:
            return
        for name, to, on in product(self.world.privileges, sorted(self.held), sorted(set(self.places.values()))):
            world = self.world.clone()
            statement = f"deny {name} on {on} to {to}"
            if world.do(statement) == "done" and not world.check(*self.check):
                yield statement
                return


def reduced(world: Oracle, check: Check, rng: Random, most: int) -> Oracle | None:
    """The world with at most this many memberships, owners and grants, all of them the subject's; still a yes.

    None if that is not possible.
    """
    small = world.clone()
    held = small.reach(small.resolve(check[0]))
    small.containers = {member: those for member, those in small.containers.items() if member in held}
    small.owners = {on: owner for on, owner in small.owners.items() if owner in held}
    small.grants = {grant for grant in small.grants if grant[3] in held}
    facts = [*_facts(small)]
    rng.shuffle(facts)
    left = len(facts)
    for fact in facts:
        if left <= most:
            break
        without = _without(small, fact)
        if without.check(*check):
            small, left = without, left - 1
    return small if left <= most and small.check(*check) else None


def enriched(policy: Policy, world: Oracle, check: Check, rng: Random, most: int) -> Oracle:
    """The world with further facts that can decide the check, up to this many; still a yes."""
    asked = AskedCheck(policy, world, check)
    held = world.reach(world.resolve(check[0]))
    containers = sorted(each for each in world.existing - held if each.type in ("group", "role"))
    principals = sorted(held | {*rng.sample(containers, min(2, len(containers)))})
    pool = [f"member {one} of {other}" for one, other in product(principals, principals) if one != other] * 2
    for fact in facts_of(asked.evaluation.clauses):
        for to in principals if not fact.entity and not fact.below else ():
            place = asked.places[fact.place]
            if fact.kind in (FactKind.ALLOW, FactKind.DENY):
                pool.append(f"{fact.kind.value.lower()} {fact.privileges[0]} on {place} to {to}")
            elif fact.kind is FactKind.OWNS:
                pool.append(f"owner {to} of {place}")
    rng.shuffle(pool)
    for statement in pool:
        if len([*_facts(world)]) >= most:
            break
        more = world.clone()
        if more.do(statement) == "done" and more.check(*check):
            world = more
    return world


def _facts(world: Oracle) -> Iterator[tuple[Any, ...]]:
    yield from ((member, each) for member, those in sorted(world.containers.items()) for each in sorted(those))
    yield from ((on,) for on in sorted(world.owners))
    yield from sorted(world.grants)


def _without(world: Oracle, fact: tuple[Any, ...]) -> Oracle:
    left = world.clone()
    match fact:
        case (member, container):
            left.containers[member].discard(container)
        case (on,):
            del left.owners[on]
        case _:
            left.grants.discard(fact)
    return left
