"""Changes of many actors that wait together have the outcomes that the oracle has one after the other."""

from collections import Counter
from functools import partial

import pytest

from grantpath.engine import Authorizer, Change, Invalid, Refused

from ..conftest import Closing, Tenants
from ..oracle import Oracle
from ..support.at_once import Outcome, at_once
from ..support.random_world import Attempt, random_statements
from ..support.twin import POLICIES, SEED, Twin
from ..support.with_replica import content, with_replica

ROUNDS, CHANGES = 4, 24


def change(attempt: Attempt, auth: Authorizer) -> Change:
    statement, by, as_role = attempt
    return auth.change(statement, by=by, as_role=as_role)


def may_join(attempt: Attempt, auth: Authorizer) -> bool:
    """Whether a change is made with others. One with a wrong statement ends before it waits."""
    statement, by, as_role = attempt
    try:
        return auth._service._may_join(auth._service._step(statement, auth._service._actor(by, as_role)))
    except Invalid:
        return True


def outcome(found: Outcome) -> str:
    if isinstance(found, Change):
        return "done"
    assert isinstance(found, Refused | Invalid), found
    return "refused" if isinstance(found, Refused) else "invalid"


def compare(twin: Twin, attempts: list[Attempt]) -> Counter[str]:
    """Makes changes together. The oracle makes those that were accepted, in the order of their revisions; the others
    must be wrong in the oracle, in one of the states that it then has."""
    outcomes = at_once(twin.graph, [partial(change, each) for each in attempts])
    done = [(found, attempt) for found, attempt in zip(outcomes, attempts, strict=True) if isinstance(found, Change)]
    done.sort(key=lambda each: (each[0].revision, each[0].id is None))
    states: list[Oracle] = [twin.world.clone()]
    for made, attempt in done:
        twin.compare(f"do {attempt} at revision {made.revision}", twin.world.do(*attempt), "done")
        states.append(twin.world.clone())
    for found, attempt in zip(outcomes, attempts, strict=True):
        if not isinstance(found, Change):
            possible = {state.clone().do(*attempt) for state in states}
            twin.compare(f"do {attempt}", outcome(found) in possible, True)
    return Counter(map(outcome, outcomes))


@pytest.mark.parametrize("policy", POLICIES)
def test_changes_that_wait_together_are_as_one_after_the_other(tenant: Tenants, closing: Closing, policy: str) -> None:
    outcomes = Counter[str]()
    twin = Twin(tenant, policy, f"groups {SEED}", 90)
    copy = with_replica(twin.graph)
    for _ in range(ROUNDS):
        attempts = random_statements(policy, twin.world, twin.rng, CHANGES)
        twin.rng.shuffle(attempts)  # so that some are wrong that would be right in their first order
        outcomes += compare(twin, [each for each in attempts if may_join(each, twin.graph)])
        twin.check_random(250)
        assert not twin.differences, twin.report()
        assert content(copy) == content(with_replica(twin.graph)), "the log and the graph differ"
    told = ", ".join(f"{outcomes[each]} {each}" for each in ("done", "refused", "invalid"))
    closing(f"groups, {policy}: the graph and the oracle in {outcomes.total()} changes ({told}); seed {SEED}")
    assert outcomes["done"] >= 20 and outcomes["refused"] + outcomes["invalid"] >= 10
