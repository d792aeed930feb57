"""A root in memory answers and changes as one in Neo4j does, and as the oracle says."""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast

import pytest

from grantpath.engine import Authorizer, Inconsistent, InvalidInput, Unknown
from grantpath.engine.memory.memory_authorizer import MemoryAuthorizer, authorizer
from grantpath.engine.scenarios import runner
from grantpath.engine.transfer.exporter import dump
from grantpath.engine.transfer.importer import load

from ..conftest import Closing, Tenants, built_in
from ..support.sizes import size
from ..support.twin import POLICIES, SEED, Twin
from .test_changes import change_randomly
from .test_scenarios import EXAMPLES, SCENARIOS, wrong

pytestmark = pytest.mark.trust
WORLDS = size(20, 2)


class MemoryTenants:
    """Creates roots in memory, with the arguments of Tenants."""

    def __call__(self, policy_name: str = "gravitino", given: Iterable[str] = (), root: str = "ml") -> Authorizer:
        return authorizer(built_in(policy_name), given, root)


@pytest.mark.parametrize("policy", POLICIES)
def test_random_worlds_and_changes_agree_with_the_oracle(closing: Closing, policy: str) -> None:
    outcomes: Counter[str] = Counter()
    decided = allowed = 0
    for number in range(WORLDS):
        twin = Twin(cast(Tenants, MemoryTenants()), policy, f"memory {SEED}.{number}", 90)
        change_randomly(twin, outcomes, Authorizer.revision_now)
        twin.list_everything()
        twin.ask_wrongly(40)
        twin.explain_some(5)
        decided, allowed = decided + len(twin.decided), allowed + twin.allowed
        assert not twin.differences, twin.report()
    told = ", ".join(f"{outcomes[each]} {each}" for each in ("done", "refused", "invalid"))
    closing(
        f"in memory, {policy}: {decided:,} decisions, {allowed:,} yes, {outcomes.total()} changes ({told}); 0 wrong"
    )
    assert min(outcomes[each] for each in ("done", "refused", "invalid")) >= 15
    assert allowed > 100


def test_scenarios_hold_in_memory() -> None:
    report = runner.run(runner.read_files([SCENARIOS, *EXAMPLES]), None, "memory")
    assert wrong(report) == []
    assert report.passed >= 1_000
    assert {each.engine for each in report.results} == {"memory"}


def test_facts_of_a_scenario_in_memory_may_end(tmp_path: Path) -> None:
    file = tmp_path / "ends.yaml"
    file.write_text(
        """scenario: a membership and a grant that end
policy: gravitino
root: ml
given:
  - add catalog:hr
  - add role:r
  - member user:bob of role:r until 2099-01-01T00:00:00Z
then:
  - do: allow USE_CATALOG on catalog:hr to role:r until 2099-01-01T00:00:00Z
  - user:bob can USE_CATALOG on catalog:hr
"""
    )
    report = runner.run(runner.read_files([file]), None, "memory")
    assert (wrong(report), report.passed) == ([], 2)


FACTS = [
    *("add catalog:hr", "add schema:hr.s", "add table:hr.s.a", "add table:hr.s.b", "add tag:pii", "add role:r"),
    *("add role:outer", "add group:g", "member user:bob of role:r", "member user:ann of group:g"),
    *("owner user:ann of catalog:hr", "owner user:admin of metalake:ml", "allow USE_CATALOG on metalake:ml to role:r"),
    *("allow USE_SCHEMA on schema:hr.s to role:r", "allow SELECT_TABLE on schema:hr.s to role:r"),
    *("deny SELECT_TABLE on table:hr.s.b to role:r", "allow APPLY_TAG on tag:pii to role:outer"),
]
ASKED: list[Callable[[Authorizer], Any]] = [
    lambda auth: auth.check("user:bob", "load_table", "table:hr.s.a").because,
    lambda auth: auth.check("user:bob", "load_table", "table:hr.s.b").missing,
    lambda auth: auth.check("user:nobody", "load_table", "table:hr.s.b").missing,
    lambda auth: auth.check_many(
        [("user:bob", "load_table", "table:hr.s.a"), ("user:ann", "USE_CATALOG", "catalog:hr")]
    ),
    lambda auth: [*map(str, auth.check_many([("user:bob", "load_table", "table:hr.s.c"), ("x", "y", "z")], each=True))],
    lambda auth: auth.filter("user:bob", "load_table", ["table:hr.s.b", "table:hr.s.a"]),
    lambda auth: [*auth.who("load_table", "table:hr.s.a")],
    lambda auth: [*auth.which("any", "user:bob", "SELECT_TABLE")],
    lambda auth: auth.which("table", "user:bob", "load_table", limit=1).read(),
    lambda auth: auth.explain("user:bob", "load_table", "table:hr.s.a").paths,
    lambda auth: auth.explain("user:bob", "load_table", "table:hr.s.b").remedy,
    lambda auth: auth.explain("user:ann", "load_table", "table:hr.s.b", all=True).paths,
    lambda auth: auth.show("catalog:hr"),
    lambda auth: auth.show("role:r"),
    lambda auth: auth.show("user:nobody"),
    lambda auth: auth.list("table"),
    lambda auth: auth.list("table", under="catalog:hr", without_owner=True),
    lambda auth: auth.list("catalog", owned_by="user:ann"),
    lambda auth: auth.list("table", like="S.B", limit=1),
    lambda auth: auth.list("table", limit=1),
    lambda auth: auth.list("table", under="schema:hr.nope"),
    lambda auth: auth.list("metalake", under="metalake:ml"),
    lambda auth: auth.list("user", under="metalake:ml"),
    lambda auth: auth.grants(),
    lambda auth: auth.grants(privilege="SELECT_TABLE"),
    lambda auth: auth.grants(effect="DENY"),
    lambda auth: auth.grants(limit=2),
    lambda auth: auth.grants(limit=2, after=auth.grants(limit=1).after),
    lambda auth: auth.grants(to="role:r"),
    lambda auth: auth.grants(to="role:r", privilege="USE_SCHEMA", effect="ALLOW"),
    lambda auth: auth.grants(on="table:hr.s.b", to="role:outer"),
    lambda auth: auth.grants(on="table:hr.s.nope"),
    lambda auth: auth.grants(on="schema:hr.s", privilege="SELECT_TABLE"),
    lambda auth: auth.members("role:r"),
    lambda auth: auth.memberships("user:ann"),
    lambda auth: auth.can("user:bob", "table:hr.s.b"),
    lambda auth: auth.plan(["drop role:r", "add user:new"]).effects,
    lambda auth: auth.plan(["add table:hr.s.new"], by="user:ann").added,
    lambda auth: auth.change("drop schema:hr.s", dry_run=True).removed,
    lambda auth: auth.change("hand over user:ann to user:bob", by="user:bob"),
    lambda auth: auth.change("add catalog:hr"),
    lambda auth: auth.change("drop role:admiin"),
    lambda auth: auth.change_all(["add user:x", "add user:x"]),
    lambda auth: [str(each) for each in auth.change_all(["drop user:y", "add catalog:hr"], each=True, dry_run=True)],
    lambda auth: auth.drop("user:ann", dry_run=True).without_owner,
    lambda auth: auth.check("user:bob", "load_table", "tabel:x"),
    lambda auth: auth.check("user:bob", "load_table", "table:hr.s.a", at_least=9_999),
    lambda auth: auth.who("lode_table", "table:hr.s.a"),
]


@pytest.fixture(scope="module")
def both(module_tenant: Tenants) -> tuple[Authorizer, Authorizer]:
    return module_tenant("gravitino", FACTS), authorizer("gravitino", FACTS, "ml")


@pytest.mark.parametrize("at", range(len(ASKED)))
def test_results_and_errors_are_those_of_a_root_in_neo4j(both: tuple[Authorizer, Authorizer], at: int) -> None:
    stored, in_memory = (_result(ASKED[at], auth) for auth in both)
    assert in_memory == stored


def _result(ask: Callable[[Authorizer], Any], auth: Authorizer) -> Any:
    try:
        return ask(auth)
    except Exception as error:
        return type(error), str(error).replace(auth.tenant, "metalake:ml")


LATER: list[Callable[[Authorizer, Any], Any]] = [
    lambda auth, at: auth.check("user:bob", "load_table", "table:hr.s.a", at_least=at),
    lambda auth, at: auth.check_many([("user:bob", "load_table", "table:hr.s.a")] * 20, at_least=at),
    lambda auth, at: auth.filter("user:bob", "load_table", ["table:hr.s.a"], at_least=at),
    lambda auth, at: auth.who("load_table", "table:hr.s.a", at_least=at),
    lambda auth, at: auth.which("table", "user:bob", "load_table", at_least=at),
    lambda auth, at: auth.explain("user:bob", "load_table", "table:hr.s.a", at_least=at),
    lambda auth, at: auth.grants(at_least=at),
]


@pytest.mark.parametrize("ask", LATER)
def test_a_revision_that_was_not_reached_is_an_error(ask: Callable[[Authorizer, Any], Any]) -> None:
    auth = authorizer("gravitino", FACTS, "ml")
    assert ask(auth, auth.revision_now())
    with pytest.raises(Inconsistent, match="older than revision") as error:
        ask(auth, auth.revision_now() + 1)
    assert error.value.code == "revision_ahead"
    with pytest.raises(InvalidInput, match="at_least"):
        ask(auth, "1")


def test_what_needs_a_server_says_so() -> None:
    auth = authorizer("gravitino", FACTS, "ml")
    before = auth.revision_now()
    needs: list[Callable[[], Any]] = [
        *(auth.log, auth.verify_log, lambda: auth.past(1), lambda: auth.since("user:bob", "USE_CATALOG", "catalog:hr")),
        *(lambda: auth.question("recent_changes"), lambda: auth.check("user:bob", "X", "catalog:hr", as_of=1)),
        lambda: auth.revocation("user:bob", "USE_CATALOG", "catalog:hr"),
        lambda: auth.change("add user:z", id="once"),
        lambda: auth.drop_root("metalake:ml", confirm="metalake:ml"),  # not the root of a server that has this name
        lambda: auth.open("metalake:ml"),
    ]
    for each in needs:
        with pytest.raises(InvalidInput, match="needs a server: a root in memory has no log"):
            each()
    assert auth.revision_now() == before


def test_what_follows_a_policy_on_a_server_changes_nothing_in_memory(tmp_path: Path) -> None:
    auth = authorizer("gravitino", FACTS, "ml")
    auth.follow()
    with pytest.raises(Unknown, match=r"table:hr\.s\.z does not exist"):
        auth.check("user:bob", "SELECT_TABLE", "table:hr.s.z")
    with pytest.raises(InvalidInput, match="needs a server"):
        dump(auth, tmp_path / "dump")
    with pytest.raises(InvalidInput, match="'members' is not a list of tables"):
        load(auth, tmp_path, only="members")


def test_each_root_is_its_own_and_a_wrong_fact_is_an_error(tmp_path: Path) -> None:
    one, other = authorizer("gravitino", ["add catalog:a"]), authorizer("gravitino", root="ml")
    assert one.list("catalog").answer == ("catalog:a",)
    assert other.list("catalog").answer == ()
    assert (str(one.root), str(other.root)) == ("metalake:test", "metalake:ml")
    with pytest.raises(InvalidInput, match="catalog:b does not exist"):
        authorizer("gravitino", ["add catalog:a", "drop catalog:b"])
    (tmp_path / "mine.yaml").write_text("policy: mine\nextends: gravitino\n")
    assert isinstance(authorizer(str(tmp_path / "mine.yaml")), MemoryAuthorizer)


def test_the_fixture_of_the_plugin_makes_roots(grantpath_authorizer: Callable[..., Authorizer]) -> None:
    auth = grantpath_authorizer("lakehouse", ["add catalog:a", "owner user:ann of catalog:a"])
    assert auth.check("user:ann", "alter_catalog", "catalog:a")
