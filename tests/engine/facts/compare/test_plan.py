"""`plan` and `change --dry-run --effects`: the effects of statements on a graph, before they are made."""

import json
import random
from pathlib import Path

import pytest

from grantpath.engine import Authorizer, Effects, Inconsistent, Invalid, InvalidInput, Refused
from grantpath.engine.facts.copy.replica import Replica

from ....conftest import Tenants
from ....oracle import oracle
from ....support.access_oracle import access, told
from ....support.command_line import FACTS, STAFF, Run, facts, run
from ....support.random_world import ROOT_NAME, random_statements, random_world
from ....support.tiers import others_slow
from ....support.twin import SEED

__all__ = ["facts", "run"]

BROAD = "allow SELECT_TABLE on catalog:hr to role:analyst"


@pytest.fixture
def hr(tenant: Tenants) -> Authorizer:
    return tenant("gravitino", [each.replace("ROOT", "metalake:ml") for each in FACTS])


def test_a_plan_says_what_is_added_and_who_gains(hr: Authorizer) -> None:
    hr.given(["add table:hr.public.more", "add user:cas", "member user:cas of role:analyst"])
    plan = hr.plan([BROAD, "revoke allow SELECT_TABLE on schema:hr.public from role:analyst"])
    assert plan.added == (BROAD,)
    assert plan.removed == ("allow SELECT_TABLE on schema:hr.public to role:analyst",)
    assert plan.revision == hr.revision_now()
    [first] = [each for each in plan.effects.effects if each.type == "catalog"]
    assert (first.effect, first.names, first.by, first.users) == ("gain", ("SELECT_TABLE",), (BROAD,), 3)
    assert first.sentence() == f"3 users gain SELECT_TABLE on catalog:hr, by {BROAD}"
    assert {each.type for each in plan.effects.effects} == {"catalog"}  # on tables both grants do the same


def test_a_wide_grant_is_told_by_the_place_below_which_it_is(hr: Authorizer) -> None:
    hr.change("revoke deny SELECT_TABLE on table:hr.public.pay from role:analyst")
    plan = hr.plan(["revoke allow SELECT_TABLE on schema:hr.public from role:analyst"])
    lost = [each for each in plan.effects.effects if "load_table" in each.names]
    assert [(each.users, each.objects, each.pairs, each.place) for each in lost] == [(2, 2, 4, "schema:hr.public")]
    assert all(share.below == ("schema:hr.public",) and not share.objects for each in lost for share in each.shares)
    assert "2 users lose" in lost[0].sentence() and "on 2 tables below schema:hr.public, by allow" in lost[0].sentence()


def test_a_wide_grant_excepts_what_its_users_can_do_already(hr: Authorizer) -> None:
    hr.given([f"add table:hr.public.t{number}" for number in range(7)])
    hr.given([f"allow SELECT_TABLE on table:hr.public.t{number} to role:analyst" for number in (0, 3)])
    hr.given(["revoke allow SELECT_TABLE on schema:hr.public from role:analyst", "add schema:hr.more"])
    hr.given([f"add table:hr.more.t{number}" for number in range(3)])
    [effect] = [each for each in hr.plan([BROAD]).effects.effects if "load_table" in each.names]
    [share] = effect.shares
    assert (share.objects, share.below) == ((), ("catalog:hr",))
    assert share.except_objects == ("table:hr.public.pay", "table:hr.public.t0", "table:hr.public.t3")
    assert (share.except_below, effect.objects) == ((), 9)
    hr.given(["allow SELECT_TABLE on schema:hr.more to role:analyst"])
    hr.given(["add schema:hr.rest", *(f"add table:hr.rest.t{number}" for number in range(4))])
    [effect] = [each for each in hr.plan([BROAD]).effects.effects if "load_table" in each.names]
    [share] = effect.shares
    assert (share.objects, share.below) == ((), ("catalog:hr",))
    assert share.except_objects == ("table:hr.public.pay", "table:hr.public.t0", "table:hr.public.t3")
    assert (share.except_below, effect.objects) == (("schema:hr.more",), 10)


def test_objects_granted_or_dropped_one_by_one_are_separate_effects(hr: Authorizer) -> None:
    tables = [f"table:hr.public.t{number}" for number in range(2)]
    hr.given(["add role:two", "add user:cas", *(f"add {table}" for table in tables)])
    hr.given([f"allow MODIFY_TABLE on {table} to role:two" for table in tables])
    gained = hr.plan(["member user:cas of role:two"]).effects.effects
    by = {(each.shares[0].objects, each.by) for each in gained if "MODIFY_TABLE" in each.names}
    assert by == {((table,), (f"allow MODIFY_TABLE on {table} to role:two",)) for table in tables}
    lost = hr.plan([f"drop {table}" for table in tables]).effects.effects
    assert {(each.shares[0].objects, each.by) for each in lost} == {((table,), (f"drop {table}",)) for table in tables}


def test_a_deny_decides_what_it_takes_away_and_gives_back(hr: Authorizer) -> None:
    denial = "deny SELECT_TABLE on table:hr.public.pay to role:analyst"
    [back] = [
        e for e in hr.plan([f"revoke {denial.replace(' to ', ' from ')}"]).effects.effects if "load_table" in e.names
    ]
    assert (back.effect, back.by) == ("gain", (denial,))
    gone = hr.plan([f"deny SELECT_TABLE on {STAFF} to role:analyst"]).effects.effects
    assert {(each.effect, each.by) for each in gone} == {("lose", (f"deny SELECT_TABLE on {STAFF} to role:analyst",))}


def test_a_plan_without_effects_says_so(hr: Authorizer) -> None:
    plan = hr.plan(["add role:unused", "drop role:unused"])
    assert (plan.effects.effects, plan.effects.summary()) == ((), "no user gains or loses anything")
    assert (plan.added, plan.removed, len(plan.changes)) == ((), (), 2)
    assert hr.plan([]).changes == ()


def test_a_plan_changes_nothing_and_raises_the_errors_of_a_change(hr: Authorizer) -> None:
    before = hr.revision_now()
    for statements, by, error in (
        (["add catalog:x"], "user:bob", Refused),
        ([BROAD, "add user:bob"], None, Invalid),
        ("add user:x", None, InvalidInput),
    ):
        with pytest.raises(error):
            hr.plan(statements, by=by)
    assert hr.revision_now() == before


def test_a_plan_sees_every_change_that_was_made_before_it(hr: Authorizer) -> None:
    for number in range(3):
        hr.plan([BROAD])
        hr.change(f"add user:u{number}")
        hr.change(f"member user:u{number} of role:analyst")
        gain = [each for each in hr.plan([BROAD]).effects.effects if each.type == "catalog"]
        assert gain[0].users == 3 + number


def test_a_root_that_changes_all_the_time_cannot_be_planned(hr: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = iter(range(100))
    change_all = hr._service.change_all

    def beside(*given: object, **named: object) -> object:
        hr.change(f"add user:beside{next(numbers)}")
        return change_all(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(hr._service, "change_all", beside)
    with pytest.raises(Inconsistent, match="changes too often"):
        hr.plan([BROAD])


@pytest.mark.parametrize("policy", others_slow(["cdap", "lakehouse", "deltastream"]))
def test_plans_on_a_graph_are_the_difference_of_everything(tenant: Tenants, policy: str) -> None:
    rng = random.Random(f"{policy} {SEED} plans")
    world, graph = oracle(policy, ROOT_NAME), tenant(policy, root=ROOT_NAME)
    facts = random_world(policy, rng, 60)
    graph.given(facts)
    for fact in facts:
        world.given(fact)
    graph.replica = Replica.of(graph.store, graph.tenant, graph.root, graph.policy)
    for statement, by, as_role in random_statements(policy, world, rng, 40):
        changed = world.clone()
        if changed.do(statement, by, as_role) != "done":
            continue
        effects = graph.plan([statement], by=by, as_role=as_role).effects
        before, after = access(world), access(changed)
        assert told(effects, world, changed) == (after - before, before - after), statement
        world = changed
        graph.change(statement, by=by, as_role=as_role)


# ---- the command -----------------------------------------------------------------------------------------------------
def test_the_command_prints_the_widest_effect_first(run: Run, facts: str) -> None:
    words = ["--root", facts, "--dry-run", "--effects"]
    ran = run("change", "remove user:bob from role:analyst", *words)
    assert ran.code == 0
    first, fact, counts, *sentences = ran.out.splitlines()
    assert first.startswith("would be done")
    assert fact == "  - member user:bob of role:analyst"
    assert counts == "effects 1 user loses access"
    assert all(each.startswith("  user:bob loses ") for each in sentences) and len(sentences) > 2
    assert "not compared, because they need a second object" in ran.err


def test_the_command_gives_the_effects_as_json(run: Run, facts: str, tmp_path: Path) -> None:
    file = tmp_path / "changes.txt"
    file.write_text("add user:cas\nmember user:cas of role:analyst\n")
    told = run("change", "--file", str(file), "--root", facts, "--dry-run", "--effects", "--json").json
    effects = Effects.model_validate_json(json.dumps(told["effects"]))
    assert (told["done"], told["added"]) == (False, ["add user:cas", "member user:cas of role:analyst"])
    assert (effects.gaining, effects.losing) == (1, 0)
    assert {each.effect for each in effects.effects} == {"gain"}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--effects"], "--effects needs --dry-run"),
        (["--effects", "--dry-run", "--id", "x"], "--effects takes no --id"),
    ],
)
def test_effects_need_a_dry_run(run: Run, facts: str, words: list[str], text: str) -> None:
    ran = run("change", "add user:x", "--root", facts, *words)
    assert ran.code == 2 and text in ran.err
