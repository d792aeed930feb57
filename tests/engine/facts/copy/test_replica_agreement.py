"""A copy of the facts decides as Cypher and the oracle do, whether it was read at once or followed every change."""

from collections.abc import Iterable

import pytest

from grantpath.engine import Authorizer

from ....conftest import Closing, Tenants
from ....support.sizes import size
from ....support.tiers import others_slow
from ....support.twin import POLICIES, SEED, Twin, as_check
from ....support.with_replica import content, replica_of, with_replica

CHECKS, ROUNDS = size(full=400, short=250), size(full=20, short=1)
FACTS = size(full=500, short=100)
STEP = 40  # facts between two questions


class FollowedTwin(Twin):
    """A tenant whose copy is read while it is empty, and then follows all changes."""

    def say(self, facts: Iterable[str]) -> None:
        facts = list(facts)
        for at in range(0, len(facts), STEP):
            super().say(facts[at : at + STEP])
            assert replica_of(self.graph).current(self.graph.policy), "nobody writes now, so the copy is proved"


class ReplicaTenants(Tenants):
    """Creates tenants that have a copy of their facts from the beginning."""

    def __call__(self, policy_name: str = "gravitino", given: Iterable[str] = (), root: str = "ml") -> Authorizer:
        return with_replica(super().__call__(policy_name, given, root))


@pytest.fixture
def replica_tenant(tenant: Tenants) -> ReplicaTenants:
    made = ReplicaTenants(tenant._store)
    made._made = tenant._made  # the fixture `tenant` removes them
    return made


@pytest.mark.trust
@pytest.mark.parametrize("policy", others_slow(POLICIES))
def test_copy_that_follows_every_change_decides_as_the_oracle(
    replica_tenant: ReplicaTenants, closing: Closing, policy: str
) -> None:
    twin = FollowedTwin(replica_tenant, policy, f"{SEED}.replica", FACTS)
    followed, plain = twin.graph, Authorizer(twin.graph.store, twin.graph.tenant, twin.graph.policy, twin.graph.root)
    fresh = with_replica(plain)
    twin.say_bad_ones(30)
    for _ in range(ROUNDS):
        twin.check_random(CHECKS)
        twin.list_everything()
    twin.ask_wrongly(100)
    checks = [as_check(asked) for asked in twin.decided]
    by_cypher = plain.check_many(checks)
    for auth in (followed, fresh):
        for expected, got in zip(by_cypher, auth.check_many(checks), strict=True):
            assert got.model_dump() == expected.model_dump()
            assert len(got.evidence.acted) == len(expected.evidence.acted)
    copy = replica_of(followed)
    closing(
        f"agreement, {policy}: a copy of the facts and the oracle in {len(twin.decided):,} decisions, "
        f"{twin.allowed:,} answers yes, {twin.errors} errors to both; {copy.answered} questions from memory, "
        f"{copy.left} left to Cypher, {len(twin.differences)} differences; seed {SEED}"
    )
    assert not twin.differences, twin.report()
    assert copy.left == 0
    assert content(followed) == content(fresh)
