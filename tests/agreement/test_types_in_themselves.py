"""Types in themselves: random policies whose folders are in folders, held to an evaluator written from the manual."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine import Authorizer, ChangePlan
from grantpath.engine.facts.copy.replica import Replica
from grantpath.engine.facts.snapshot.snapshot_questions import ask
from grantpath.graph.client.connection import Connection
from grantpath.spark_sync.mirroring.mirror import mirror_tenant

from ..conftest import Closing, Tenants
from ..oracle.language import Language, World, questions, type_of
from ..support.random_policies import CREWS, PEOPLE, ROOT, TEAMS, entities, random_facts
from ..support.sizes import size
from ..support.snapshot_access import access_of
from ..support.twin import SEED
from .test_random_policies import differences, drawn, stored

pytestmark = pytest.mark.trust
POLICIES = size(1_000, 60)
STORED = size(40, 4)  # of them, in a graph
CHANGES = size(20, 4)  # of each of these


Pairs = set[tuple[str, str, str]]  # user, name, object


def everything(data: dict[str, Any], world: World) -> Pairs:
    """All access of all users by all names that need no second object."""
    model = Language(data, world, ROOT)
    hidden = {ref for ref, entry in data["builtin"].items() if entry.get("hidden")}
    people = [each for each in PEOPLE if each in world.existing]
    there = [
        each for each in [ROOT, *entities(data), *data["builtin"]] if each in world.existing and each not in hidden
    ]
    aliases = [name for name, entry in data["privileges"].items() if entry.get("alias_of")]
    return {
        (user, name, on)
        for name, on, keys in questions(data, there)
        if not keys and name not in (*aliases, *data.get("aliases", {}))
        for user in people
        if model.check(user, name, on, {})
    }


def snapshot(server: Connection, auth: Authorizer, data: dict[str, Any], world: World, folder: Path) -> Iterator[str]:
    """All access by a snapshot, which Spark's kernel reads."""
    mirror_tenant(server, auth.tenant, folder, lambda _: None)
    found = {(user, name, on) for user, name, _, on in access_of(folder)}
    for each in found ^ everything(data, world):
        yield f"{each}: the manual says {each not in found}"
    refs = [each for each in entities(data) if type_of(each) in ("folder", "page")]
    for name, on, keys in questions(data, refs):
        if not keys:
            users = sorted(user for user, other, place in found if (other, place) == (name, on))
            listed = ask(folder, f"who can {name} on {on}").answer
            if name in {each for _, each, _ in found} and listed != users:
                yield f"who can {name} on {on}: {users}, asked {listed}"


def effects(auth: Authorizer, data: dict[str, Any], world: World, rng: random.Random) -> Iterator[str]:
    """What plans say that users would gain and lose."""
    auth.replica = Replica.of(auth.store, auth.tenant, auth.root, auth.policy)
    before, model = everything(data, world), Language(data, world, ROOT)
    names = [name for name, entry in data["privileges"].items() if entry.get("on") and not entry.get("membership")]
    for _ in range(CHANGES):
        after, name = deepcopy(world), rng.choice(names)
        on = rng.choice([each for each in [ROOT, *entities(data)] if type_of(each) in data["privileges"][name]["on"]])
        grantees = [each for each in [*PEOPLE, *TEAMS, *CREWS] if type_of(each) in data["grants"]["to"]]
        grant = (
            rng.choice(["allow", "deny"]) if data["grants"].get("deny") else "allow",
            name,
            on,
            rng.choice(grantees),
        )
        there = grant in world.grants
        (after.grants.remove if there else after.grants.add)(grant)
        statement = f"{'revoke ' * there}{grant[0]} {name} on {on} {'from' if there else 'to'} {grant[3]}"
        latter = everything(data, after)
        for gained, wanted in ((True, latter - before), (False, before - latter)):
            told = told_by(auth.plan([statement]), model, gained)
            if told != wanted:
                yield f"{statement}: gained {gained}: the manual says {sorted(wanted)}, the plan {sorted(told)}"


def told_by(plan: ChangePlan, model: Language, gained: bool) -> Pairs:
    found: Pairs = set()
    for effect in plan.effects.effects:
        for share in effect.shares if (effect.effect == "gain") == gained else ():
            there = [each for each in model.world.existing if type_of(each) == effect.type]

            def inside(places: Iterable[str], there: list[str] = there) -> set[str]:
                return {each for each in there if {*places} & {*model.upward(each)[1:]}}

            objects = {*share.objects} | inside(share.below)
            objects -= {*share.except_objects} | inside(share.except_below)
            found |= {(user, name, each) for user in share.users for name in effect.names for each in objects}
    return found


def test_random_policies_with_folders_in_folders_decide_as_the_manual_says(
    server: Connection, tenant: Tenants, tmp_path: Path, closing: Closing
) -> None:
    told: Counter[bool] = Counter()
    wrong: list[str] = []
    accepted = number = 0
    while accepted < POLICIES:
        number += 1
        found = drawn(number, tmp_path, nested=True)
        if found is None:
            continue
        data, policy = found
        world, said = random_facts(data, random.Random(f"facts {SEED} {number}"))
        wrong += [f"policy {number}: {each}" for each in differences(data, policy, world, told)]
        if accepted < STORED:
            wrong += [f"policy {number}, {each}" for each in stored(data, world, said, tenant, tmp_path, number)]
            auth = tenant(str(tmp_path / f"drawn{number}.yaml"), said)
            wrong += [
                f"policy {number}, snapshot: {each}"
                for each in snapshot(server, auth, data, world, tmp_path / f"s{number}")
            ]
            rng = random.Random(f"changes {SEED} {number}")
            wrong += [f"policy {number}, effects of {each}" for each in effects(auth, data, world, rng)]
        accepted += 1
    closing(
        f"{accepted} random policies with folders in folders ({number - accepted} others were refused): "
        f"{told.total():,} decisions, {told[True]:,} of them yes, {len(wrong)} different"
    )
    assert not wrong, "\n".join(wrong[:20])
    assert told[True] > told.total() / 20
