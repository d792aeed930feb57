"""The reasons of an answer are the same by Cypher, from memory and for the past: because, missing, paths and remedy."""

from functools import partial

import pytest

from ..conftest import Closing, Tenants
from ..support.random_world import random_checks
from ..support.sizes import size
from ..support.twin import POLICIES, SEED, Twin, _asked, as_check
from ..support.with_replica import with_replica

pytestmark = pytest.mark.trust

CHECKS, FACTS, EXPLAINED = size(full=4_000, short=600), size(full=400, short=120), size(full=200, short=25)


@pytest.mark.parametrize("policy", POLICIES)
def test_reasons_are_the_same_in_every_mode(tenant: Tenants, closing: Closing, policy: str) -> None:
    twin = Twin(tenant, policy, f"{SEED}.reasons", FACTS)
    plain, memory = twin.graph, with_replica(twin.graph)
    past = plain.past(plain.revision_now())
    checks = [as_check(_asked(*check)) for check in random_checks(twin.world, twin.rng, CHECKS)]
    different = []
    by_cypher = plain.check_many(checks)
    for name, others in (("memory", memory.check_many(checks)), ("past", plain.check_many(checks, as_of=past))):
        for one, other in zip(by_cypher, others, strict=True):
            if one.model_dump() != other.model_dump():
                different.append((name, one.question, one.because, other.because, one.missing, other.missing))
    for check in twin.rng.sample(checks, min(EXPLAINED, len(checks))):
        explain = partial(
            plain.explain, check.subject, check.name, check.object, as_role=check.as_role, with_=check.with_
        )
        one, other = explain(), explain(as_of=past)
        if one.model_dump() != other.model_dump():
            different.append(("explain", one.question, one.paths, other.paths, one.missing, other.missing))
    closing(f"reasons, {policy}: {2 * len(checks):,} decisions, {len(different)} differ; seed {SEED}")
    assert not different, different[:3]


def test_order_of_second_objects_does_not_change_reasons(tenant: Tenants) -> None:
    facts = ["add namespace:n", "add artifact:n.a", "add kerberos_principal:k", "add user:u"]
    auth = tenant("cdap", facts, root="cdap")
    asked = ("user:u", "deploy_application", "application:n.app")
    named = {"principal": "kerberos_principal:k", "artifact": "artifact:n.a"}
    turned = dict(reversed(named.items()))
    for ask in (auth.check, auth.explain, with_replica(auth).check):
        assert ask(*asked, with_=named).missing == ask(*asked, with_=turned).missing != []
