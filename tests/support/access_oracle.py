"""All access in an oracle's world, and the world as a version of the facts in memory."""

import random
from collections.abc import Iterable, Iterator

from grantpath.engine.answers.access_effects import AccessEffect, Effects
from grantpath.engine.facts.compare.comparison import compare
from grantpath.engine.facts.set.fact_builder import FactVersionBuilder
from grantpath.engine.facts.set.fact_draft import advanced
from grantpath.engine.facts.set.fact_set import FactSet
from grantpath.engine.facts.set.fact_version import OWNS, TAGGED, FactOrigin, FactVersion
from grantpath.engine.policy.policy import Policy

from ..oracle import Oracle
from ..oracle.notation import read_statement
from .random_proposals import Proposals

Access = set[tuple[str, str, str]]  # user, name, object
ORDER = ("add", "member", "owner", "tag", "allow", "deny")


def facts_of(world: Oracle) -> set[str]:
    """All facts, as canonical statements."""
    facts = {f"add {ref}" for ref in world.existing}
    facts |= {f"member {member} of {each}" for member, those in world.containers.items() for each in those}
    facts |= {f"owner {owner} of {owned}" for owned, owner in world.owners.items()}
    facts |= {f"tag {tagged} with {tag}" for tagged, tag in world.tags}
    return facts | {f"{effect} {name} on {on} to {by}" for effect, name, on, by in world.grants}


def version_of(world: Oracle, policy: Policy) -> FactVersion:
    """The facts as a first version."""
    builder = FactVersionBuilder(policy)
    number = builder.number
    for ref in world.existing:
        builder.entity(number(str(ref)))
    for member, those in world.containers.items():
        builder.member(number(str(member)), [number(str(each)) for each in those])
    for owned, owner in world.owners.items():
        builder.grant(number(str(owner)), OWNS, number(str(owned)))
    for tagged, tag in world.tags:
        builder.grant(number(str(tag)), TAGGED, number(str(tagged)))
    for effect, name, on, by in world.grants:
        builder.grant(number(str(by)), f"{effect.upper()} {name}", number(str(on)))
    return builder.version(FactOrigin("made", "chain", policy.digest), 1)


def delta(before: Oracle, after: Oracle) -> tuple[list[str], list[str]]:
    """The facts that are added and removed, each list in an order in which they can be applied."""
    former, latter = facts_of(before), facts_of(after)
    return sorted(latter - former, key=_rank), sorted(former - latter, key=_rank, reverse=True)


def _rank(fact: str) -> tuple[int, str]:
    return ORDER.index(fact.split(" ")[0]), fact


def effects_between(before: Oracle, after: Oracle, policy: Policy, explained: bool = True) -> Effects:
    """The effects of the change from one world to another one."""
    added, removed = delta(before, after)
    former, root = version_of(before, policy), policy.root(str(before.root))
    latter = advanced(former, [{"added": added, "removed": removed}], 2)
    return compare(FactSet(former, policy, root), FactSet(latter, policy, root), [*added, *removed], explained)


def access(world: Oracle) -> Access:
    """Everything that a user can do, by brute force; other names of the same privilege or operation are omitted."""
    users = [str(ref) for ref in world.existing if ref.type in world.people and not world.hidden(ref)]
    return {
        (user, name, on)
        for type_ in world.types
        for name, keys in world.names_on(type_)
        if not keys and name not in world.aliases and world.same_privilege(name) == name
        for on in world.objects(type_)
        for user in users
        if world.check(user, name, on)
    }


def told(effects: Effects, before: Oracle, after: Oracle, explained: bool = True) -> tuple[Access, Access]:
    """What is gained, and what is lost, according to the effects. Raises AssertionError if they repeat anything."""
    result: dict[str, Access] = {"gain": set(), "lose": set()}
    for effect in effects.effects:
        world, pairs = after if effect.effect == "gain" else before, 0
        users: set[str] = set()
        objects: set[str] = set()
        for share in effect.shares:
            on = {*share.objects, *_inside(world, effect.type, share.below)}
            excepted = {*share.except_objects, *_inside(world, effect.type, share.except_below)}
            assert excepted <= on, share
            on -= excepted
            pairs += len(on) * len(share.users)
            users.update(share.users)
            objects |= on
            for name in effect.names:
                new = {(user, name, each) for user in share.users for each in on}
                assert not new & result[effect.effect], f"told twice: {new & result[effect.effect]}"
                result[effect.effect] |= new
            _check_grants(effect, share.users, on, before, after)
        assert (effect.users, effect.objects, effect.pairs) == (len(users), len(objects), pairs), effect
        if explained:
            assert all(effect.place in map(str, world.upward(world.resolve(each))) for each in objects), effect
    for verb, count in (("gain", effects.gaining), ("lose", effects.losing)):
        assert count == len({user for user, _, _ in result[verb]})
    return result["gain"], result["lose"]


def _check_grants(effect: AccessEffect, users: Iterable[str], objects: set[str], before: Oracle, after: Oracle) -> None:
    """Each deciding grant is a fact that each of these users has on each of these objects, or inside a place above it.

    An ALLOW is of the world in which the access exists, a DENY of the other one.
    """
    with_access, without = (after, before) if effect.effect == "gain" else (before, after)
    for text in effect.by:
        if text.startswith(("add", "drop")):
            added = with_access.resolve(text.partition(" ")[2])
            assert all(added in with_access.upward(with_access.resolve(each)) for each in objects), (effect, text)
        if not text.startswith(("allow", "deny", "owner")):
            continue
        world = without if text.startswith("deny") else with_access
        assert text in facts_of(world), (effect, text)
        words = read_statement(text)
        place, by = world.resolve(words.object), world.resolve(words.subject)
        assert all(by in world.reach(world.resolve(user)) for user in users), (effect, text)
        for each in map(world.resolve, objects):
            above = world.upward(each)
            assert place in above or set(above[:-1]) & {*world.upward(place)[1:]} or place == world.root, (effect, text)


def _inside(world: Oracle, type_: str, places: tuple[str, ...]) -> Iterator[str]:
    tops = {world.resolve(place) for place in places}
    for text in world.objects(type_):
        if tops & {*world.upward(world.resolve(text))[1:]}:
            yield text


def random_change(world: Oracle, rng: random.Random) -> Oracle:
    """The world after one to four random changes."""
    after = world.clone()
    proposals = Proposals(after, rng)
    makers = [proposals.grant, proposals.member, proposals.owner, proposals.add_any, proposals.revoke]
    makers += [proposals.remove, proposals.drop]
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        for _ in range(20):
            make = rng.choices(makers, weights=[30, 18, 8, 14, 14, 10, 6])[0]
            statement = make()
            if statement is not None and after.do(statement) == "done":
                break
    return after
