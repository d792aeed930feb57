"""The cases of the synchronous authorizer, on an event loop: scenario files, random worlds, and all methods."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine import AsyncAuthorizer, Authorizer, Unknown
from grantpath.engine.scenarios import runner
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.store import Store

from ...conftest import Closing, Tenants
from ...support.event_loop import AsyncTenants, Loop, running_loop
from ...support.tiers import others_slow
from ...support.twin import POLICIES, SEED, Twin

SCENARIOS = Path(__file__).parents[2] / "scenarios"
NOT_ASYNC = {  # what Authorizer has for the code of this package, and not for its users
    "adopt",
    "ask",
    "at_one_revision",
    "follow",
    "near",
    "require_existing",
    "operator",
    "store_type",
}
FACTS = [
    "add catalog:hr",
    "add schema:hr.s",
    "add user:bob",
    "add user:ann",
    "add role:analyst",
    "member user:bob of role:analyst",
    "owner user:ann of catalog:hr",
    "allow USE_CATALOG on catalog:hr to role:analyst",
    "deny USE_SCHEMA on schema:hr.s to role:analyst",
]
BOB, SEEN = "user:bob", "USE_CATALOG"
QUESTIONS: list[Callable[[Authorizer], Any]] = [
    lambda auth: auth.check(BOB, SEEN, "catalog:hr").model_dump(),
    lambda auth: auth.check(BOB, "USE_SCHEMA", "schema:hr.s").model_dump(),
    lambda auth: [one.model_dump() for one in auth.check_many([(BOB, SEEN, "catalog:hr"), (BOB, SEEN, "schema:hr.s")])],
    lambda auth: auth.explain(BOB, "USE_SCHEMA", "schema:hr.s"),
    lambda auth: auth.explain(BOB, SEEN, "catalog:hr", all=True),
    lambda auth: auth.revocation(BOB, SEEN, "catalog:hr"),
    lambda auth: auth.revocation(BOB, SEEN, "catalog:hr", effects=True),
    lambda auth: auth.plan(["drop catalog:hr"]).effects,
    lambda auth: auth.revocation("role:missing", SEEN, "catalog:hr"),
    lambda auth: auth.explain("user:bop", SEEN, "catalog:hr").decision.missing,
    lambda auth: list(auth.who(SEEN, "catalog:hr", limit=1)),
    lambda auth: list(auth.which("catalog", BOB, SEEN)),
    lambda auth: auth.log(limit=5),
    lambda auth: auth.verify_log(),
    lambda auth: auth.state_now(),
    lambda auth: auth.revision_now(),
    lambda auth: auth.show("catalog:hr"),
    lambda auth: auth.list("catalog"),
    lambda auth: auth.grants(to="role:analyst"),
    lambda auth: auth.members("role:analyst"),
    lambda auth: auth.memberships(BOB),
    lambda auth: auth.can(BOB, "catalog:hr"),
    lambda auth: auth.reference("catalog", "hr"),
    lambda auth: auth.change("add user:zoe", dry_run=True).added,
    lambda auth: auth.add("user:zoe", dry_run=True).added,
    lambda auth: auth.filter(BOB, SEEN, ["catalog:hr", "schema:hr.s"]),
    lambda auth: auth.filter(BOB, SEEN, ["catalog:hr", "catalog:hrr"]),
    lambda auth: auth.change_all(["add user:zoe", "add user:zoe"], dry_run=True)[0].added,
    lambda auth: [
        *map(str, auth.change_all(["add user:`", "drop role:analist", "drop user:`"], dry_run=True, each=True))
    ],
    lambda auth: auth.check(BOB, SEEN, "catalog:hrr"),
    lambda auth: auth.check("bob", SEEN, "catalog:hr"),
    lambda auth: list(auth.who("use_nothing", "catalog:hr")),
    lambda auth: auth.check(BOB, SEEN, "catalog:hr", at_least=10_000),
    lambda auth: auth.change("drop catalog:hr", by=BOB),
    lambda auth: auth.change("add user:`", by="user:ann"),
    lambda auth: auth.given(["allow FLY on catalog:hr to role:analyst", "fly"]),
]


@pytest.fixture(scope="module")
def loop(server: Connection) -> Iterator[Loop]:
    with running_loop(server) as running:
        yield running


@pytest.mark.usefixtures("schema")
@pytest.mark.parametrize("policy", others_slow(sorted(each.name for each in SCENARIOS.iterdir() if each.is_dir())))
def test_event_loop_gives_the_expected_answers_of_the_scenarios(
    store: Store, loop: Loop, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "Authorizer", lambda _, tenant, model, root: loop.authorizer(tenant, model, root))
    report = runner.run(runner.read_files([SCENARIOS / policy]), store)
    assert [each for each in report.results if not each.passed] == []
    assert report.passed >= 8


@pytest.mark.parametrize("policy", others_slow(POLICIES))
def test_agrees_with_the_oracle_in_a_random_world(tenant: Tenants, loop: Loop, closing: Closing, policy: str) -> None:
    twin = Twin(AsyncTenants(tenant, loop), policy, f"{SEED}.loop", 40)
    twin.check_random(300)
    twin.list_everything()
    twin.explain_some(5)
    twin.ask_wrongly(40)
    closing(
        f"event loop, {policy}: {len(twin.decided):,} decisions, {twin.allowed:,} answers yes, {twin.errors} errors, "
        f"{len(twin.differences)} different from the oracle; seed {SEED}"
    )
    assert not twin.differences, twin.report()
    assert len(twin.decided) > 500 and twin.allowed and twin.errors


@pytest.fixture(scope="module")
def both(module_tenant: Tenants, loop: Loop) -> tuple[Authorizer, Authorizer]:
    made = module_tenant(given=FACTS)
    return made, loop.authorizer(made.tenant, made.policy, made.root)


@pytest.mark.parametrize("at", range(len(QUESTIONS)))
def test_result_or_error_is_that_of_the_synchronous_method(both: tuple[Authorizer, Authorizer], at: int) -> None:
    synchronous, on_loop = (outcome(QUESTIONS[at], auth) for auth in both)
    assert on_loop == synchronous


def outcome(question: Callable[[Authorizer], Any], auth: Authorizer) -> Any:
    try:
        return question(auth)
    except Exception as error:
        return type(error), str(error)


def test_every_public_method_exists_with_the_same_parameters() -> None:
    public = {name for name in dir(Authorizer) if name[0] != "_"}
    assert public - NOT_ASYNC <= set(dir(AsyncAuthorizer))
    for name in public - NOT_ASYNC - {"open", "close", "replica"}:
        mine, theirs = getattr(AsyncAuthorizer, name), getattr(Authorizer, name)
        assert inspect.signature(mine).parameters == inspect.signature(theirs).parameters
        assert mine.__doc__
    assert inspect.signature(AsyncAuthorizer.open) == inspect.signature(Authorizer.open)


def test_text_of_an_error_needs_no_connection_later(both: tuple[Authorizer, Authorizer]) -> None:
    with pytest.raises(Unknown) as raised:
        both[1].check(BOB, SEEN, "catalog:hrr")
    assert "did you mean catalog:hr?" in str(raised.value)
