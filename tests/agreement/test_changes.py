"""Changes by actors have the oracle's outcome (done, refused or invalid), and afterwards both decide alike."""

from collections import Counter
from collections.abc import Callable

import pytest

from grantpath.engine import Authorizer, Invalid, Refused

from ..conftest import Closing, Tenants
from ..support.random_world import Attempt, random_statements
from ..support.twin import POLICIES, SEED, Twin

WORLDS = 2
ROUNDS = 2
CHANGES = 50  # a round


def outcome(graph: Authorizer, attempt: Attempt) -> tuple[str, bool]:
    """done, refused or invalid; and whether it changed anything."""
    statement, by, as_role = attempt
    try:
        change = graph.change(statement, by=by, as_role=as_role)
    except Refused:
        return "refused", False
    except Invalid:
        return "invalid", False
    return "done", change.id is not None


def revision(graph: Authorizer) -> int:
    return int(graph.ask("tenant_state")["revision"])


def change_randomly(twin: Twin, outcomes: Counter[str], revision: Callable[[Authorizer], int]) -> None:
    """Makes random changes in the oracle and in the graph, and compares outcomes, revisions and checks after them."""
    for _ in range(ROUNDS):
        before, changed = revision(twin.graph), 0
        for attempt in random_statements(twin.world.policy, twin.world, twin.rng, CHANGES):
            wanted = twin.world.do(*attempt)
            got, changes = outcome(twin.graph, attempt)
            twin.compare(f"do {attempt}", wanted, got)
            changed += changes
            outcomes[wanted] += 1
        twin.compare("the revision", before + changed, revision(twin.graph))
        twin.check_random(250)


@pytest.mark.parametrize("policy", POLICIES)
def test_random_changes_have_the_outcomes_of_the_oracle(tenant: Tenants, closing: Closing, policy: str) -> None:
    outcomes: Counter[str] = Counter()
    for number in range(WORLDS):
        twin = Twin(tenant, policy, f"changes {SEED}.{number}", 90)
        change_randomly(twin, outcomes, revision)
        assert not twin.differences, twin.report()
    told = ", ".join(f"{outcomes[each]} {each}" for each in ("done", "refused", "invalid"))
    closing(f"changes, {policy}: the graph and the oracle in {outcomes.total()} changes ({told}); seed {SEED}")
    assert min(outcomes[each] for each in ("done", "refused", "invalid")) >= 15
