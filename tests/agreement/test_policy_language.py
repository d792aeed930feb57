"""The policy language: what a policy of users means, by the facts in a graph and in memory."""

from pathlib import Path

import pytest

from grantpath.engine import Authorizer
from grantpath.engine.policy.policy import from_source, load
from grantpath.graph.errors import InvalidPolicy

from ..conftest import Tenants
from ..support.bad_policies import refused
from ..support.with_replica import with_replica

PROJECTS = """policy: projects
types:
  site: {{}}
  project: {{in: site, owned_by: user}}
  doc: {{in: project, owned_by: user}}
  user: {{in: site, kind: user}}
  team: {{in: site, kind: group}}
members:
  team: user, team
grants: {{to: "user, team", deny: {deny}}}
privileges:
  MEMBER: {{on: project}}
  READ: {{on: "project, doc"}}
  ADMIN: {{on: "project, doc", implies: READ, in_effect: {in_effect}}}
operations:
  doc:
    view: READ
    manage: ADMIN
"""
MADE = ["add project:p", "add doc:p.d", "add user:ann", "add user:bob"]


def projects(tenants: Tenants, folder: Path, in_effect: str, given: list[str], deny: str = "false") -> list[Authorizer]:
    """A root with this policy, asked by Cypher and from memory."""
    path = folder / "projects.yaml"
    path.write_text(PROJECTS.format(in_effect=in_effect, deny=deny))
    auth = tenants(str(path), [*MADE, *given])
    return [auth, with_replica(auth)]


def answers(auth: Authorizer, user: str, *names: str) -> list[bool]:
    return [bool(auth.check(user, name, "doc:p.d")) for name in names]


def test_grant_that_is_not_in_effect_includes_nothing(tenant: Tenants, tmp_path: Path) -> None:
    gate = "MEMBER(project) and granted"
    given = ["allow ADMIN on doc:p.d to user:ann", "allow ADMIN on doc:p.d to user:bob"]
    for auth in projects(tenant, tmp_path, gate, [*given, "allow MEMBER on project:p to user:ann"]):
        assert answers(auth, "user:bob", "ADMIN", "READ", "manage", "view") == [False] * 4
        assert answers(auth, "user:ann", "ADMIN", "READ", "manage", "view") == [True] * 4
        assert list(auth.who("READ", "doc:p.d")) == ["user:ann"]
        assert list(auth.which("doc", "user:bob", "READ")) == []


def test_privilege_that_is_in_effect_without_a_grant_includes_the_implied_one(tenant: Tenants, tmp_path: Path) -> None:
    for auth in projects(tenant, tmp_path, "owner(object) or granted", ["owner user:ann of doc:p.d"]):
        assert answers(auth, "user:ann", "ADMIN", "READ", "manage", "view") == [True] * 4
        assert answers(auth, "user:bob", "ADMIN", "READ") == [False, False]
        assert list(auth.who("view", "doc:p.d")) == ["user:ann"]
        assert list(auth.which("doc", "user:ann", "READ")) == ["doc:p.d"]
        assert auth.explain("user:ann", "READ", "doc:p.d").decision.because == ["user:ann owns doc:p.d"]


@pytest.mark.parametrize(("deny", "admin"), [("true", True), ("cascades", True)])
def test_deny_of_the_implied_privilege_overrides_it(tenant: Tenants, tmp_path: Path, deny: str, admin: bool) -> None:
    given = ["owner user:ann of doc:p.d", "deny READ on project:p to user:ann"]
    for auth in projects(tenant, tmp_path, "owner(object) or granted", given, deny):
        assert answers(auth, "user:ann", "ADMIN", "READ") == [admin, False]
        told = auth.explain("user:ann", "READ", "doc:p.d")
        assert told.remedy == ["revoke deny READ on project:p from user:ann"]


def test_denied_privilege_still_includes_what_it_implies(tenant: Tenants, tmp_path: Path) -> None:
    gate = "MEMBER(project) and granted"
    given = [
        *[f"allow ADMIN on doc:p.d to user:{name}" for name in ("ann", "bob")],
        "allow MEMBER on project:p to user:ann",
        "deny ADMIN on doc:p.d to user:ann",
        "deny ADMIN on doc:p.d to user:bob",
    ]
    for auth in projects(tenant, tmp_path, gate, given, "true"):
        assert answers(auth, "user:ann", "ADMIN", "READ") == [False, True]
        assert answers(auth, "user:bob", "ADMIN", "READ") == [False, False]


def test_privilege_above_counts_as_a_grant_below(tenant: Tenants, tmp_path: Path) -> None:
    """ADMIN of a project is in effect on the project only; its READ reaches the documents through their gate."""
    text = PROJECTS.format(in_effect="MEMBER(project) and granted", deny="false").replace(
        'ADMIN: {on: "project, doc"', "ADMIN: {on: project"
    )
    text = text.replace("    manage: ADMIN\n", "")
    text += "in_effect:\n  doc: holds(team:staff) and granted\nbuiltin:\n  team:staff: {}\n"
    path = tmp_path / "projects.yaml"
    path.write_text(text)
    both = ["allow ADMIN on project:p to user:{}", "allow MEMBER on project:p to user:{}"]
    staff = "member user:{} of team:staff"
    given = [each.format("ann") for each in (*both, staff)] + [each.format("bob") for each in both]
    given += [each.format("cy") for each in (both[0], staff)]
    auth = tenant(str(path), [*MADE, "add user:cy", *given])
    for each in (auth, with_replica(auth)):
        assert [bool(each.check(f"user:{name}", "READ", "project:p")) for name in ("ann", "bob", "cy")] == [
            True,
            True,
            False,
        ]
        assert [bool(each.check(f"user:{name}", "READ", "doc:p.d")) for name in ("ann", "bob", "cy")] == [
            True,
            False,
            False,
        ]


MEMBERSHIP = """policy: teams
types:
  site: {}
  team: {in: site, kind: group}
  user: {in: site, kind: user}
members:
  team: user, team
grants: {to: "user, team"}
privileges:
  JOIN: {on: team, membership: true, implies: SEE}
  SEE: {on: team}
operations:
  team: {view: SEE, talk: JOIN}
"""


def test_membership_privilege_is_in_effect_for_members_and_includes_the_implied_one(
    tenant: Tenants, tmp_path: Path
) -> None:
    path = tmp_path / "teams.yaml"
    path.write_text(MEMBERSHIP)
    given = ["add team:a", "add team:b", "add user:bob", "member team:b of team:a", "allow JOIN on team:b to user:ann"]
    auth = tenant(str(path), given)
    for each in (auth, with_replica(auth)):
        for name in ("JOIN", "SEE", "view", "talk"):
            assert [bool(each.check("user:ann", name, on)) for on in ("team:a", "team:b")] == [True, True], name
            assert not each.check("user:bob", name, "team:a")
            assert list(each.who(name, "team:a")) == ["user:ann"]


SECOND = """policy: issues
types:
  site: {}
  issue: {in: site}
  user: {in: site, kind: user}
  team: {in: site, kind: group}
members:
  team: user
grants: {to: "user, team"}
privileges:
  READ: {on: issue}
  EDIT: {on: issue}
define:
  readable: READ
  readable_target: READ(with.target)
operations:
  issue:
    view: READ
    link: {if: EDIT, with: {target: {type: issue, if: "CONDITION"}}}
    give: {if: GIVE, with: {to: TYPE}}
"""
NAMELESS = {
    "READ": "READ(with.target)",
    "READ(issue)": "READ(with.target)",
    "READ and EDIT": "READ(with.target)",
    "can(view)": "can(view, with.target)",
    "exists(object)": "exists(with.target)",
    "some(READ in issue below root)": "some(... below with.target)",
    "readable": "a condition of with.target, e.g. PRIVILEGE(with.target)",
    "everyone": "a condition of with.target, e.g. PRIVILEGE(with.target)",
}


@pytest.mark.parametrize("condition", NAMELESS)
def test_condition_of_a_second_object_that_does_not_name_it_is_refused(condition: str, tmp_path: Path) -> None:
    path, text = refused(
        SECOND.replace("CONDITION", condition).replace("GIVE", "EDIT").replace("TYPE", "team"), tmp_path
    )
    assert text == (
        f"{path}:19: operations.issue.link: the condition {condition!r} of with.target never names with.target, so it "
        f"is about the first object; write {NAMELESS[condition]}"
    )


@pytest.mark.parametrize(
    "condition", ["READ(with.target)", "can(view, with.target)", "readable_target", "READ and readable_target"]
)
def test_condition_that_names_the_second_object_is_about_it(tenant: Tenants, condition: str, tmp_path: Path) -> None:
    path = tmp_path / "issues.yaml"
    path.write_text(SECOND.replace("CONDITION", condition).replace("GIVE", "EDIT").replace("TYPE", "team"))
    given = [
        "add issue:open",
        "add issue:secret",
        "allow EDIT on issue:open to user:ann",
        "allow READ on issue:open to user:ann",
    ]
    auth = tenant(str(path), given)
    for each in (auth, with_replica(auth)):
        assert each.check("user:ann", "link", "issue:open", with_={"target": "issue:open"})
        assert not each.check("user:ann", "link", "issue:open", with_={"target": "issue:secret"})


NEVER_HOLDS = {
    ("holds(with.to)", "user"): "with.to is a user, which is not a group or role; write self(with.to)",
    ("holds(with.to)", "issue"): "with.to is an issue, which is not a group or role; name another place",
    ("holds(site)", "team"): "site is a site, which is not a group or role; name another place",
    ("self(with.to)", "team"): "with.to is a team, which is not in `ask.subjects`; write holds(with.to)",
    ("self(object)", "team"): "object is an issue, which is not in `ask.subjects`; name another place",
}


@pytest.mark.parametrize(("condition", "type_"), NEVER_HOLDS)
def test_place_that_is_not_held_or_not_a_subject_is_refused(condition: str, type_: str, tmp_path: Path) -> None:
    given = SECOND.replace("CONDITION", "READ(with.target)").replace("GIVE", condition).replace("TYPE", type_)
    path, text = refused(given, tmp_path)
    said = f"{condition} never holds: {NEVER_HOLDS[condition, type_]}"
    assert text == f"{path}:20: operations.issue.give: {said}"


def test_stored_policy_that_is_refused_now_gives_no_answer(tenant: Tenants, tmp_path: Path) -> None:
    path = tmp_path / "issues.yaml"
    path.write_text(SECOND.replace("CONDITION", "READ(with.target)").replace("GIVE", "EDIT").replace("TYPE", "team"))
    stored = from_source(load(str(path)).source.replace('READ(with.target)", "inside', 'READ", "inside'))
    with pytest.raises(
        InvalidPolicy, match=r"^the policy stored with the root is invalid: .*write READ\(with.target\)"
    ):
        stored.question("link", "issue", frozenset({"target"}))
    assert stored.question("view", "issue").clauses


ONE_ROLE = """policy: acting
types:
  site: {}
  doc: {in: site}
  role: {in: site, kind: role}
  user: {in: site, kind: user}
  robot: {in: site, kind: service_principal}
members:
  role: user, robot
grants: {to: role}
ask: {subjects: "user, robot", one_role: true}
creating: EDIT
builtin:
  role:everybody: {held_by_every: "user, robot"}
privileges:
  EDIT: {on: doc}
operations:
  site: {enter: "holds(role:everybody)"}
  doc: {change: EDIT}
changes:
  add: {doc: everyone}
"""


def test_creator_gives_its_privilege_to_the_active_role(tenant: Tenants, tmp_path: Path) -> None:
    path = tmp_path / "acting.yaml"
    path.write_text(ONE_ROLE)
    auth = tenant(str(path), ["add role:author", "member user:ann of role:author", "member user:bob of role:author"])
    auth.change("add doc:d", by="user:ann", as_role="role:author")
    [grant] = auth.grants().answer
    assert (grant.effect, grant.privilege, grant.object, grant.subject) == ("ALLOW", "EDIT", "doc:d", "role:author")
    assert auth.check("user:bob", "change", "doc:d")


def test_every_entity_of_several_types_holds_a_role(tenant: Tenants, tmp_path: Path) -> None:
    path = tmp_path / "acting.yaml"
    path.write_text(ONE_ROLE)
    auth = tenant(str(path), ["add user:ann", "add robot:r"])
    for each in (auth, with_replica(auth)):
        assert list(each.who("enter", "site:ml")) == ["robot:r", "user:ann"]
        assert not each.check("user:unknown", "enter", "site:ml"), "no fact has added this user"
    stored = load(str(path)).source
    for older, types in (('"user"', ["user"]), ("null", [])):
        text = stored.replace('"held_by_every": ["user", "robot"]', f'"held_by_every": {older}')
        assert from_source(text).builtins["role:everybody"].held_by_every == types, "as an older version stored it"


ROLES = """policy: roles
types:
  site: {}
  user: {in: site, kind: user}
  role: {in: site, kind: role}
members: {role: user}
grants: {to: role}
ask: {one_role: true}
privileges:
  MANAGE: {on: site}
operations:
  user:
    rename: self(user) or MANAGE(root)
"""


def test_a_user_that_acts_with_one_role_is_itself(tenant: Tenants, tmp_path: Path) -> None:
    path = tmp_path / "roles.yaml"
    path.write_text(ROLES)
    auth = tenant(str(path), ["add user:ann", "add user:bob", "add role:r", "member user:ann of role:r"])
    for asked in (auth, with_replica(auth)):
        assert asked.check("user:ann", "rename", "user:ann")
        assert list(asked.which("user", "user:ann", "rename")) == ["user:ann"]
        assert list(asked.which("user", "user:bob", "rename")) == []  # without a role nothing is allowed
        assert list(asked.who("rename", "user:ann")) == ["user:ann"]
