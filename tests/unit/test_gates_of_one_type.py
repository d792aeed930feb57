"""A condition such as READ(folder) asks the privilege on each of several folders above an object."""

from pathlib import Path

import pytest

from grantpath.engine.memory.memory_authorizer import authorizer

NOT_INHERITED_TAGS = """
policy: gates
types:
  org: {}
  folder: {in: "org, folder"}
  doc: {in: folder}
  tag: {in: org}
  user: {in: org, kind: user}
tags:
  tag: {on: folder, inherited: false}
grants: {to: user, deny: true}
privileges:
  READ: {on: "org, folder, tag", effective: "org, folder"}
operations:
  doc: {open: READ(folder)}
"""
A_GATE_BETWEEN = """
policy: gates
types:
  org: {}
  folder: {in: "org, box"}
  box: {in: folder}
  doc: {in: folder}
  user: {in: org, kind: user}
grants: {to: user}
privileges:
  GATE: {on: box, inherit: false, in_effect: granted}
  ADMIN: {on: org, effective: "org, box", implies: READ}
  READ: {on: "org, folder"}
in_effect: {box: GATE(object) and granted}
operations:
  doc: {open: READ(folder)}
"""
ANOTHER_CONDITION_ABOVE = """
policy: gates
types:
  org: {}
  folder: {in: "org, box"}
  box: {in: folder}
  doc: {in: folder}
  user: {in: org, kind: user}
grants: {to: user}
privileges:
  GATE: {on: org, in_effect: granted}
  ADMIN: {on: org, effective: "org, box", implies: READ}
  READ: {on: "org, folder"}
in_effect: {org: granted or GATE(object)}
operations:
  doc: {open: READ(folder)}
"""
NOT_INHERITED_TAG_ABOVE = """
policy: gates
types:
  org: {}
  area: {in: org}
  folder: {in: "area, box"}
  box: {in: folder}
  doc: {in: folder}
  tag: {in: org}
  user: {in: org, kind: user}
tags:
  tag: {on: area, inherited: false}
grants: {to: user}
privileges:
  ADMIN: {on: "org, tag", effective: "area, box", implies: READ}
  READ: {on: "org, folder"}
operations:
  doc: {open: READ(folder)}
"""
IN_AREA = ["add area:x", "add folder:x.a", "add box:x.a.b", "add folder:x.a.b.c", "add doc:x.a.b.c.d", "add tag:t"]
PLACES = ["add folder:a", "add folder:a.b", "add folder:a.b.c", "add doc:a.b.c.d", "add tag:t"]
BETWEEN = ["add folder:a", "add box:a.b", "add folder:a.b.c", "add doc:a.b.c.d"]
ALLOWED = "allow READ on org:test to user:bob"
CASES = {
    "all folders have the privilege": (NOT_INHERITED_TAGS, [*PLACES, ALLOWED], True),
    "only the uppermost has it, by a tag": (
        NOT_INHERITED_TAGS,
        [*PLACES, "tag folder:a with tag:t", "allow READ on tag:t to user:bob"],
        False,
    ),
    "each has it by its tag": (
        NOT_INHERITED_TAGS,
        [
            *PLACES,
            *(f"tag folder:{each} with tag:t" for each in ("a", "a.b", "a.b.c")),
            "allow READ on tag:t to user:bob",
        ],
        True,
    ),
    "one in the middle has a tag with a DENY": (
        NOT_INHERITED_TAGS,
        [*PLACES, ALLOWED, "tag folder:a.b with tag:t", "deny READ on tag:t to user:bob"],
        False,
    ),
    "what implies it needs a gate in between": (
        A_GATE_BETWEEN,
        [*BETWEEN, "allow ADMIN on org:test to user:bob"],
        False,
    ),
    "what implies it has its gate in between": (
        A_GATE_BETWEEN,
        [*BETWEEN, "allow ADMIN on org:test to user:bob", "allow GATE on box:a.b to user:bob"],
        True,
    ),
    "what implies it holds above by another condition": (
        ANOTHER_CONDITION_ABOVE,
        [*BETWEEN, "allow GATE on org:test to user:bob"],
        False,
    ),
    "what implies it holds above by a tag that is not inherited": (
        NOT_INHERITED_TAG_ABOVE,
        [*IN_AREA, "tag area:x with tag:t", "allow ADMIN on tag:t to user:bob"],
        False,
    ),
    "what implies it is granted above": (
        NOT_INHERITED_TAG_ABOVE,
        [*IN_AREA, "allow ADMIN on org:test to user:bob"],
        True,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_privilege_is_asked_on_each_folder(tmp_path: Path, case: str) -> None:
    policy, facts, allowed = CASES[case]
    path = tmp_path / "gates.yaml"
    path.write_text(policy)
    auth = authorizer(str(path), facts)
    folders = [each.removeprefix("add ") for each in facts if each.startswith("add folder:")]
    assert all(auth.check("user:bob", "READ", each) for each in folders) is allowed
    [doc] = [each.removeprefix("add ") for each in facts if each.startswith("add doc:")]
    assert bool(auth.check("user:bob", "open", doc)) is allowed
