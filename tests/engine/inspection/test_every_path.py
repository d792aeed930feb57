"""`explain(..., all=True)` has every path of every deciding fact, and a selection has `complete` false."""

import re
import time

import pytest

from ...conftest import Closing, Tenants
from ...oracle import Oracle
from ...support.random_world import random_checks
from ...support.sizes import size
from ...support.twin import POLICIES, SEED, Twin

pytestmark = pytest.mark.trust
FACTS, CHECKS = size(400, 160), size(300, 50)
TABLE = "table:c.s.t"
COMPANY = ["add catalog:c", "add schema:c.s", f"add {TABLE}", "add role:a", "add role:b"]
EDGE = re.compile(r"(\S+) -(ALLOW|DENY|OWNS)(?: (\w+))?-> (\S+)")


def without_the_paths(world: Oracle, paths: list[str]) -> Oracle:
    """The world without the grants, owners and last memberships that the paths show."""
    left = world.clone()
    for path in paths:
        found = EDGE.search(path)
        if found is None:
            member, _, container = re.findall(r"(\S+) -(MEMBER_OF|HAS_ROLE)-> (\S+)", path)[-1]
            left.containers[left.resolve(member)].discard(left.resolve(container))
            continue
        by, kind, privilege, place = found.groups()
        if kind == "OWNS":
            assert str(left.owners.pop(left.resolve(place), by)) == by
        else:  # directly: a grant that the policy brings cannot be revoked
            left.grants.discard((kind.lower(), privilege, left.resolve(place), left.resolve(by)))
    return left


@pytest.mark.parametrize("policy", POLICIES)
def test_yes_becomes_no_without_the_edges_of_all_paths(tenant: Tenants, closing: Closing, policy: str) -> None:
    twin = Twin(tenant, policy, f"{SEED}.paths", FACTS)
    selections = complete = still = 0
    for subject, name, object_, with_, role in random_checks(twin.world, twin.rng, CHECKS):
        if " " in subject + object_ or "\n" in subject + object_:
            continue  # the expressions of this test split paths at blanks
        asked = {"with_": with_, "as_role": role}
        one = twin.graph.explain(subject, name, object_, **asked)  # type: ignore[arg-type]
        every = twin.graph.explain(subject, name, object_, all=True, **asked)  # type: ignore[arg-type]
        assert one.decision == every.decision
        assert one.remedy == every.remedy
        if every.complete:
            assert {*one.paths} <= {*every.paths}
            assert one.complete == ({*one.paths} == {*every.paths})
        paths = [path for path in every.paths if path not in every.decision.because]
        selections += not one.complete
        if not (every and every.complete and paths) or any(" `" in path for path in paths):
            continue
        complete += 1
        left = without_the_paths(twin.world, paths)
        assert not left.check(subject, name, object_, with_, role)
        still += without_the_paths(twin.world, one.paths).check(subject, name, object_, with_, role)
    closing(
        f"explain --all, {policy}: {complete} yes explained completely, each no without what it shows; "
        f"{selections} usual explanations are selections, without which {still} would still be yes"
    )
    assert complete


def test_every_role_that_allows_is_shown(tenant: Tenants) -> None:
    facts = [f"allow {privilege} on {TABLE} to role:{role}" for privilege in ("SELECT_TABLE",) for role in "ab"]
    above = [f"allow {privilege} on metalake:ml to user:u" for privilege in ("USE_CATALOG", "USE_SCHEMA")]
    members = [
        "member user:u of role:a",
        "member user:u of group:g",
        "member group:g of role:b",
        "member group:g of role:a",
    ]
    auth = tenant("lakehouse", [*COMPANY, *members, *facts, *above, f"owner user:u of {TABLE}"])
    one = auth.explain("user:u", "load_table", TABLE)
    every = auth.explain("user:u", "load_table", TABLE, all=True)
    up = f"-> metalake:ml <-CHILD_OF- catalog:c <-CHILD_OF- schema:c.s <-CHILD_OF- {TABLE}"
    assert every.paths == [
        f"user:u -ALLOW USE_CATALOG{up}",
        f"user:u -ALLOW USE_SCHEMA{up}",
        f"user:u -HAS_ROLE-> role:a -ALLOW SELECT_TABLE-> {TABLE}",
        f"user:u -MEMBER_OF-> group:g -HAS_ROLE-> role:a -ALLOW SELECT_TABLE-> {TABLE}",
        f"user:u -MEMBER_OF-> group:g -HAS_ROLE-> role:b -ALLOW SELECT_TABLE-> {TABLE}",
        f"user:u -OWNS-> {TABLE}",
    ]
    assert (one.complete, every.complete) == (False, True)


def test_explanation_without_another_path_is_complete(tenant: Tenants) -> None:
    auth = tenant("lakehouse", [*COMPANY, f"allow SELECT_TABLE on {TABLE} to role:a", "member user:u of role:a"])
    one = auth.explain("user:u", "SELECT_TABLE", TABLE)
    assert (one.complete, one.paths) == (True, [f"user:u -HAS_ROLE-> role:a -ALLOW SELECT_TABLE-> {TABLE}"])
    auth.given(["member user:u of group:g", "member group:g of role:a"])
    assert not auth.explain("user:u", "SELECT_TABLE", TABLE).complete
    assert auth.explain("user:none", "SELECT_TABLE", TABLE, all=True).paths == []


def test_every_deny_that_stops_a_grant_is_shown(tenant: Tenants) -> None:
    denied = [f"deny SELECT_TABLE on {place} to role:{role}" for place, role in ((TABLE, "a"), ("catalog:c", "b"))]
    members = ["member user:u of role:a", "member user:u of role:b"]
    auth = tenant("lakehouse", [*COMPANY, *members, *denied, f"allow SELECT_TABLE on {TABLE} to user:u"])
    every = auth.explain("user:u", "SELECT_TABLE", TABLE, all=True)
    assert (bool(every), every.complete) == (False, True)
    assert every.paths == [
        f"user:u -HAS_ROLE-> role:a -DENY SELECT_TABLE-> {TABLE}",
        f"user:u -HAS_ROLE-> role:b -DENY SELECT_TABLE-> catalog:c <-CHILD_OF- schema:c.s <-CHILD_OF- {TABLE}",
    ]
    auth.given([f"revoke allow SELECT_TABLE on {TABLE} from user:u"])
    assert auth.explain("user:u", "SELECT_TABLE", TABLE, all=True).paths == []


def test_a_million_routes_are_cut_at_ten(tenant: Tenants) -> None:
    facts = []
    for level in range(20):
        for side in ("left", "right"):
            facts += [f"member group:{side}{level} of group:mid{level}"]
            facts += [f"member group:mid{level - 1} of group:{side}{level}"] if level else []
    ends = ["member user:u of group:left0", "member user:u of group:right0"]
    auth = tenant("lakehouse", [*COMPANY, *facts, *ends, f"allow SELECT_TABLE on {TABLE} to group:mid19"])
    start = time.perf_counter()
    every = auth.explain("user:u", "SELECT_TABLE", TABLE, all=True)
    assert time.perf_counter() - start < 20  # usually well under a second
    assert (len(every.paths), every.complete) == (10, False)
    assert not auth.explain("user:u", "SELECT_TABLE", TABLE).complete
