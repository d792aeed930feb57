"""Names that hold grants before they are created: the last grant removes them, and upgrades must keep their place."""

from collections.abc import Callable
from pathlib import Path

import pytest

from grantpath.engine import Authorizer, Invalid
from grantpath.engine.policy import policy
from grantpath.engine.tenants import registry
from grantpath.engine.transfer.policy_upgrade import upgrade
from grantpath.graph.guard.store import Store

from ...conftest import Tenants
from ..tenants.test_policy_upgrades import reopened

POLICY = """
policy: named
title: grants on names
source: tests
types:
  instance: {}
  namespace: {in: instance}
  folder: {in: instance}
  dataset: {in: namespace}
  stream: {in: namespace}
  user: {in: instance, kind: user}
grants: {to: user, inherit: false, on_missing: true}
ask: {subjects: user, elsewhere: no}
privileges:
  READ: {on: "namespace, folder, dataset, stream"}
operations:
  namespace:
    look: some(READ below object)
  folder:
    look: some(READ below object)
"""
MOVED = ("dataset: {in: namespace}", "dataset: {in: folder}")
WITHOUT = ("  stream: {in: namespace}\n", ""), (", stream", "")
Edit = Callable[..., policy.Policy]


@pytest.fixture
def edited(tmp_path: Path) -> Edit:
    """The policy with some text replaced."""

    def edit(*changes: tuple[str, str]) -> policy.Policy:
        text = POLICY
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "named.yaml").write_text(text)
        return policy.load(str(tmp_path / "named.yaml"))

    return edit


@pytest.fixture
def auth(store: Store, edited: Edit, tmp_path: Path) -> Authorizer:
    model = edited()
    root = model.root(f"named-{tmp_path.name}")
    registry.remove(store, root.text)
    registry.create(store, root.text, model, root)
    return Authorizer(store, root.text, model, root)


def names(auth: Authorizer) -> list[str]:
    return sorted(each["ref"] for each in auth.ask("tenant_state")["entities"] if not each["exists"])


def given(auth: Authorizer, *facts: str) -> None:
    assert auth.given(facts) == [None] * len(facts)


def test_name_is_removed_with_the_holder_of_its_last_grant(tenant: Tenants) -> None:
    auth = tenant("cdap")
    given(auth, "add user:a", "allow READ on dataset:n.d to user:a")
    given(auth, "add user:b", "allow READ on dataset:n.d to user:b")
    given(auth, "allow READ on program:m.a.p to user:a", "allow READ on namespace:m to user:b")
    assert names(auth) == ["application:m.a", "dataset:n.d", "namespace:m", "namespace:n", "program:m.a.p"]
    auth.change("drop user:a")
    assert names(auth) == ["dataset:n.d", "namespace:m", "namespace:n"]
    assert auth.check("user:b", "READ", "dataset:n.d")
    auth.change("drop user:b")
    assert names(auth) == []


def test_created_name_says_what_it_takes_over(tenant: Tenants) -> None:
    auth = tenant("cdap")
    given(auth, "add user:a", "add user:b", "add namespace:n", "allow READ on dataset:n.d to user:a")
    given(auth, "allow WRITE on dataset:n.d to user:b")
    statements = ["add dataset:n.e", "add dataset:n.d"]
    for changes in (
        auth.change_all(statements, dry_run=True),
        auth.plan(statements).changes,
        auth.change_all(statements),
    ):
        assert [(each.kept_grants, each.kept_memberships) for each in changes] == [(0, 0), (2, 0)]
        assert [each.note for each in changes] == [
            None,
            "add dataset:n.d: this name has 2 grants already, which count from now on",
        ]


def test_created_user_says_that_it_has_memberships(tenant: Tenants) -> None:
    auth = tenant("gravitino")
    [hidden] = auth.policy.hidden
    with auth.store.locked(auth.tenant, "a test"):
        pass
    given(auth, f"member user:late of {hidden}", "drop user:late")
    assert auth.change("add user:late").note == (
        "add user:late: this name has 1 membership already, which count from now on"
    )


def test_upgrade_that_moves_a_granted_name_is_refused(auth: Authorizer, edited: Edit) -> None:
    given(auth, "add user:u", "add namespace:n", "add folder:n", "allow READ on dataset:n.d to user:u")
    with pytest.raises(
        Invalid, match=r"1 of its facts .*\ndataset:n.d, a name with grants on it: .* revoke its grants first"
    ):
        upgrade(auth, edited(MOVED))
    assert auth.check("user:u", "look", "namespace:n")
    auth.change("revoke allow READ on dataset:n.d from user:u")
    assert upgrade(auth, edited(MOVED)).changed
    fresh = reopened(auth)
    fresh.change("allow READ on dataset:n.d to user:u")
    assert not fresh.check("user:u", "look", "namespace:n")
    assert fresh.check("user:u", "look", "folder:n")


def test_upgrade_removes_names_without_grants(auth: Authorizer, edited: Edit) -> None:
    """Earlier versions of grantpath left such names."""
    given(auth, "add user:u", "add namespace:n", "allow READ on stream:n.s to user:u")
    auth.store.execute("MATCH ({root: $root, ref: 'user:u'})-[grant:ALLOW]->() DELETE grant", {"root": auth.tenant})
    assert names(auth) == ["stream:n.s"]
    assert upgrade(auth, edited(*WITHOUT)).changed
    assert names(reopened(auth)) == []
