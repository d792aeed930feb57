"""Remedies in uncommon policies: what is missing is added first, what comes with a role is not given again."""

from pathlib import Path

import pytest

from grantpath.engine.memory.memory_authorizer import authorizer
from grantpath.engine.policy.policy import load

TYPES = """
policy: odd
title: An uncommon policy
source: A test
types:
  org: {}
  user: {in: org, kind: user}
  role: {in: org, kind: role}
  group: {in: org, kind: group}
  folder: {in: org}
  doc: {in: folder}
"""
ALONE = """
members: {role: user}
grants: {to: role}
ask: {one_role: true}
builtin: {'role:staff': {EXTRA}}
privileges:
  USE: {on: org}
operations:
  org: {peek: holds(role:staff)}
"""
MISSING = """
members: {role: user, group: user}
grants: {to: "user, role", on_missing: true}
privileges:
  READ: {on: doc}
operations:
  role: {join: {if: holds(role), new: true}}
  folder: {sweep: every(READ in doc below folder)}
"""
SECOND = """
members: {role: user, group: user}
grants: {to: "user, role"}
privileges:
  READ: {on: doc}
operations:
  org:
    join: {if: holds(with.x), with: {x: {type: role, new: true}}}
    copy: {if: READ(with.x), with: {x: {type: doc, new: true}}}
    sweep: {if: every(READ in doc below with.x), with: {x: {type: folder, new: true}}}
"""
GROUPS = """
members: {role: "user, role, group", group: user}
grants: {to: role}
ask: {subjects: "user, group"}
builtin: {'role:staff': {held_by_every: "user, role", allow: USE}}
privileges:
  USE: {on: org}
operations: {}
"""
DENIED = """
members: {role: user, group: user}
grants: {to: "user, role", deny: true}
privileges:
  READ: {on: "org, doc"}
operations:
  doc: {see: holds(role:staff) and READ}
builtin: {'role:staff': {}}
"""
READABLE = ["add folder:f", "add doc:f.d", "add role:a"]
CASES = {
    "a role that every user holds": (
        ALONE.replace("EXTRA", "held_by_every: user"),
        [],
        ("user:v", "peek", "org:r"),
        {},
        ["add user:v"],
    ),
    "its privilege": (
        ALONE.replace("EXTRA", "held_by_every: user, allow: USE"),
        [],
        ("user:v", "USE", "org:r"),
        {},
        ["add user:v"],
    ),
    "the same role, active": (
        ALONE.replace("EXTRA", "held_by_every: user, allow: USE"),
        [],
        ("user:v", "USE", "org:r"),
        {"as_role": "role:staff"},
        ["add user:v"],
    ),
    "a role that a condition names": (
        ALONE.replace("EXTRA", ""),
        [],
        ("user:u", "peek", "org:r"),
        {},
        ["member user:u of role:staff"],
    ),
    "a role that does not exist": (
        MISSING,
        [],
        ("user:u", "join", "role:b"),
        {},
        ["add role:b", "member user:u of role:b"],
    ),
    "a place that does not exist": (MISSING, [], ("user:u", "sweep", "folder:f"), {}, ["add folder:f"]),
    "a second object to join": (
        SECOND,
        [],
        ("user:u", "join", "org:r"),
        {"with_": {"x": "role:b"}},
        ["add role:b", "member user:u of role:b"],
    ),
    "a second object to read": (
        SECOND,
        [],
        ("user:u", "copy", "org:r"),
        {"with_": {"x": "doc:f.d"}},
        ["add folder:f", "add doc:f.d", "allow READ on doc:f.d to user:u"],
    ),
    "a second object with nothing inside": (
        SECOND,
        [],
        ("user:u", "sweep", "org:r"),
        {"with_": {"x": "folder:f"}},
        ["add folder:f"],
    ),
    "a role that every role holds": (
        GROUPS,
        [],
        ("group:h", "USE", "org:r"),
        {},
        ["add group:h", "add role:for-h", "member group:h of role:for-h"],
    ),
    "a role with a DENY": (
        DENIED,
        [*READABLE, "deny READ on doc:f.d to role:staff", "allow READ on org:r to user:u"],
        ("user:u", "see", "doc:f.d"),
        {},
        ["member user:u of role:staff", "revoke deny READ on doc:f.d from role:staff"],
    ),
    "a role with the grant": (
        DENIED,
        [*READABLE, "allow READ on doc:f.d to role:staff"],
        ("user:u", "see", "doc:f.d"),
        {},
        ["member user:u of role:staff"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_remedy_is_accepted_and_allows_the_check(case: str, tmp_path: Path) -> None:
    text, facts, question, more, remedy = CASES[case]
    file = tmp_path / "policy.yaml"
    file.write_text(TYPES + text, encoding="utf-8")
    auth = authorizer(load(str(file)), ["add user:u", *facts], root="r")
    assert not auth.check(*question, **more)  # type: ignore[arg-type]
    assert auth.explain(*question, **more).remedy == remedy  # type: ignore[arg-type]
    assert not [problem for problem in auth.given(remedy) if problem]
    assert auth.check(*question, **more)  # type: ignore[arg-type]
