"""The policy in the graph says what the policy in Python says: check_by_name.cypher = Authorizer.check."""

import pytest

from grantpath.graph.statement import Check

from ..conftest import Closing, Tenants
from ..support.by_name import by_name
from ..support.random_proposals import Proposals
from ..support.sizes import size
from ..support.twin import POLICIES, Twin

pytestmark = pytest.mark.trust


@pytest.mark.parametrize("policy", POLICIES)
def test_every_operation_is_decided_by_name_as_by_python(module_tenant: Tenants, closing: Closing, policy: str) -> None:
    """Checks of random worlds until each operation and privilege of the policy was asked on each of its types."""
    twin = Twin(module_tenant, policy, "by name", 120)
    graph = twin.graph
    proposals = Proposals(twin.world, twin.rng)
    named = [(type_, *each) for type_ in twin.world.types for each in twin.world.names_on(type_)]
    asked = [check for each in named for _ in range(size(20, 1)) if (check := _some_check(twin, proposals, *each))]
    different = []
    decisions = graph.check_many(asked)
    for each, decision in zip(asked, decisions, strict=True):
        row = by_name(graph, "check_by_name", each.subject, each.name, each.object, each.with_, each.as_role)
        reasoned = decision.allowed is bool(row["because"]) or "every user may" in str(decision.because)
        if row["allowed"] is not decision.allowed or (decision.allowed and not reasoned):
            different.append(f"{each}: {decision.allowed}, by name {dict(row)}")
    names = {(each.name, each.object.partition(":")[0]) for each in asked}
    yes = sum(decision.allowed for decision in decisions)
    closing(f"by name, {policy}: {len(asked)} checks of {len(names)} names, {yes} yes, {len(different)} different")
    assert different == []
    assert names == {(name, type_) for type_, name, _ in named}


def _some_check(twin: Twin, proposals: Proposals, type_: str, name: str, keys: dict[str, str]) -> Check | None:
    """A check of that name; in half of the cases one that is answered yes, as far as a few tries find it."""
    wanted, found = twin.rng.random() < 0.5, None
    for _ in range(12):
        found = proposals.check(type_, name, keys) or found
        if found and twin.world.check(*found) == wanted:
            break
    if found is None:
        return None
    subject, name, on, with_, role = found
    return Check(subject=subject, name=name, object=on, with_=with_, as_role=role)
