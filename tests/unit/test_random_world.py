"""The random tenants are useful for comparisons: valid, reproducible, and rich enough for both answers."""

import random
from collections import Counter

import pytest

from ..oracle import POLICIES, Oracle, oracle
from ..support.random_names import COMPOSED, DECOMPOSED, ODD
from ..support.random_world import ROOT_NAME, STRONG, random_checks, random_statements, random_world

# every user of the tenant is allowed these
ALWAYS_YES = {
    "list_catalog",
    "list_catalogs",
    "list_groups",
    "list_job_templates",
    "list_jobs",
    "list_namespace",
    "list_policies",
    "list_roles",
    "list_tags",
    "list_users",
    "load_metalake",
}


def built(policy: str, seed: int, size: int = 200) -> Oracle:
    world = oracle(policy, ROOT_NAME)
    for fact in random_world(policy, random.Random(seed), size):
        assert world.given(fact) == "done", fact
    return world


@pytest.mark.parametrize("policy", STRONG)
def test_same_seed_gives_the_same_world_and_changes(policy: str) -> None:
    facts, again = (random_world(policy, random.Random(7), 120) for _ in range(2))
    assert facts == again
    world = built(policy, 7)
    attempts, once_more = (random_statements(policy, world, random.Random(1), 30) for _ in range(2))
    assert attempts == once_more
    assert random_checks(world, random.Random(1), 30) == random_checks(world, random.Random(1), 30)


@pytest.mark.parametrize("policy", STRONG)
def test_small_world_has_every_type(policy: str) -> None:
    world = built(policy, 3, size=30)
    assert all(world.objects(type_) for type_ in world.types)


@pytest.mark.slow
@pytest.mark.parametrize("policy", STRONG)
def test_every_name_is_both_allowed_and_refused(policy: str) -> None:
    asked = {name for type_ in POLICIES[policy].types for name, _ in oracle(policy, ROOT_NAME).names_on(type_)}
    missing = {True: set(asked), False: asked - ALWAYS_YES}
    for seed in range(12):
        world = built(policy, seed, size=250)
        for check in random_checks(world, random.Random(seed), 1000):
            missing[world.check(*check)].discard(check[1])
        if not any(missing.values()):
            return
    assert missing == {True: set(), False: set()}


@pytest.mark.parametrize("policy", STRONG)
def test_random_changes_are_accepted_refused_and_invalid(policy: str) -> None:
    world = built(policy, 5)
    before = world.objects()
    attempts = random_statements(policy, world, random.Random(2), 150)
    assert world.objects() == before
    outcomes = Counter(world.do(*attempt) for attempt in attempts)
    assert min(outcomes[each] for each in ("done", "refused", "invalid")) >= 15


def test_names_come_in_confusable_pairs() -> None:
    assert COMPOSED != DECOMPOSED
    assert {COMPOSED, DECOMPOSED} <= set(ODD)
    names = {name for seed in range(5) for name in random_world("gravitino", random.Random(seed), 400)}
    for part in ("`a.x`", "a-b", COMPOSED, DECOMPOSED, "\u200f", "` lead`", "`e``f`"):
        assert any(part in name for name in names)
