"""Effects without deciding grants, from revision to revision as a follower asks for them, equal the oracle's."""

import random
from typing import Any

import pytest

from grantpath.engine.facts.compare import comparison, held_facts, small_region, user_kinds
from grantpath.engine.facts.set.fact_draft import advanced
from grantpath.engine.facts.set.fact_set import FactSet
from grantpath.engine.policy import policy as policies

from ....conftest import Closing
from ....oracle import oracle
from ....support.access_oracle import access, delta, random_change, told, version_of
from ....support.random_world import ROOT_NAME, random_world
from ....support.sizes import size
from ....support.tiers import others_slow
from ....support.twin import SEED

pytestmark = pytest.mark.trust
REVISIONS, FACTS = size(600, 18), 60
CODED = ("gravitino", "lakehouse", "onehouse", "cdap_design")  # the policies whose facts can be coded as bits


@pytest.mark.parametrize("policy", others_slow(CODED))
def test_each_revision_changes_what_the_oracle_says(
    closing: Closing, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    """Few and many users, with and without facts that are kept from one revision to the next."""
    model, rng, world = policies.load(policy), random.Random(f"{policy} {SEED} revisions"), oracle(policy, ROOT_NAME)
    for fact in random_world(policy, rng, FACTS):
        world.given(fact)
    root, before, version, small = model.root(str(world.root)), access(world), version_of(world, model), list[bool]()
    compare_small = comparison._compare_small

    def counted(*args: Any) -> bool:
        small.append(compare_small(*args))
        return small[-1]

    monkeypatch.setattr(comparison, "_compare_small", counted)
    for number in range(REVISIONS):
        monkeypatch.setattr(small_region, "FEW_USERS", (0, 1, 100)[number % 3])
        monkeypatch.setattr(held_facts, "MANY_GRANTS", (0, 100)[number // 3 % 2])
        monkeypatch.setattr(user_kinds, "MANY", (0, 100)[number % 2])
        changed = random_change(world, rng)
        after, (added, removed) = access(changed), delta(world, changed)
        latter = advanced(version, [{"added": added, "removed": removed}], version.revision + 1)
        sides = FactSet(version, model, root), FactSet(latter, model, root)
        effects = comparison.compare(*sides, [*added, *removed], explained=False)
        assert told(effects, world, changed, explained=False) == (after - before, before - after), (policy, number)
        world, before, version = changed, after, latter
    closing(f"revisions, {policy}: equal in {REVISIONS}; {sum(small)} of {len(small)} blocks were small; seed {SEED}")
    assert 0 < sum(small) < len(small)
