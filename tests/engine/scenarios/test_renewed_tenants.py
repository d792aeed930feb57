"""The scenarios of a run share tenants, and each finds its tenant as if it had just been created."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine import Authorizer, Inconsistent, Refused, Unknown
from grantpath.engine.policy import policy as policies
from grantpath.engine.scenarios import runner
from grantpath.engine.scenarios.scenario_file import read_scenarios
from grantpath.engine.tenants import lifecycle, registry
from grantpath.engine.transfer import importer
from grantpath.engine.transfer.policy_upgrade import upgrade
from grantpath.graph.guard.store import Store
from grantpath.graph.language.reference import Reference

from ...conftest import Tenants
from ...support.table_files import write_csv

FACTS = ["add catalog:hr", "add role:r", "member user:ann of role:r", "member user:ops of role:service_admin"]
SCENARIO = """\
scenario: {name}
policy: {policy}
root: {root}
given: {given}
then: {then}
"""


def stored(auth: Authorizer) -> Counter[str]:
    """All nodes and relationships of a root; without what differs from creation to creation."""
    nodes = auth.store.read(
        "MATCH (n {root: $root}) WHERE NOT n:Heartbeat AND NOT n:Writer "
        "RETURN labels(n) AS labels, properties(n) AS has",
        {"root": auth.tenant},
    )
    edges = auth.store.read(
        "MATCH (a {root: $root})-[e]->(b) RETURN type(e) AS type, properties(e) AS has, "
        "coalesce(a.ref, a.name, a.id) AS a, coalesce(b.ref, b.name, b.id) AS b",
        {"root": auth.tenant},
    )

    return Counter(str(_sorted(row)) for row in [*nodes, *edges])


def _sorted(row: Mapping[str, Any]) -> dict[str, Any]:
    has = {key: row["has"][key] for key in sorted(row["has"]) if key not in ("made", "root", "locked")}
    return {**row, "has": has, "labels": sorted(row.get("labels", []))}


def uses(auth: Authorizer, folder: Path) -> None:
    """Leaves something of every kind in a root."""
    auth.change("add user:bob", id="mine")
    auth.change_all(["add catalog:a", "drop catalog:hr"], id="both")
    with pytest.raises(Refused):
        auth.change("add catalog:b", by="user:ann", id="no")
    write_csv(folder / "subjects.csv", ["ref"], [["user:loaded"]])
    importer.load(auth, folder)
    auth.change(f"owner user:ann of {auth.root}")


@pytest.mark.parametrize("policy", ["gravitino", "deltastream", "onehouse", "cdap", "cdap_design"])
def test_renewed_root_is_as_a_new_one(tenant: Tenants, policy: str) -> None:
    fresh, used = tenant(policy), tenant(policy)
    user = next(name for name, entry in used.policy.file.types.items() if entry.kind == "user")
    used.change(f"add {user}:ann", id="mine")
    before = used.state_now()
    registry.renew(used.store, used.tenant, used.policy, used.root)
    assert (stored(used) - stored(fresh), stored(fresh) - stored(used)) == (Counter(), Counter())
    assert used.state_now()[0] == 0 and used.state_now()[1] != before[1]


def test_nothing_is_left_in_a_renewed_root(tenant: Tenants, tmp_path: Path) -> None:
    fresh, used = tenant(), tenant(given=FACTS)
    uses(used, tmp_path)
    for _ in range(2):
        registry.renew(used.store, used.tenant, used.policy, used.root)
        assert (stored(used) - stored(fresh), stored(fresh) - stored(used)) == (Counter(), Counter())
        assert (used.log(), used.log(refused=True), used.revision_now()) == ([], [], 0)
        assert used.given(FACTS) == [None] * len(FACTS)  # and it can be used again
        done = [used.change("add user:bob", id="mine"), *used.change_all(["add catalog:a", "add user:x"], id="both")]
        assert [(each.already, each.revision) for each in done] == [(False, 7), (False, 8), (False, 9)]


def test_renewed_root_has_its_policy_again(tenant: Tenants, tmp_path: Path) -> None:
    fresh, dropped, upgraded = tenant(), tenant(given=FACTS), tenant(given=FACTS)
    dropped.change(f"drop {dropped.root}")
    (tmp_path / "mine.yaml").write_text("extends: gravitino\npolicy: mine\n")
    upgrade(upgraded, policies.load(str(tmp_path / "mine.yaml")))
    for used in (dropped, upgraded):
        registry.renew(used.store, used.tenant, fresh.policy, used.root)
        assert (stored(used) - stored(fresh), stored(fresh) - stored(used)) == (Counter(), Counter())


def test_root_that_changes_meanwhile_is_not_renewed(tenant: Tenants, monkeypatch: pytest.MonkeyPatch) -> None:
    auth, before = tenant(given=FACTS), lifecycle._compared
    monkeypatch.setattr(lifecycle, "_compared", lambda marks: {**before(marks), "revision": marks.revision - 1})
    there = stored(auth)
    with pytest.raises(Inconsistent, match="was changed by another caller; try again"):
        registry.renew(auth.store, auth.tenant, auth.policy, auth.root)
    assert stored(auth) == there
    with pytest.raises(Unknown, match="does not exist"):
        registry.renew(auth.store, f"{auth.tenant}x", auth.policy, auth.root)


def test_scenarios_share_tenants_and_see_nothing_of_each_other(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = "[add catalog:hr, member user:ann of group:g, allow CREATE_CATALOG on metalake:ml to role:r]"
    facts = "[add role:r, add catalog:hr, member user:ann of role:r, allow CREATE_CATALOG on metalake:ml to role:r]"
    later = "[{do: add catalog:new, by: user:ann}, {do: drop metalake:ml}]"
    empty = (
        "[{do: add catalog:hr}, {do: drop user:ann, invalid: true}, {check: user:ann can CREATE_CATALOG on role:r, "
        "error: true}, {ask: which catalog can user:x load_catalog, answer: []}, user:ann cannot load_catalog on "
        "catalog:hr]"
    )
    documents = [
        SCENARIO.format(name="one", policy="gravitino", root="ml", given=facts, then=later),
        SCENARIO.format(name="two", policy="gravitino", root="ml", given="[]", then=empty),
        SCENARIO.format(name="wrong", policy="gravitino", root="ml", given=given, then=empty),
        SCENARIO.format(name="three", policy="gravitino", root="other", given="[]", then=empty),
        SCENARIO.format(name="four", policy="lakehouse", root="ml", given="[]", then=empty),
        SCENARIO.format(name="five", policy="gravitino", root="ml", given="[]", then=empty),
    ]
    file = tmp_path / "some.yaml"
    file.write_text("---\n".join(documents))
    made: list[str] = []
    create = registry.create

    def noting(store: Store, tenant: str, policy: policies.Policy, root: Reference) -> bool:
        made.append(tenant)
        return create(store, tenant, policy, root)

    monkeypatch.setattr(registry, "create", noting)
    report = runner.run(read_scenarios(file), store)
    failed = [(each.scenario, each.statement) for each in report.results if not each.passed]
    assert failed == [("wrong", "allow CREATE_CATALOG on metalake:ml to role:r")]
    assert len(made) == len(set(made)) == 3
    for tenant in made:
        assert store.read("MATCH (n {root: $root}) WHERE NOT n:Heartbeat RETURN n", {"root": tenant}) == []


def test_tenants_are_removed_when_a_run_fails(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    then = "[user:a can load_catalog on catalog:c]"
    document = SCENARIO.format(name="one", policy="gravitino", root="ml", given="[]", then=then)
    (tmp_path / "some.yaml").write_text(document)
    made: list[str] = []

    def failing(store: Store, tenant: str, *_: object) -> Authorizer:
        made.append(tenant)
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "Authorizer", failing)
    with pytest.raises(KeyboardInterrupt):
        runner.run(read_scenarios(tmp_path / "some.yaml"), store)
    assert len(made) == 1 and registry.find(store, made[0]) is None
