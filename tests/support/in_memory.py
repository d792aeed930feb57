"""Evaluates a policy's clauses over the oracle's facts, without a database, to find wrong rows of a policy early."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from grantpath.engine.policy.clauses import Clauses
from grantpath.engine.policy.facts import Fact
from grantpath.engine.policy.policy import Policy

from ..oracle import Oracle
from ..oracle.notation import Ref, read_reference, read_statement


class Situation:
    """One subject, its relevant holders and the places of one question; evaluates facts."""

    def __init__(self, world: Oracle, subject: Ref, holders: set[Ref], places: Mapping[str, Ref]) -> None:
        self.world, self.subject, self.holders, self.places = world, subject, holders, places

    def allows(self, clauses: Clauses) -> bool:
        """Any clause, all its terms, any atom of a term: at least one of its facts exists, and none that denies it."""
        return any(
            all(
                any(any(map(self.true, atom.any)) and not any(map(self.true, atom.none)) for atom in term)
                for term in clause
            )
            for clause in clauses
        )

    def true(self, fact: Fact) -> bool:
        """Is the fact true, by the docstring of engine/policy/facts.py?"""
        match str(fact).split(" "):
            case ["ALLOW" | "DENY" as effect, privilege, at] if "#" in privilege:
                name, _, kind = privilege.partition("#")
                tags = [tag for tagged, tag in self.world.tags if tagged == self.places[at] and tag.type == kind]
                return any(self._granted(effect.lower(), name, tag) for tag in tags)
            case ["ALLOW" | "DENY" as effect, privilege, at]:
                return self._granted(effect.lower(), privilege, self.places[at])
            case ["OWNS", at]:
                return self.world.owners.get(self.places[at]) in self.holders
            case ["IS", at]:
                return self.places[at] == self.subject
            case ["HOLDS", at]:
                return (read_reference(at[1:]) if at.startswith("=") else self.places[at]) in self.holders
            case ["EXISTS", at]:
                return self.places[at] in self.world.existing
            case ["BUILTIN", at]:
                return self.places[at] in type(self.world)(self.world.root.segments[0]).existing
            case ["ALLOW", privilege, type_, "below", at]:
                return any(
                    (effect, name, on.type) == ("allow", privilege, type_)
                    and by in self.holders
                    and self.places[at] in self.world.upward(on)[1:]
                    for effect, name, on, by in self.world.grants
                )
            case ["EVERY", privileges, types, "below", at]:
                return all(
                    any(self._granted("allow", privilege, each) for privilege in privileges.split(","))
                    for each in self.world.existing_inside(self.places[at])
                    if each.type in types.split(",")
                )
        raise AssertionError(f"not a fact: {fact}")

    def _granted(self, effect: str, privilege: str, place: Ref) -> bool:
        return any((effect, privilege, place, holder) in self.world.grants for holder in self.holders)


def places_of(world: Oracle, target: Ref, second: Mapping[str, Ref]) -> dict[str, Ref]:
    """The object and the places above it; the same of the other objects, with the prefix `with.KEY.` or `grantee.`."""
    places = {each.type: each for each in world.upward(target)}
    for prefix, ref in second.items():
        places.update({f"{prefix}.{each.type}": each for each in world.upward(ref)})
    return places


def holders_to_try(world: Oracle, subject: Ref, one_role: bool, as_role: Ref | None) -> Iterator[set[Ref]]:
    """All holders together, or the holders for each possible active role."""
    held = world.reach(subject)
    if as_role is not None and as_role not in held:
        return
    if not one_role:
        yield held
    elif as_role is not None or subject.type == "role":
        yield world.reach(as_role or subject)
    else:
        for role in world.containers.get(subject, ()):
            yield world.reach(role)


def decide(
    policy: Policy, world: Oracle, subject: str, name: str, target: str, with_: Mapping[str, str], as_role: str | None
) -> bool:
    """The answer to a check, by the policy's clauses."""
    who, on = world.resolve(subject), world.resolve(target)
    question = policy.question(name, on.type, frozenset(with_))
    places = places_of(world, on, {f"with.{key}": world.resolve(ref) for key, ref in with_.items()})
    role = None if as_role is None else world.resolve(as_role)
    return who in world.existing and any(
        Situation(world, who, holders, places).allows(question.clauses)
        for holders in holders_to_try(world, who, question.one_role, role)
    )


def authorized(policy: Policy, world: Oracle, statement: str, by: str, as_role: str | None) -> bool:
    """Does the actor satisfy the policy's rule for this valid change?"""
    parsed, actor = read_statement(statement), world.resolve(by)
    target = world.resolve(parsed.object)
    second = {f"with.{key}": world.resolve(ref) for key, ref in parsed.with_.items()}
    if parsed.verb in ("tag", "untag"):
        tag = world.resolve(parsed.to)
        second = {f"with.{tag.type}": tag}
        parsed = replace(parsed, with_={tag.type: parsed.to})
    grantee = world.resolve(parsed.subject) if parsed.subject else None
    if grantee is not None:
        second["grantee"] = grantee
    kinds = ("add", "drop", "member", "remove", "owner", "revoke", "rename", "move", "tag", "untag")
    effect = parsed.verb if parsed.verb in kinds else "grant"
    clauses = policy.change(effect, target.type, grantee.type if grantee else None, frozenset(parsed.with_))
    if parsed.verb == "move":  # its actor must also be allowed to add the object where it will be
        place = world.resolve(parsed.to)
        there = Ref(target.type, (*(() if place == world.root else place.segments), target.segments[-1]))
        if not authorized(policy, world, f"add {there}", by, as_role):
            return False
    role = None if as_role is None else world.resolve(as_role)
    places = places_of(world, target, second)
    return any(
        Situation(world, actor, holders, places).allows(clauses)
        for holders in holders_to_try(world, actor, policy.active_roles, role)
    )
