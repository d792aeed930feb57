"""Pages of lists have the requested length even if entities are hidden; role types can have any name."""

from pathlib import Path

import pytest

from grantpath.engine import InvalidInput

from ...conftest import Tenants

PERSONA = """\
policy: persona
types:
  org: {}
  box: {in: org, owned_by: persona}
  user: {in: org, kind: user}
  persona: {in: org, kind: role}
members: {persona: "user, persona"}
grants: {to: persona}
ask: {one_role: true}
creating: owner
privileges:
  READ: {on: "org, box"}
  MAKE: {on: org}
operations:
  box: {look: READ}
changes:
  add: {box: MAKE(org)}
"""


def test_page_with_a_hidden_role_has_the_requested_length(tenant: Tenants) -> None:
    facts = ["add role:tau", "add role:zeta", "add role:alpha", "owner user:ann of metalake:ml"]
    auth = tenant("gravitino", [*facts, "member user:ops of role:service_admin"])
    everything = ["role:alpha", "role:tau", "role:zeta"]
    for limit in range(1, 5):
        assert list(auth.which("role", "user:ann", "get_role", limit=limit)) == everything[:limit]
    assert list(auth.which("role", "user:ann", "get_role")) == everything
    assert list(auth.which("role", "user:ann", "get_role", after="role:alpha", limit=1)) == ["role:tau"]


@pytest.mark.parametrize("limit", [0, -1])
def test_every_list_needs_a_limit_of_at_least_one(tenant: Tenants, limit: int) -> None:
    auth = tenant("gravitino", ["add catalog:hr"])
    for ask in (
        lambda: auth.who("load_catalog", "catalog:hr", limit=limit),
        lambda: auth.which("catalog", "user:ann", "load_catalog", limit=limit),
        lambda: auth.log(limit=limit),
        lambda: auth.log(limit=limit, refused=True),
        lambda: auth.list("catalog", limit=limit),
        lambda: auth.grants(limit=limit),
        lambda: auth.members("role:r", limit=limit),
        lambda: auth.memberships("user:u", limit=limit),
    ):
        with pytest.raises(InvalidInput, match=rf"^limit={limit} must be (from 1 to 10,000; |1 or more, or None)"):
            ask()


def test_a_role_type_of_another_name_acts_as_a_role(tenant: Tenants, tmp_path: Path) -> None:
    (tmp_path / "persona.yaml").write_text(PERSONA)
    facts = ["add persona:p", "add box:a", "member user:u of persona:p"]
    grants = ["allow READ on org:ml to persona:p", "allow MAKE on org:ml to persona:p"]
    auth = tenant(str(tmp_path / "persona.yaml"), [*facts, *grants])
    assert auth.check("user:u", "look", "box:a").because
    assert auth.check("user:u", "look", "box:a", as_role="persona:p")
    assert list(auth.who("look", "box:a")) == ["user:u"]
    assert list(auth.which("box", "user:u", "look")) == ["box:a"]
    auth.change("add box:b", by="user:u")
    assert auth.explain("user:u", "look", "box:b").paths
    [row] = auth.store.read(
        "MATCH (:Entity {ref: 'user:u', root: $root})-[edge]->() RETURN type(edge) AS edge", {"root": auth.tenant}
    )
    assert row["edge"] == "HAS_ROLE"
