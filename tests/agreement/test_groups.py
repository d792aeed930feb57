"""Changes of many actors that wait together have the outcomes that the oracle has one after the other."""

from collections import Counter
from functools import partial

import pytest

from grantpath.engine import Authorizer, Change, Invalid, Refused
from grantpath.engine.change.group_commit import Member
from grantpath.engine.change.service import ChangeService
from grantpath.graph.guard.transaction import Writing

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


def member(service: ChangeService, attempt: Attempt) -> Member | None:
    """A change that may be made with others; None for another one, and for a wrong statement, which does not wait."""
    statement, by, as_role = attempt
    try:
        step = service._step(statement, service._actor(by, as_role))
    except Invalid:
        return None
    return service._member(step, None) if service._may_join(step) else None


def shuffled(twin: Twin) -> list[Attempt]:
    """Random changes, some of which are wrong because they would be right in another order."""
    attempts = random_statements(twin.world.policy, twin.world, twin.rng, CHANGES)
    twin.rng.shuffle(attempts)
    return attempts


def say(closing: Closing, what: str, policy: str, outcomes: Counter[str]) -> None:
    """Prints the outcomes; there must be many right changes, and some wrong ones."""
    told = ", ".join(f"{outcomes[each]} {each}" for each in ("done", "refused", "invalid"))
    closing(f"{what}, {policy}: the graph and the oracle in {outcomes.total()} changes ({told}); seed {SEED}")
    assert outcomes["done"] >= 20 and outcomes["refused"] + outcomes["invalid"] >= 10


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
        outcomes += compare(twin, [each for each in shuffled(twin) if member(twin.graph._service, each)])
        twin.check_random(250)
        assert not twin.differences, twin.report()
        assert content(copy) == content(with_replica(twin.graph)), "the log and the graph differ"
    say(closing, "groups", policy, outcomes)


@pytest.mark.parametrize("policy", POLICIES)
def test_outcomes_in_one_transaction_are_those_of_the_oracle(tenant: Tenants, closing: Closing, policy: str) -> None:
    """Every outcome, also of the wrong ones, is the one that the change has after those before it."""
    outcomes = Counter[str]()
    twin = Twin(tenant, policy, f"one transaction {SEED}", 90)
    service = twin.graph._service
    for _ in range(ROUNDS):
        attempts = [(each, found) for each in shuffled(twin) if (found := member(service, each))]
        twin.graph.store.write(twin.graph.tenant, partial(together, service, [found for _, found in attempts]))
        for attempt, found in attempts:
            got = "done" if found.tried else outcome(found.step.error or AssertionError("neither done nor wrong"))
            wanted = twin.world.do(*attempt)
            twin.compare(f"do {attempt}", wanted, got)
            outcomes[wanted] += 1
        twin.check_random(250)
        assert not twin.differences, twin.report()
    say(closing, "one transaction", policy, outcomes)


@pytest.mark.parametrize("policy", POLICIES)
def test_each_statement_has_the_outcome_of_the_oracle(tenant: Tenants, closing: Closing, policy: str) -> None:
    """Facts and changes of an actor by turns, also those that are made alone."""
    outcomes = Counter[str]()
    twin = Twin(tenant, policy, f"each {SEED}", 90)
    copy = with_replica(twin.graph)
    for number in range(ROUNDS):
        attempts = shuffled(twin)
        by = twin.rng.choice([by for _, by, _ in attempts if by]) if number % 2 else None
        statements = [statement for statement, _, _ in attempts]
        for statement, found in zip(statements, twin.graph.change_all(statements, by=by, each=True), strict=True):
            wanted = twin.world.do(statement, by)
            twin.compare(f"do {statement} by {by}", wanted, outcome(found))
            outcomes[wanted] += 1
        twin.check_random(250)
        assert not twin.differences, twin.report()
        assert content(copy) == content(with_replica(twin.graph)), "the log and the graph differ"
    say(closing, "each", policy, outcomes)


def together(service: ChangeService, group: list[Member], writing: Writing) -> None:
    service._together(writing, group, None)
