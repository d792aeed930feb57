"""Policy upgrades that add or remove a type inside users, or a built-in group with objects inside: the tree of objects
follows, or the fact that stops the upgrade is named."""

from pathlib import Path

import pytest

from grantpath.engine import Authorizer, Invalid
from grantpath.engine.policy import policy
from grantpath.engine.transfer.policy_upgrade import upgrade

from ...conftest import Tenants
from .test_policy_upgrades import reopened

POLICY = """
policy: notes
title: Notes of users and teams
source: A test
types:
  org: {}
  user: {in: org, kind: user}
  team: {in: org, kind: group}
  note: {in: team}
TOKEN
members: {team: user}
grants: {to: "user, team", on_missing: true}
builtin: {TEAMS}
privileges:
  READ: {on: "org, team, note"}
operations:
  org: {see: "SEE"}
  team: {talk: holds(team) and exists(team)}
"""
PLAIN = {"TOKEN": "", "TEAMS": "'team:all': {held_by_every: user}", "SEE": "some(READ in note below org)"}
TOKENS = {**PLAIN, "TOKEN": "  token: {in: user}", "READ": "token", "SEE": "some(READ in token below org)"}
TWO_TEAMS = {**PLAIN, "TEAMS": f"{PLAIN['TEAMS']}, 'team:b': {{}}"}
USERS = ["add user:u", "add user:v"]


def loaded(folder: Path, words: dict[str, str]) -> policy.Policy:
    text = POLICY
    for name, value in words.items():
        text = text.replace('team, note"', f'team, note, {value}"') if name == "READ" else text.replace(name, value)
    file = folder / "notes.yaml"
    file.write_text(text, encoding="utf-8")
    return policy.load(str(file))


def opened(tenant: Tenants, folder: Path, words: dict[str, str], facts: list[str]) -> Authorizer:
    loaded(folder, words)
    return tenant(str(folder / "notes.yaml"), root="main", given=facts)


def labels(auth: Authorizer, ref: str) -> list[str]:
    """The labels of a node, and whether it has a path to the root object."""
    query = """MATCH (entity:Entity {root: $root, ref: $ref})
        RETURN labels(entity) AS labels, COUNT { (entity)-[:CHILD_OF]->() } AS up"""
    [row] = auth.store.execute(query, {"root": auth.tenant, "ref": ref})
    return [*sorted(row["labels"]), *["in the tree"] * row["up"]]


def test_users_enter_and_leave_the_tree_with_the_types_inside_them(tenant: Tenants, tmp_path: Path) -> None:
    auth = opened(tenant, tmp_path, PLAIN, USERS)
    assert labels(auth, "user:u") == ["Entity", "Subject", "User"]
    assert upgrade(auth, loaded(tmp_path, TOKENS), dry_run=True).problems == []
    upgrade(auth, loaded(tmp_path, TOKENS))
    assert labels(auth, "user:u") == ["Entity", "Securable", "Subject", "User", "in the tree"]
    auth = reopened(auth)
    auth.change("add token:u.t")
    auth.change("allow READ on token:u.t to user:v")
    assert auth.check("user:v", "see", auth.root.text) and not auth.check("user:u", "see", auth.root.text)
    with pytest.raises(Invalid, match=r"add token:u.t: "):
        upgrade(auth, loaded(tmp_path, PLAIN))
    auth.change("drop token:u.t")
    upgrade(auth, loaded(tmp_path, PLAIN))
    assert labels(auth, "user:u") == ["Entity", "Subject", "User"]


def test_upgrade_to_the_same_policy_puts_users_where_this_version_puts_them(tenant: Tenants, tmp_path: Path) -> None:
    """Earlier versions left users with objects inside beside the tree."""
    auth = opened(tenant, tmp_path, TOKENS, [*USERS, "add token:u.t", "allow READ on token:u.t to user:v"])
    outside = "MATCH (user:User {root: $root})-[edge:CHILD_OF]->() DELETE edge REMOVE user:Securable"
    auth.store.execute(outside, {"root": auth.tenant})
    assert not auth.check("user:v", "see", auth.root.text)
    assert upgrade(auth, auth.policy, dry_run=True).changed
    assert upgrade(auth, auth.policy).changed
    assert auth.check("user:v", "see", auth.root.text)
    assert labels(auth, "user:v") == ["Entity", "Securable", "Subject", "User", "in the tree"]
    assert not upgrade(auth, auth.policy).changed


def test_built_in_of_a_name_with_grants_exists_after_the_upgrade(tenant: Tenants, tmp_path: Path) -> None:
    auth = opened(tenant, tmp_path, PLAIN, USERS)
    auth.change("allow READ on team:b to user:u")
    assert [*auth.list("team")] == ["team:all"]
    upgrade(auth, loaded(tmp_path, TWO_TEAMS))
    auth = reopened(auth)
    assert [*auth.list("team")] == ["team:all", "team:b"]
    auth.change("member user:u of team:b")
    assert auth.check("user:u", "talk", "team:b") and auth.check("user:u", "READ", "team:b")


@pytest.mark.parametrize(
    ("fact", "undo"),
    [
        ("add note:b.x", "drop note:b.x"),
        ("allow READ on note:b.x to user:u", "revoke allow READ on note:b.x from user:u"),
    ],
)
def test_facts_inside_a_built_in_stop_its_removal(tenant: Tenants, tmp_path: Path, fact: str, undo: str) -> None:
    auth = opened(tenant, tmp_path, TWO_TEAMS, [*USERS, fact])
    with pytest.raises(Invalid, match=rf"1 of its facts .*\n{fact}: notes has no team:b; remove this fact first"):
        upgrade(auth, loaded(tmp_path, PLAIN))
    auth.change(
        fact.replace("add ", "drop ") if fact.startswith("add") else "revoke allow READ on note:b.x from user:u"
    )
    upgrade(auth, loaded(tmp_path, PLAIN))
    assert [*reopened(auth).list("team")] == ["team:all"]


def test_missing_member_of_a_hidden_group_stops_the_upgrade_that_shows_it(tenant: Tenants, tmp_path: Path) -> None:
    hidden = {**PLAIN, "TEAMS": f"{PLAIN['TEAMS']}, 'team:ops': {{hidden: true}}"}
    auth = opened(tenant, tmp_path, hidden, [*USERS, "member user:u of team:ops"])
    auth.change("drop user:u")
    shown = loaded(tmp_path, {**PLAIN, "TEAMS": f"{PLAIN['TEAMS']}, 'team:ops': {{}}"})
    reason = "member user:u of team:ops: user:u does not exist, and team:ops is not hidden in notes"
    with pytest.raises(Invalid, match=f"1 of its facts .*\n{reason}; add user:u first"):
        upgrade(auth, shown)
    auth.change_all(["add user:u", "remove user:u from team:ops"])
    upgrade(auth, shown)
    assert [*reopened(auth).members("team:ops").answer] == []
