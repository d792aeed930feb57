"""A dry run lists exactly the facts that the change then adds and removes, with all consequences."""

import random
from pathlib import Path

import pytest

from grantpath.engine import Authorizer, GrantpathError
from grantpath.engine.change.deltas import Delta, net

from ...conftest import Tenants
from ...oracle import oracle
from ...support.command_line import Run, facts, run
from ...support.random_world import ROOT_NAME, random_statements, random_world
from ...support.sizes import size
from ...support.tiers import others_slow
from ...support.twin import POLICIES
from .test_batches import state

pytestmark = pytest.mark.trust

__all__ = ["facts", "run"]

FACTS = [
    "add catalog:hr",
    "add schema:hr.s",
    "add table:hr.s.t",
    "add user:ann",
    "add user:bob",
    "add role:analyst",
    "member user:bob of role:analyst",
    "owner user:ann of catalog:hr",
    "allow SELECT_TABLE on table:hr.s.t to role:analyst",
    "deny SELECT_TABLE on schema:hr.s to role:analyst",
    "allow CREATE_CATALOG on metalake:ml to role:analyst",
    "allow USE_CATALOG on metalake:ml to role:analyst",
]


def statements_of(auth: Authorizer) -> set[str]:
    """All facts of the graph as statements, including those of the policy; read by a query of the test."""
    text = """MATCH (e:Entity {root: $root}) WHERE coalesce(e.exists, true) RETURN 'add ' + e.ref AS fact
    UNION MATCH (a:Entity {root: $root})-[:MEMBER_OF|HAS_ROLE]->(b) RETURN 'member ' + a.ref + ' of ' + b.ref AS fact
    UNION MATCH (a:Entity {root: $root})-[:OWNS]->(b) RETURN 'owner ' + a.ref + ' of ' + b.ref AS fact
    UNION MATCH (a:Entity {root: $root})-[:TAGGED]->(b) RETURN 'tag ' + a.ref + ' with ' + b.ref AS fact
    UNION MATCH (a:Entity {root: $root})-[g:ALLOW|DENY]->(b)
    RETURN toLower(type(g)) + ' ' + g.privilege + ' on ' + b.ref + ' to ' + a.ref AS fact"""
    return {row["fact"] for row in auth.store.execute(text, {"root": auth.tenant})}


def test_drop_lists_all_removed_facts(tenant: Tenants) -> None:
    auth = tenant(given=FACTS)
    before = state(auth)
    done = auth.change("drop catalog:hr", dry_run=True)
    assert set(done.removed) == {
        "add catalog:hr",
        "add schema:hr.s",
        "add table:hr.s.t",
        "owner user:ann of catalog:hr",
        "allow SELECT_TABLE on table:hr.s.t to role:analyst",
        "deny SELECT_TABLE on schema:hr.s to role:analyst",
    }
    assert done.removed[-3:] == ["add table:hr.s.t", "add schema:hr.s", "add catalog:hr"]
    assert (done.added, state(auth), auth.change("drop catalog:hr").removed) == ([], before, [])


@pytest.mark.parametrize(
    ("statement", "by", "added", "removed"),
    [
        ("owner user:bob of catalog:hr", None, ["owner user:bob of catalog:hr"], ["owner user:ann of catalog:hr"]),
        ("add catalog:new", "user:bob", ["add catalog:new", "owner user:bob of catalog:new"], []),
        ("drop user:bob", None, [], ["member user:bob of role:analyst", "add user:bob"]),
        ("add table:hr.s.u", None, ["add table:hr.s.u"], []),
        ("member user:bob of role:analyst", None, [], []),
        (
            "revoke allow SELECT_TABLE on table:hr.s.t from role:analyst",
            None,
            [],
            ["allow SELECT_TABLE on table:hr.s.t to role:analyst"],
        ),
    ],
)
def test_each_kind_of_change_lists_its_facts(
    tenant: Tenants, statement: str, by: str | None, added: list[str], removed: list[str]
) -> None:
    auth = tenant(given=FACTS)
    done = auth.change(statement, by=by, dry_run=True)
    assert (done.added, done.removed) == (added, removed)
    assert auth.revision_now() == len(FACTS)


def test_each_statement_of_a_batch_has_its_own_facts(tenant: Tenants) -> None:
    auth = tenant(given=FACTS)
    batch = ["add user:new", "member user:new of role:analyst", "drop user:new", "drop role:analyst"]
    made = auth.change_all(batch, dry_run=True)
    assert [each.added for each in made] == [["add user:new"], ["member user:new of role:analyst"], [], []]
    assert made[2].removed == ["member user:new of role:analyst", "add user:new"]
    together = net(made)
    assert together.added == []
    assert set(together.removed) == set(made[3].removed) == {fact for fact in FACTS if "role:analyst" in fact}
    assert net([Delta(["a"], []), Delta([], ["a", "b"]), Delta(["b"], [])]) == Delta()


@pytest.mark.parametrize("policy_name", others_slow(POLICIES))
def test_random_dry_runs_list_exactly_the_effects_of_the_changes(tenant: Tenants, policy_name: str) -> None:
    rng = random.Random(f"deltas {policy_name}")
    given = random_world(policy_name, rng, 60)
    auth, world = tenant(policy_name, given, ROOT_NAME), oracle(policy_name, ROOT_NAME)
    for fact in given:
        world.given(fact)
    tried = 0
    for statement, by, as_role in random_statements(policy_name, world, rng, size(40, 20)):
        before = statements_of(auth)
        try:
            planned = auth.change(statement, by=by, as_role=as_role, dry_run=True)
        except GrantpathError:
            continue
        assert statements_of(auth) == before
        auth.change(statement, by=by, as_role=as_role)
        after = statements_of(auth)
        assert (set(planned.added), set(planned.removed)) == (after - before, before - after), statement
        assert len(planned.added + planned.removed) == len(after ^ before)
        tried += bool(planned.id)
    assert tried > size(5, 1)


def test_dropping_the_root_lists_everything(tenant: Tenants) -> None:
    auth = tenant(given=FACTS)
    before = statements_of(auth)
    assert set(auth.change("drop metalake:ml", dry_run=True).removed) == before


# ---- the command line ------------------------------------------------------------------------------------------------
def test_command_lists_the_effect_of_a_change(run: Run, facts: str) -> None:
    words = ["change", "drop catalog:hr", "--dry-run", "--root", facts]
    shown = run(*words).out.splitlines()
    assert shown[0].startswith("would be done revision")
    assert shown[-1] == "  - catalog:hr"
    assert "  - owner user:ann of catalog:hr" in shown
    printed = run(*words, "--json").json
    assert (printed["done"], printed["dry_run"], printed["added"]) == (False, True, [])
    assert [f"  - {each.removeprefix('add ')}" for each in printed["removed"]] == shown[1:]


def test_command_lists_the_effect_of_a_file(run: Run, facts: str, tmp_path: Path) -> None:
    file = tmp_path / "many.txt"
    file.write_text("\n".join(["add user:gone", "drop user:gone", *(f"add user:n{at:02}" for at in range(25))]))
    words = ["change", "--file", str(file), "--dry-run", "--root", facts]
    shown = run(*words).out.splitlines()
    assert len(shown) == 22 and shown[1] == "  + user:n00"
    assert shown[-1] == "  + ... and 5 more; --json has all of them"
    printed = run(*words, "--json").json
    assert (len(printed["added"]), printed["removed"], len(printed["changes"])) == (25, [], 27)
    assert printed["changes"][1]["removed"] == ["add user:gone"]
