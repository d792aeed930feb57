"""A revocation announces what else its statements take away, and exactly that is lost."""

import random
from collections.abc import Iterable

import pytest

from grantpath.engine import ChangePlan
from grantpath.graph.language.statement import Check

from ....conftest import Closing, Tenants
from ....oracle import oracle
from ....support.access_oracle import access, told
from ....support.command_line import FACTS, STAFF, Run, facts, run
from ....support.random_world import ROOT_NAME, random_checks, random_world
from ....support.sizes import size
from ....support.tiers import others_slow
from ....support.twin import POLICIES, SEED

__all__ = ["facts", "run"]
REVOCATIONS = size(40, 4)


@pytest.mark.trust
@pytest.mark.parametrize("policy", others_slow(POLICIES))
def test_exactly_the_announced_access_is_lost(tenant: Tenants, closing: Closing, policy: str) -> None:
    rng = random.Random(f"{policy} {SEED} revocation effects")
    world, graph = oracle(policy, ROOT_NAME), tenant(policy, root=ROOT_NAME)
    stated = random_world(policy, rng, 90)
    graph.given(stated)
    for fact in stated:
        world.given(fact)
    revoked = lost = 0
    for subject, name, on, with_, role in random_checks(world, rng, 400):
        if revoked == REVOCATIONS or not world.check(subject, name, on, with_, role):
            continue
        found = graph.revocation(subject, name, on, with_=with_, as_role=role, effects=True)
        assert found.question == Check(subject=subject, name=name, object=on, with_=with_, as_role=role)
        if not found.statements:
            assert found.effects is None
            continue
        after = world.clone()
        assert {after.do(each) for each in found.statements} == {"done"}
        before_all, after_all = access(world), access(after)
        assert found.effects is not None
        assert told(found.effects, world, after) == (after_all - before_all, before_all - after_all)
        graph.change_all(found.statements, at_revision=found.revision)
        assert not graph.check(subject, name, on, with_=with_, as_role=role)
        world, revoked, lost = after, revoked + 1, lost + len(before_all - after_all)
    closing(f"revocations, {policy}: {revoked} took away exactly what they announced, {lost:,} pairs; seed {SEED}")
    assert revoked


def test_a_revocation_that_others_overtake_is_computed_again(tenant: Tenants, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = tenant("gravitino", [each.replace("ROOT", "metalake:ml") for each in FACTS])
    overtaking = iter(["remove user:bob from role:analyst", "add user:other"])
    plan = graph.plan

    def overtaken(statements: Iterable[str]) -> ChangePlan:
        if statement := next(overtaking, None):
            graph.change(statement)
        return plan(statements)

    monkeypatch.setattr(graph, "plan", overtaken)
    found = graph.revocation("user:bob", "load_table", STAFF, effects=True)
    assert not found.allowed and found.revision == graph.revision_now()
    graph.change("member user:bob of role:analyst")
    found = graph.revocation("user:bob", "load_table", STAFF, effects=True)
    assert next(overtaking, None) is None
    assert found.effects and found.effects.revision == found.revision == graph.revision_now()


def test_without_effects_a_revocation_has_none(run: Run, facts: str) -> None:
    words = ["revocation", "user:bob", "load_table", STAFF, "--root", facts]
    assert run(*words, "--json").json["effects"] is None
    found = run(*words, "--effects", "--json").json
    assert found["effects"]["losing"] >= 1
    ran = run(*words, "--effects")
    assert (ran.code, "loses access" in ran.out) == (0, True)
