"""The questions of docs/governance.md on a random root: their SQL gives what the Authorizer and a dump give."""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from grantpath.engine import Authorizer
from grantpath.graph.client.connection import Connection
from grantpath.spark_sync import access
from grantpath.spark_sync.mirroring.mirror import mirror_tenant
from grantpath.spark_sync.session import spark_session

from ..conftest import Tenants
from ..oracle import Oracle, oracle
from ..support.page_blocks import HOUSE
from ..support.random_world import ROOT_NAME, random_world
from ..support.small_estate import facts_of
from ..support.snapshot_sql import BothEngines, Rows

pytestmark = pytest.mark.spark
SEED = 20
NAMES = ["load_table", "SELECT_TABLE", "MODIFY_TABLE"]
SQL = re.compile(r"^## (\d+)\. .*?^```sql\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Enough that no answer is empty: a role without users, a DENY over an ALLOW, and one user with two privileges.
MORE = [
    *("add catalog:hr", "add schema:hr.a", "add table:hr.a.t", "add table:hr.a.u", "add table:hr.a.v"),
    *("add user:eve", "add user:idle", "add role:some", "add role:other", "add role:unused", "add role:owners"),
    *("member user:eve of role:some", "member user:eve of role:other", "member user:strong of role:other"),
    *(f"allow {name} on metalake:main to role:some" for name in ("USE_CATALOG", "USE_SCHEMA", "MODIFY_TABLE")),
    *("allow SELECT_TABLE on schema:hr.a to role:some", "allow SELECT_TABLE on table:hr.a.t to role:other"),
    *("allow SELECT_TABLE on schema:hr.a to role:unused", "deny SELECT_TABLE on table:hr.a.u to role:other"),
]
QUESTIONS = dict(SQL.findall((HOUSE / "docs" / "governance.md").read_text(encoding="utf-8")))


@dataclass
class Asked:
    auth: Authorizer
    sql: BothEngines
    world: Oracle

    def answer(self, number: int) -> Rows:
        rows = self.sql.rows(QUESTIONS[str(number)])
        assert rows, f"question {number} has no rows here"
        return rows

    @property
    def users(self) -> list[str]:
        return [ref for ref in self.world.subjects() if ref.startswith("user:")]

    def tables(self, user: str, name: str) -> set[str]:
        return set(self.auth.which("table", user, name))

    def pairs(self, name: str, world: Oracle | None = None) -> set[tuple[str, str]]:
        """(user, table): by the Authorizer, or in another world by the oracle."""
        if world is None:
            return {(user, table) for user in self.users for table in self.tables(user, name)}
        return {(user, table) for user in self.users for table in world.which("table", user, name)}

    def places(self, ref: str) -> set[str]:
        policy, root = self.auth.policy, self.auth.root
        return {place.text for _, place in policy.chain(policy.reference(ref, root), root)}

    def effective(self) -> dict[str, set[str]]:
        """Each user with its effective principals, from a dump."""
        members = facts_of(self.auth)["members"]
        held = {user: {user} for user in self.users}
        for mine in held.values():
            while more := {of for member, of in members if member in mine} - mine:
                mine |= more
        return held


@pytest.fixture(scope="module")
def asked(server: Connection, module_tenant: Tenants, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    facts = [*random_world("gravitino", random.Random(SEED), 130), *MORE]
    world = oracle("gravitino", ROOT_NAME)
    facts = [fact for fact in facts if world.given(fact) == "done"]
    roles = [ref for ref in world.subjects() if ref.startswith("role:")]
    closed = [f"deny SELECT_TABLE on table:hr.a.v to {role}" for role in roles]  # a table that no user can read
    facts += [fact for fact in closed if world.given(fact) == "done"]
    auth = module_tenant("gravitino", facts, root=ROOT_NAME)
    out = tmp_path_factory.mktemp("governance") / "snapshot"
    mirror_tenant(server, auth.tenant, out, print)
    access(out, NAMES, NAMES, print, in_process_limit=0)
    sql = BothEngines(spark_session.engine(print).spark, out, "governance_of_a_test")
    yield Asked(auth, sql, world)
    sql.close()


def test_there_are_ten_short_questions() -> None:
    assert [*QUESTIONS] == [str(number) for number in range(1, 11)]
    assert all(len(sql.splitlines()) < 10 for sql in QUESTIONS.values())


def test_who_can_read_what_is_under_hr(asked: Asked) -> None:
    assert asked.answer(1) == sorted(
        pair for pair in asked.pairs("load_table") if "catalog:hr" in asked.places(pair[1])
    )


def test_who_can_modify_more_than_one_table(asked: Asked) -> None:
    many = {user: len(asked.tables(user, "MODIFY_TABLE")) for user in asked.users}
    assert asked.answer(2) == sorted(((u, n) for u, n in many.items() if n > 1), key=lambda row: (-row[1], row[0]))


def test_which_users_and_tables_have_no_access(asked: Asked) -> None:
    assert asked.answer(3) == [(user,) for user in sorted(asked.users) if not asked.tables(user, "load_table")]
    read = {table for _, table in asked.pairs("SELECT_TABLE")}
    assert asked.answer(4) == [(table,) for table in sorted(asked.world.objects("table")) if table not in read]


def test_who_has_both_privileges(asked: Asked) -> None:
    assert asked.answer(5) == sorted(asked.pairs("SELECT_TABLE") & asked.pairs("MODIFY_TABLE"))


def test_pairs_of_a_grant_alone_end_when_it_is_revoked(asked: Asked) -> None:
    """Each grant of the privilege is revoked in a copy of the world, and the lost pairs are counted."""
    before = asked.pairs("SELECT_TABLE")
    found = {(grantee, place): (opens, alone) for grantee, place, opens, alone in asked.answer(6)}
    held = asked.effective()
    for effect, privilege, place, grantee in facts_of(asked.auth)["grants"]:
        if (effect, privilege) == ("allow", "SELECT_TABLE"):
            after = asked.world.clone()
            assert after.given(f"revoke allow SELECT_TABLE on {place} from {grantee}") == "done"
            covered = {pair for pair in before if grantee in held[pair[0]] and place in asked.places(pair[1])}
            lost = before - asked.pairs("SELECT_TABLE", after)
            assert found.pop((grantee, place), (0, 0)) == (len(covered), len(lost)), (grantee, place)
    assert found == {}


def test_dead_grants_have_no_user_or_no_object(asked: Asked) -> None:
    every = set().union(*asked.effective().values())
    there = set().union(*(asked.places(ref) for ref in asked.world.objects()))
    expected = {
        (effect.upper(), privilege, object_, grantee)
        for effect, privilege, object_, grantee in facts_of(asked.auth)["grants"]
        if grantee not in every or object_ not in there
    }
    assert set(asked.answer(8)) == expected


def test_users_of_each_role_are_counted(asked: Asked) -> None:
    held = asked.effective()
    roles = [ref for ref in asked.world.subjects() if ref.startswith("role:") and ref not in asked.auth.policy.hidden]
    assert dict(asked.answer(9)) == {role: sum(role in mine for mine in held.values()) for role in roles}


def test_whose_allow_a_deny_overrides(asked: Asked) -> None:
    grants, held = facts_of(asked.auth)["grants"], asked.effective()
    expected = {
        (user, privilege, denied, to)
        for effect, privilege, denied, to in grants
        if effect == "deny"
        for other, same, allowed, by in grants
        if other == "allow" and same == privilege
        if allowed in asked.places(denied) or denied in asked.places(allowed)
        for user, mine in held.items()
        if {to, by} <= mine
    }
    assert set(asked.answer(10)) == expected
