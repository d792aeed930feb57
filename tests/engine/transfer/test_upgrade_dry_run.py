"""A dry run of a policy upgrade lists the violations, or exactly the facts that would be added and removed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from grantpath.engine.policy import policy
from grantpath.engine.policy.schema import BUILT_IN
from grantpath.engine.tenants import registry
from grantpath.engine.transfer.policy_upgrade import upgrade
from grantpath.graph.guard.store import Store

from ...conftest import Tenants
from ...support.command_line import Run, run
from ...support.small_estate import FACTS
from ..change.test_batches import state
from ..change.test_deltas import statements_of
from ..tenants.test_policy_upgrades import edited, reopened

__all__ = ["edited", "run"]
PUBLIC = ("builtin:\n", "builtin:\n  role:public: {held_by_every: user, allow: USE_CATALOG}\n")
SELECT = '  SELECT_TABLE: {on: "metalake, catalog, schema, table"}'
RENAMED = (SELECT, SELECT.replace("SELECT", "READ") + "\n  SELECT_TABLE: {alias_of: READ_TABLE}")


@pytest.mark.parametrize("changes", [(PUBLIC,), (RENAMED,), (PUBLIC, RENAMED)])
def test_dry_run_lists_exactly_the_changes_of_the_upgrade(
    tenant: Tenants, edited: Callable[..., policy.Policy], changes: tuple[tuple[str, str], ...]
) -> None:
    auth, new = tenant(given=FACTS), edited(*changes)
    before, there = state(auth), statements_of(auth)
    planned = upgrade(auth, new, dry_run=True)
    assert (state(auth), statements_of(auth), planned.changed, planned.problems) == (before, there, True, [])
    assert upgrade(auth, new).revision == planned.revision + 1
    after = statements_of(reopened(auth))
    assert (set(planned.added), set(planned.removed)) == (after - there, there - after)
    assert planned.renamed == ({"SELECT_TABLE": "READ_TABLE"} if RENAMED in changes else {})
    back = upgrade(reopened(auth), edited(), dry_run=True)
    if changes == (PUBLIC,):
        assert (set(back.added), set(back.removed)) == (set(), set(planned.added))


def test_dry_run_lists_violations_of_the_policy(tenant: Tenants, edited: Callable[..., policy.Policy]) -> None:
    auth = tenant(given=FACTS)
    planned = upgrade(auth, edited(("  role: user, group", "  role: user")), dry_run=True)
    assert (planned.changed, len(planned.problems)) == (False, 1)
    assert planned.problems[0].startswith("member group:readers of role:analyst: ")
    same = upgrade(auth, auth.policy, dry_run=True)
    assert (same.changed, same.problems, same.added, same.removed) == (False, [], [], [])


def test_command_lists_changes_and_violations(run: Run, store: Store, tmp_path: Path) -> None:
    name, mine = f"metalake:rehearsed-{tmp_path.name}", tmp_path / "mine.yaml"
    source = (BUILT_IN / "gravitino.yaml").read_text()
    words = ["--root", name]
    try:
        assert run("change", "add user:ann", *words, "--policy", "gravitino", "--create").code == 0
        mine.write_text(source.replace(*PUBLIC))
        planned = run("policy", "upgrade", str(mine), "--dry-run", *words)
        assert planned.code == 0 and planned.out.startswith("would be upgraded to gravitino, 1 fact "), planned.err
        assert "\n  + role:public\n" in planned.out and "  + member user:ann of role:public" in planned.out
        printed = run("policy", "upgrade", str(mine), "--dry-run", "--json", *words).json
        assert (printed["dry_run"], printed["changed"], printed["problems"], printed["revision"]) == (True, True, [], 1)
        assert "add role:public" in printed["added"]
        assert run("change", "add role:public", *words).code == 0
        against = run("policy", "upgrade", str(mine), "--dry-run", *words)
        assert (against.code, "would be refused" in against.out, "add role:public: " in against.out) == (2, True, False)
        assert "role:public: role:public is built into gravitino" in against.out
    finally:
        registry.remove(store, name)
