"""Effects equal a comparison of everything before and after a change, by the oracle."""

import random

import pytest

from grantpath.engine.facts.compare import user_classes
from grantpath.engine.policy import policy as policies

from ....conftest import Closing
from ....oracle import oracle
from ....support.access_oracle import access, effects_between, random_change, told
from ....support.random_world import ROOT_NAME, random_world
from ....support.sizes import size
from ....support.tiers import others_slow
from ....support.twin import POLICIES, SEED

pytestmark = pytest.mark.trust
CHANGES, FACTS = size(840, 12), 60
WORLD = 60  # changes of one world
MANY_USERS = user_classes.MANY_USERS  # every other change is compared as if it concerned so many


@pytest.mark.parametrize("policy", others_slow(POLICIES))
def test_effects_are_the_difference_of_everything(
    closing: Closing, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    model, rng = policies.load(policy), random.Random(f"{policy} {SEED} effects")
    told_pairs, without, excepting = 0, 0, 0
    for number in range(CHANGES):
        if number % WORLD == 0:
            world = oracle(policy, ROOT_NAME)
            for fact in random_world(policy, rng, FACTS):
                world.given(fact)
            before = access(world)
        changed = random_change(world, rng)
        after = access(changed)
        monkeypatch.setattr(user_classes, "MANY_USERS", 0 if number % 2 else MANY_USERS)
        effects, brief = (effects_between(world, changed, model, explained) for explained in (True, False))
        assert told(effects, world, changed) == (after - before, before - after), (policy, SEED, number)
        assert all(each.place for each in effects.effects) and not any(each.by for each in brief.effects)
        assert told(brief, world, changed, explained=False) == (after - before, before - after), (policy, SEED, number)
        told_pairs += len(after ^ before)
        without += after == before
        shares = [share for each in effects.effects for share in each.shares]
        excepting += sum(bool(share.except_objects or share.except_below) for share in shares)
        world, before = changed, after
    closing(
        f"effects, {policy}: equal in {CHANGES} random changes ({told_pairs:,} pairs gained or lost, "
        f"{without} changes without any; {excepting} lists of objects with exceptions); seed {SEED}"
    )
    assert told_pairs and without < CHANGES
