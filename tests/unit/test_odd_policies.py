"""What uncommon policies decide, and what plans say under them."""

from pathlib import Path

import pytest

from grantpath.engine import InvalidPolicy
from grantpath.engine.memory.memory_authorizer import authorizer
from grantpath.engine.policy.policy import Policy, load, warnings

COUNTED = """
policy: counted
title: Areas beside folders in folders
source: A test
types:
  org: {}
  folder: {in: "org, folder"}
  area: {in: org}
  page: {in: area}
  shelf: {in: area}
  user: {in: org, kind: user}
grants: {to: user}
privileges:
  READ: {on: "area, page"}
  SEE: {on: folder}
operations:
  area:
    sweep: every(READ below area)
    leaf: every(READ in page below area)
"""
OMITTED = """
policy: omitted
title: A copy with two optional second objects
source: A test
types:
  org: {}
  doc: {in: org, owned_by: user}
  user: {in: org, kind: user}
members: {}
grants: {to: user}
privileges:
  READ: {on: doc}
operations:
  doc:
    run: {if: READ(with.x), with: {x: doc}}
    copy:
      if: can(run, with.a, x=with.b) or READ
      with: {a: {type: doc, optional: true}, b: {type: doc, optional: true}}
    join:
      if: can(run, with.a, x=with.b)
      with: {a: {type: doc, optional: true}, b: {type: doc, optional: true}}
"""


def loaded(text: str, folder: Path) -> Policy:
    file = folder / "policy.yaml"
    file.write_text(text, encoding="utf-8")
    return load(str(file))


def test_plan_counts_the_objects_of_every_type_beside_types_in_themselves(tmp_path: Path) -> None:
    auth = authorizer(
        loaded(COUNTED, tmp_path), ["add user:u", "add area:a", "add page:a.p", "add shelf:a.s"], root="r"
    )
    grant = "allow READ on page:a.p to user:u"
    gained = {name for each in auth.plan([grant]).effects.effects for name in each.names}
    auth.change(grant)
    assert not auth.check("user:u", "sweep", "area:a")  # READ cannot be granted on shelves
    assert auth.check("user:u", "leaf", "area:a")
    assert gained == {"leaf", "READ"}


def test_condition_about_one_of_several_optional_second_objects_does_not_hold_without_it(tmp_path: Path) -> None:
    facts = ["add user:u", "add doc:a", "add doc:b", "allow READ on doc:b to user:u"]
    auth = authorizer(loaded(OMITTED, tmp_path), facts, root="r")
    for given, allowed in (({}, False), ({"a": "doc:a"}, False), ({"b": "doc:b"}, False)):
        assert bool(auth.check("user:u", "join", "doc:a", with_=given)) is allowed
        assert bool(auth.check("user:u", "copy", "doc:b", with_=given))
    assert auth.check("user:u", "join", "doc:a", with_={"a": "doc:a", "b": "doc:b"})


def test_role_that_acts_alone_cannot_be_in_a_group(tmp_path: Path) -> None:
    text = """
policy: alone
title: Roles that act alone
source: A test
types:
  org: {}
  user: {in: org, kind: user}
  group: {in: org, kind: group}
  role: {in: org, kind: role}
members: {group: MEMBERS, role: user}
grants: {to: role}
ask: {one_role: true}
privileges:
  READ: {on: org}
operations:
  group: {talk: holds(group)}
"""
    with pytest.raises(InvalidPolicy, match=r"a role acts alone and cannot be in a group; remove role"):
        loaded(text.replace("MEMBERS", '"user, role"'), tmp_path)
    assert loaded(text.replace("MEMBERS", "user"), tmp_path)


def test_group_is_not_held_by_a_role_that_acts_alone(tmp_path: Path) -> None:
    text = """
policy: alone
title: Roles that act alone, and groups
source: A test
types:
  org: {}
  user: {in: org, kind: user}
  group: {in: org, kind: group}
  role: {in: org, kind: role}
members: {group: user, role: user}
grants: {to: role}
ask: {one_role: true}
privileges:
  READ: {on: org}
operations:
  group: {talk: {if: holds(group) or holds(role:staff)ALL}}
builtin: {'role:staff': {held_by_every: user}}
"""
    facts = ["add user:u", "add group:g", "member user:u of group:g"]
    alone = text.replace(" or holds(role:staff)ALL", "")
    auth = authorizer(loaded(alone, tmp_path), facts, root="r")
    told = "holds(group) never holds: with `ask.one_role` a role acts alone, and none is in a group; remove it"
    assert [each.partition("talk: ")[2] for each in warnings(str(tmp_path / "policy.yaml"))] == [told]
    explained = auth.explain("user:u", "talk", "group:g")
    assert explained.missing == ["no change allows it: a role acts alone, and none is in group:g"]
    together = text.replace(" or holds(role:staff)ALL", ", all_roles: true")
    assert authorizer(loaded(together, tmp_path), facts, root="r").check("user:u", "talk", "group:g")
    assert warnings(str(tmp_path / "policy.yaml")) == []


def test_second_object_at_a_place_that_some_objects_lack(tmp_path: Path) -> None:
    text = """
policy: loose
title: Docs in folders, and docs beside them
source: A test
types:
  org: {}
  user: {in: org, kind: user}
  folder: {in: org}
  doc: {in: "org, folder"}
grants: {to: user}
privileges:
  READ: {on: "org, folder"}
operations:
  doc: {run: {if: READ(with.x), with: {x: folder}}, see: "can(run, object, x=folder)", list: "READ(folder)"}
"""
    facts = ["add user:u", "add folder:f", "add doc:f.d", "add doc:loose", "allow READ on folder:f to user:u"]
    auth = authorizer(loaded(text, tmp_path), facts, root="r")
    for name in ("see", "list"):
        assert [ref for ref in auth.list("doc") if auth.check("user:u", name, ref)] == ["doc:f.d"]


def test_every_of_nothing_is_true_and_only_objects_are_counted(tmp_path: Path) -> None:
    text = """
policy: nothing
title: Nothing is below
source: A test
types:
  org: {}
  user: {in: org, kind: user}
  doc: {in: org}
grants: {to: user}
privileges:
  READ: {on: doc}
operations:
  doc: {empty: every(READ below doc)}
  org: {all: every(READ in TYPE below org)}
"""
    auth = authorizer(loaded(text.replace("TYPE", "doc"), tmp_path), ["add user:u", "add doc:d"], root="r")
    assert auth.explain("user:u", "empty", "doc:d").allowed
    with pytest.raises(InvalidPolicy, match=r"every\(...\) is about objects, and a user is none"):
        loaded(text.replace("TYPE", "user"), tmp_path)


def test_some_grant_that_cannot_be_given_is_explained_as_no(tmp_path: Path) -> None:
    text = """
policy: none
title: A grant that no object can have
source: A test
types:
  org: {}
  user: {in: org, kind: user}
  doc: {in: org}
grants: {to: user}
privileges:
  USE: {on: org}
  READ: {on: "org, doc"}
operations:
  org: {see: some(USE in doc below org) and READ, look: some(USE in doc below org) or READ}
"""
    auth = authorizer(loaded(text, tmp_path), ["add user:u", "add doc:d"], root="r")
    assert not auth.explain("user:u", "see", "org:r").allowed
    assert auth.explain("user:u", "look", "org:r").remedy == ["allow READ on org:r to user:u"]


def test_remedy_of_a_role_that_acts_alone_does_not_count_what_its_user_has(tmp_path: Path) -> None:
    text = """
policy: alone
title: Roles that act alone beside one that every user holds
source: A test
types:
  org: {}
  user: {in: org, kind: user}
  role: {in: org, kind: role}
  doc: {in: org}
members: {role: "user, role"}
grants: {to: role}
ask: {one_role: true}
builtin: {role:public: {held_by_every: user, allow: USE}}
privileges:
  USE: {on: org}
  READ: {on: doc, in_effect: USE(root) and granted}
operations: {}
"""
    auth = authorizer(loaded(text, tmp_path), ["add user:u", "add doc:d"], root="r")
    remedy = auth.explain("user:u", "READ", "doc:d").remedy
    assert remedy
    assert not [problem for problem in auth.given(remedy) if problem]
    assert auth.check("user:u", "READ", "doc:d")


ALONE = """
policy: alone
title: Roles that act alone, and one that a condition names
source: A test
types:
  org: {}
  user: {in: org, kind: user}
  role: {in: org, kind: role}
  doc: {in: org}
members: {role: "user, role"}
grants: {to: role}
ask: {one_role: true, subjects: "user, role"}
builtin: {role:staff: {}}
privileges:
  READ: {on: doc}
operations:
  doc: {read: READ and holds(role:staff)}
"""


@pytest.mark.parametrize(
    ("facts", "subject", "role"),
    [
        (["member role:staff of role:a"], "user:u", "role:a"),
        (["member role:staff of role:a", "member user:u of role:a"], "user:u", "role:a"),
        ([], "role:staff", "role:a"),
    ],
)
def test_no_remedy_closes_a_cycle(tmp_path: Path, facts: list[str], subject: str, role: str) -> None:
    given = ["add user:u", "add role:a", "add doc:d", "allow READ on doc:d to role:a", *facts]
    auth = authorizer(loaded(ALONE, tmp_path), given, root="r")
    assert not auth.check(subject, "read", "doc:d", as_role=role)
    explained = auth.explain(subject, "read", "doc:d", as_role=role)
    assert (explained.remedy, explained.missing) == ([], ["no change allows it: role:a cannot be in role:staff"])


def test_remedy_adds_the_object_before_its_owner(tmp_path: Path) -> None:
    text = """
policy: owned
title: Only owners read
source: A test
types:
  org: {}
  user: {in: org, kind: user}
  folder: {in: org}
  doc: {in: folder, owned_by: user}
grants: {to: user, on_missing: true}
privileges:
  READ: {on: doc, in_effect: owner(doc)}
operations: {}
"""
    auth = authorizer(loaded(text, tmp_path), ["add user:u"], root="r")
    remedy = auth.explain("user:u", "READ", "doc:f.d").remedy
    assert remedy == ["add folder:f", "add doc:f.d", "owner user:u of doc:f.d"]
    assert not [problem for problem in auth.given(remedy) if problem]
    assert auth.check("user:u", "READ", "doc:f.d")
