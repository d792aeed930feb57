"""`revocation`: the smallest set of statements after which the answer is no."""

import random

import pytest

from grantpath.engine.policy import policy as policies

from ..conftest import Closing
from ..oracle import oracle
from ..support.random_world import ROOT_NAME, random_checks, random_world
from ..support.revocation_oracle import AllowedCheck, enriched, reduced
from ..support.sizes import size
from ..support.twin import POLICIES, SEED

pytestmark = pytest.mark.trust
WORLDS, CHECKS, FACTS = size(12, 2), size(200, 60), 160
SMALL = 8  # facts of a world in which all smaller sets are tried


@pytest.mark.parametrize("policy", POLICIES)
def test_no_smaller_set_makes_the_answer_no(closing: Closing, policy: str) -> None:
    model, rng = policies.load(policy), random.Random(f"{policy} {SEED} revocations")
    sizes: dict[int | None, int] = {}
    wrong, denies = list[str](), 0
    for _ in range(WORLDS):
        world = oracle(policy, ROOT_NAME)
        for fact in random_world(policy, rng, FACTS):
            world.given(fact)
        for check in random_checks(world, rng, CHECKS):
            small = reduced(world, check, rng, SMALL - 3) if world.check(*check) else None
            if small is None:
                continue
            case = AllowedCheck(model, enriched(model, small, check, rng, SMALL), check)
            statements = case.answer.statements
            number = None if statements is None else len(statements)
            sizes[number] = sizes.get(number, 0) + 1
            assert case.answer.proved_smallest, check
            denies += bool(case.answer.denies)
            if statements is not None and case.after(statements):
                wrong.append(f"{check}: still yes after {statements}")
            if (fewer := case.smaller()) is not None:
                wrong.append(f"{check}: {fewer} would do instead of {statements}")
            wrong += [f"{check}: {deny}" for deny in case.wrong_denies()]
    closing(f"revocations, {policy}: by number of statements {sizes}; {denies} with a DENY; {len(wrong)} wrong")
    assert not wrong, "\n".join(wrong[:10])
    assert sum(sizes.values()) > 10
