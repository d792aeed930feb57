"""Objects inside users, and users on which nothing is granted: every way of asking gives the answers of checks."""

from pathlib import Path

import pytest

from grantpath.engine import Authorizer

from ..conftest import Tenants
from ..support.with_replica import with_replica

POLICY = """
policy: tokens
title: Tokens of users
source: A test
types:
  org: {}
  user: {in: org, kind: user}
  robot: {in: org, kind: user}
  token: {in: user}
grants: {to: "user, robot", deny: true}
ask: {subjects: "user, robot"}
privileges:
  READ: {on: "org, token"}
  GATE: {on: org}
operations:
  user: {rename: self(user) and GATE(root)}
  robot: {stop: self(robot) and GATE(root)}
  token: {burn: self(user) and GATE(root)}
"""
BELOW = """
policy: below
title: Tokens of users, counted
source: A test
types:
  org: {}
  user: {in: org, kind: user}
  robot: {in: org, kind: user}
  token: {in: user}
grants: {to: "user, robot"}
privileges:
  READ: {on: "org, token"}
operations:
  org: {see: "some(READ in token below org)", all: "every(READ in token below org)", sweep: "every(READ below org)"}
"""
FACTS = [
    *("add user:u", "add user:v", "add robot:r", "add robot:q", "add token:u.t", "add token:v.t"),
    *("allow READ on org:main to user:u", "allow GATE on org:main to user:u", "allow GATE on org:main to robot:r"),
]
LISTS = [("token", "READ"), ("user", "rename"), ("robot", "stop"), ("token", "burn")]


def opened(tenant: Tenants, text: str, folder: Path, facts: list[str]) -> Authorizer:
    file = folder / "policy.yaml"
    file.write_text(text, encoding="utf-8")
    auth = tenant(str(file), root="main")
    assert not [
        problem for problem in auth.given([each.replace("org:main", auth.root.text) for each in facts]) if problem
    ]
    return auth


@pytest.mark.parametrize("copied", [False, True], ids=["by Cypher", "from a copy"])
def test_lists_inherit_the_facts_of_the_root_through_subjects(tenant: Tenants, copied: bool, tmp_path: Path) -> None:
    auth = opened(tenant, POLICY, tmp_path, [*FACTS, "deny READ on token:v.t to user:u"])
    auth = with_replica(auth) if copied else auth
    for subject in ("user:u", "user:v", "robot:r", "robot:q"):
        for type_, name in LISTS:
            checked = [ref for ref in auth.list(type_) if auth.check(subject, name, ref)]
            assert [*auth.which(type_, subject, name)] == checked, (subject, name)
            for ref in auth.list(type_):
                assert (subject in auth.who(name, ref)) is (ref in checked), (subject, name, ref)
    assert [*auth.which("token", "user:u", "READ")] == ["token:u.t"]
    assert [*auth.which("user", "user:u", "rename")] == ["user:u"]
    assert [*auth.which("robot", "robot:r", "stop")] == ["robot:r"]


@pytest.mark.parametrize("copied", [False, True], ids=["by Cypher", "from a copy"])
def test_objects_inside_subjects_are_below_the_root(tenant: Tenants, copied: bool, tmp_path: Path) -> None:
    auth = opened(tenant, BELOW, tmp_path, [*FACTS[:6], "allow READ on token:v.t to user:u"])
    auth = with_replica(auth) if copied else auth
    root = auth.root.text
    names = ("see", "all", "sweep")
    assert [bool(auth.check("user:u", name, root)) for name in names] == [True, False, False]
    auth.change("allow READ on token:u.t to user:u")
    assert [bool(auth.check("user:u", name, root)) for name in ("see", "all", "sweep")] == [
        True,
        True,
        False,
    ]  # users are objects here
    assert [*auth.list("token", under=root)] == ["token:u.t", "token:v.t"]
