"""A copy of the facts answers conditions about descendants as Cypher does, for names of all kinds."""

from pathlib import Path

import pytest

from grantpath.engine import Authorizer
from grantpath.graph.language.statement import Check

from ....conftest import Tenants
from ....support.with_replica import replica_of, with_replica

POLICY = """
policy: nested
types:
  org: {}
  space: {in: org}
  app: {in: space}
  part: {in: app}
  user: {in: org, kind: user}
  team: {in: org, kind: group, owned_by: user}
  crew: {in: org, kind: role}
  note: {in: team}
members: {team: "user, team", crew: "user, team, crew"}
grants: {to: "user, team, crew", on_missing: ON_MISSING}
privileges:
  READ: {on: "org, space, app, part, note", inherit: false}
  WRITE: {on: "space, app, part", implies: READ}
operations:
  org: {tour: "some(READ below object)", close: "every(WRITE in app below object)"}
  space:
    look: "some(READ, WRITE in app, part below object)"
    drop: "every(WRITE in app, part below object)"
    make: {if: "some(READ below root) or every(READ in app below object)"NEW}
  app: {stop: "READ and every(READ in part below space)", peek: "some(WRITE below object)"}
  part: {move: {if: "READ", with: {to: {type: space, if: "every(WRITE in app below with.to)"}}}}
  team: {tidy: "every(READ in note below object)", greet: "holds(team)"}
  note: {read: "some(READ in note below team)", write: "holds(team)"}
"""
USERS = ["user:ann", "user:bob", "user:cas", "user:dan"]
TEAMS, CREWS = ["team:a", "team:b.c"], ["crew:one", "crew:two words"]
OBJECTS = [
    *("space:s", "space:s-t", "space:empty", "app:s.a", "app:s.b", "app:s-t.a"),
    *("part:s.a.p", "part:s.b.p", "part:s-t.a.p", "note:a.x", "note:`b.c`.x", "note:`b.c`.y"),
]
NAMES = ["app:s.ghost", "space:later", "part:later.a.p", "space:never"]
FACTS = [
    *(f"add {ref}" for ref in [*USERS, *TEAMS, "crew:one", "crew:`two words`", *OBJECTS]),
    *("member user:ann of team:a", "member user:bob of team:b.c", "member team:b.c of crew:`two words`"),
    *("member user:cas of crew:one", "member crew:one of crew:`two words`"),
    *("allow WRITE on app:s.a to crew:`two words`", "allow WRITE on app:s.b to crew:one"),
    *(
        "allow WRITE on part:s.a.p to user:cas",
        "allow WRITE on part:s.b.p to crew:one",
        "allow READ on app:s.a to user:cas",
    ),
    *("allow WRITE on app:s-t.a to user:dan", "allow READ on part:s-t.a.p to user:dan"),
    *(
        "allow READ on note:`b.c`.x to team:b.c",
        "allow READ on note:`b.c`.y to user:bob",
        "allow READ on part:s.a.p to user:dan",
    ),
]
ON_NAMES = ["allow READ on app:s.ghost to user:ann", "allow WRITE on part:later.a.p to team:a"]


@pytest.fixture(params=["false", "true"], ids=["existing", "on-missing-names"])
def auth(tenant: Tenants, tmp_path: Path, request: pytest.FixtureRequest) -> Authorizer:
    path = tmp_path / "nested.yaml"
    new = ", new: true" if request.param == "true" else ""  # only where a question can be about a name
    path.write_text(POLICY.replace("ON_MISSING", request.param).replace("NEW", new))
    made = with_replica(tenant(str(path), FACTS))
    if request.param == "true":
        assert not any(made.given(ON_NAMES))
    return made


def asked(auth: Authorizer) -> list[tuple[str, str, dict[str, str]]]:
    """Every name with every object on which it can be asked, and second objects."""
    on_missing = NAMES if auth.policy.grants_on_missing else []
    return [
        (name, ref, second)
        for ref in [auth.root.text, *TEAMS, *OBJECTS, *on_missing]
        for name in auth.policy.names_on(ref.partition(":")[0])
        for second in ([{"to": "space:s"}, {"to": "space:s-t"}] if name == "move" else [{}])
        if ref not in on_missing or name == "make" or name.isupper()
    ]


def test_checks_and_lists_agree_with_checks_in_cypher(auth: Authorizer) -> None:
    plain = Authorizer(auth.store, auth.tenant, auth.policy, auth.root)
    differences: list[str] = []
    allowed: dict[tuple[str, str, str], list[str]] = {}
    for name, ref, with_ in asked(auth):
        checks = [Check(subject=user, name=name, object=ref, with_=with_) for user in USERS]
        users = [user for user, yes in zip(USERS, plain.check_many(checks), strict=True) if yes]
        got = [user for user, yes in zip(USERS, auth.check_many(checks), strict=True) if yes]
        listed = list(auth.who(name, ref, with_=with_))
        if not users == got == listed:
            differences.append(f"{name} on {ref} with {with_}: {users} by Cypher, {got}, {listed} by `who`")
        for user in USERS:
            objects = allowed.setdefault((user, name, with_.get("to", "")), [])
            objects += [ref] if user in users and ref not in NAMES else []
    for (user, name, to), objects in allowed.items():
        for type_ in [each for each in auth.policy.names.types if name in auth.policy.names_on(each)]:
            expected = sorted(ref for ref in objects if ref.startswith(f"{type_}:"))
            got = list(auth.which(type_, user, name, with_={"to": to} if to else {}))
            if got != expected:
                differences.append(f"which {type_} can {user} {name} with {to}: {expected} by Cypher, {got}")
    assert not differences, "\n".join(differences)
    assert sum(map(len, allowed.values())) > 50
    assert replica_of(auth).left == 0
