"""Policy upgrades: renamed privileges are renamed in the graph, and facts that violate the policy are listed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from grantpath.engine import Authorizer, Inconsistent, Invalid, UnknownName
from grantpath.engine.policy import policy
from grantpath.engine.policy.schema import BUILT_IN
from grantpath.engine.tenants import registry
from grantpath.engine.transfer.exporter import dump
from grantpath.engine.transfer.policy_upgrade import upgrade
from grantpath.graph.client.connection import Connection
from grantpath.spark_sync.mirroring import mirror as mirroring

from ...conftest import Tenants
from ...support.small_estate import FACTS, ODD, facts_of
from ..change.test_batches import state


# ---- policy upgrade --------------------------------------------------------------------------------------------------
@pytest.fixture
def edited(tmp_path: Path) -> Callable[..., policy.Policy]:
    """Gravitino's policy with some text replaced."""

    def edit(*changes: tuple[str, str]) -> policy.Policy:
        text = (BUILT_IN / "gravitino.yaml").read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        file = tmp_path / "gravitino.yaml"
        file.write_text(text)
        return policy.load(str(file))

    return edit


def reopened(auth: Authorizer) -> Authorizer:
    kept = registry.find(auth.store, auth.tenant)
    assert kept
    return Authorizer(auth.store, auth.tenant, policy.from_source(kept["source"]), auth.root)


NEW_PRIVILEGE = ("  CREATE_TAG: {on: metalake}", "  CREATE_TAG: {on: metalake}\n  ARCHIVE: {on: table}")


def test_root_is_upgraded_to_an_edited_policy(
    tenant: Tenants, edited: Callable[..., policy.Policy], server: Connection, tmp_path: Path
) -> None:
    auth = tenant(given=FACTS)
    before = facts_of(auth)
    with pytest.raises(UnknownName):
        auth.check("user:bob", "ARCHIVE", "table:hr.s.t")
    done = upgrade(auth, edited(NEW_PRIVILEGE))
    assert (done.facts, done.changed, done.revision) == (len(FACTS), True, len(FACTS) + 1)
    for late in (
        lambda: auth.check("user:bob", "SELECT_TABLE", "table:hr.s.t"),
        lambda: auth.who("SELECT_TABLE", "table:hr.s.t"),
        lambda: auth.which("table", "user:bob", "SELECT_TABLE"),
        lambda: auth.explain("user:bob", "SELECT_TABLE", "table:hr.s.t"),
        lambda: auth.change("add user:cas"),
        lambda: auth.given(["add user:cas"]),
        auth.revision_now,
        lambda: dump(auth, tmp_path / "dump"),
    ):
        with pytest.raises(Inconsistent, match="another policy since it was opened"):
            late()
    marks, mirrored, _ = mirroring.read(server, auth.tenant, print)
    assert (marks.revision, mirrored.digest) == (done.revision, edited(NEW_PRIVILEGE).digest)
    fresh = reopened(auth)
    fresh.change("allow ARCHIVE on table:hr.s.t to role:analyst")
    assert fresh.check("user:bob", "ARCHIVE", "table:hr.s.t")
    fresh.change("revoke allow ARCHIVE on table:hr.s.t from role:analyst")
    assert facts_of(fresh) == before
    assert fresh.log()[len(FACTS)].statement.startswith("policy upgrade gravitino (")
    assert upgrade(fresh, edited(NEW_PRIVILEGE)).changed is False
    assert fresh.revision_now() == len(FACTS) + 3


def test_change_made_before_an_upgrade_can_be_repeated(tenant: Tenants, edited: Callable[..., policy.Policy]) -> None:
    """A change is repeated with its id, though the new policy does not have the privilege."""
    new, old = edited(NEW_PRIVILEGE), edited()
    auth = tenant(given=FACTS)
    upgrade(auth, new)
    auth = reopened(auth)
    allow, revoke = (
        "allow ARCHIVE on table:hr.s.t to role:analyst",
        "revoke allow ARCHIVE on table:hr.s.t from role:analyst",
    )
    done = auth.change(allow, id="one")
    undone = auth.change_all([revoke, "add user:cas"], id="all")
    upgrade(auth, old)
    auth = reopened(auth)
    assert (auth.change(allow, id="one"), auth.change_all([revoke, "add user:cas"], id="all")) == (done, undone)
    assert auth.change(allow, id="one", dry_run=True).already
    for late in (
        lambda: auth.change(allow),
        lambda: auth.change(allow, id="two"),
        lambda: auth.change(revoke, id="one"),
        lambda: auth.change_all([revoke, "add user:dan"], id="all"),
    ):
        with pytest.raises(UnknownName, match="the privilege ARCHIVE is unknown"):
            late()


def test_violating_facts_are_listed_and_nothing_changes(tenant: Tenants, edited: Callable[..., policy.Policy]) -> None:
    auth = tenant(given=FACTS)
    before, kept = state(auth), registry.find(auth.store, auth.tenant)
    narrow = (
        '  SELECT_TABLE: {on: "metalake, catalog, schema, table"}',
        '  SELECT_TABLE: {on: "metalake, schema, table"}',
    )
    with pytest.raises(Invalid, match=r"1 of its facts .*\nallow SELECT_TABLE on catalog:hr to role:analyst: "):
        upgrade(auth, edited(narrow))
    with pytest.raises(Invalid, match=r"1 of its facts .*\nmember group:readers of role:analyst: "):
        upgrade(auth, edited(("  role: user, group", "  role: user")))
    with pytest.raises(Invalid, match=r"add role:analyst: role:analyst is built into"):
        upgrade(auth, edited(("builtin:\n", "builtin:\n  role:analyst: {}\n")))
    with pytest.raises(Invalid, match="the root of onehouse must be an account, not a metalake"):
        upgrade(auth, policy.load("onehouse"))
    assert (state(auth), registry.find(auth.store, auth.tenant)) == (before, kept)


def test_builtin_subjects_are_added_and_removed_by_an_upgrade(
    tenant: Tenants, edited: Callable[..., policy.Policy]
) -> None:
    auth = tenant(given=FACTS)
    plain = state(auth)
    upgrade(auth, edited(("builtin:\n", "builtin:\n  role:public: {held_by_every: user, allow: USE_CATALOG}\n")))
    assert reopened(auth).check("user:ann", "USE_CATALOG", "catalog:hr")
    assert facts_of(reopened(auth)) == facts_of(tenant(given=FACTS))
    upgrade(reopened(auth), edited())
    assert not reopened(auth).check("user:ann", "USE_CATALOG", "catalog:hr")
    assert state(auth)[1] == plain[1]
    assert state(auth)[0][1:] == plain[0][1:]


def test_grants_of_a_renamed_privilege_are_renamed(tenant: Tenants, edited: Callable[..., policy.Policy]) -> None:
    auth = tenant(given=[*FACTS, "allow SELECT_TABLE on metalake:ml to role:analyst"])
    questions = [("user:bob", "SELECT_TABLE", each) for each in ("table:hr.s.t", ODD, "catalog:hr")]
    before = [bool(each) for each in auth.check_many(questions)]
    line = '  SELECT_TABLE: {on: "metalake, catalog, schema, table"}'
    upgrade(auth, edited((line, line.replace("SELECT", "READ") + "\n  SELECT_TABLE: {alias_of: READ_TABLE}")))
    assert {row[1] for row in facts_of(reopened(auth))["grants"]} == {"READ_TABLE"}
    assert [bool(each) for each in reopened(auth).check_many(questions)] == before == [True, False, True]
