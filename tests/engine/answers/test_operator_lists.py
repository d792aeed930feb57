"""Lists of the operator (the members of a hidden built-in) keep the names of their members even if they are dropped."""

from pathlib import Path

import pytest
import yaml

from grantpath.engine import Authorizer, Invalid, Unknown
from grantpath.engine.policy import policy
from grantpath.engine.transfer.exporter import dump
from grantpath.engine.transfer.importer import load
from grantpath.engine.transfer.policy_upgrade import upgrade

from ...conftest import Tenants

FACTS = ["owner user:root of metalake:ml", "member user:ops of role:service_admin", "member user:dev of role:r"]
ASKED = ("create_metalake", "metalake:ml")


@pytest.fixture
def auth(tenant: Tenants) -> Authorizer:
    made = tenant("gravitino", ["add role:r", *FACTS])
    made.change("drop user:ops", by="user:root")
    return made


def names_itself(auth: Authorizer) -> list[str]:
    """The nodes and edges of user:ops in the graph."""
    found = auth.ask("tenant_state")
    return [edge["target"] for edge in found["edges"] if "user:ops" in (edge["source"], edge["target"])]


def is_nowhere(auth: Authorizer) -> None:
    """user:ops is not allowed anything and appears in no answer, although its name is kept."""
    assert names_itself(auth) == ["role:service_admin"]
    assert not auth.check("user:ops", *ASKED)
    assert not auth.check("user:ops", "load_metalake", "metalake:ml")
    explained = auth.explain("user:ops", *ASKED)
    assert (explained.decision.allowed, explained.paths) == (False, [])
    assert list(auth.who(*ASKED)) == []
    assert list(auth.who("load_metalake", "metalake:ml")) == ["user:dev", "user:root"]
    assert list(auth.which("metalake", "user:ops", "create_metalake")) == []
    assert list(auth.which("user", "user:root", "get_user")) == ["user:dev", "user:root"]
    with pytest.raises(Unknown):
        auth.check("user:root", "get_user", "user:ops")
    with pytest.raises(Unknown):
        auth.change("member user:ops of role:r")


def counts_again(auth: Authorizer) -> None:
    auth.change("add user:ops", by="user:root")
    assert auth.check("user:ops", *ASKED)
    assert list(auth.who(*ASKED)) == ["user:ops"]
    assert not auth.check("user:ops", "get_role", "role:r"), "what else it had is gone"


def test_dropped_user_is_listed_again_only_when_added_again(auth: Authorizer) -> None:
    is_nowhere(auth)
    counts_again(auth)
    for batch in (["drop user:ops", "add user:ops"], ["drop user:ops"], ["add user:ops"]):
        auth.change_all(batch, by="user:root")
    assert auth.check("user:ops", *ASKED)
    with pytest.raises(Invalid, match="role:service_admin"):
        auth.change("remove user:ops from role:service_admin", by="user:root")
    auth.change("remove user:ops from role:service_admin")
    assert not auth.check("user:ops", *ASKED)


def test_operator_removes_a_name_from_the_list(auth: Authorizer) -> None:
    assert auth.given(["remove user:ops from role:service_admin", "drop user:ops"]) == [None, None]
    assert names_itself(auth) == []
    auth.change("add user:ops")
    assert not auth.check("user:ops", *ASKED)


@pytest.mark.parametrize("replace", [False, True])
def test_dump_contains_the_list(auth: Authorizer, tenant: Tenants, tmp_path: Path, replace: bool) -> None:
    dump(auth, tmp_path / "dumped")
    other = tenant("gravitino", ["member user:x of role:service_admin"] if replace else [])
    load(other, tmp_path / "dumped", replace=replace, consent=True)
    is_nowhere(other)
    assert not load(other, tmp_path / "dumped").changed
    counts_again(other)


def test_replacing_load_removes_a_name_from_the_list(auth: Authorizer, tmp_path: Path) -> None:
    (tmp_path / "subjects.csv").write_text("ref\nuser:root\nuser:dev\nrole:r\n")
    (tmp_path / "owners.csv").write_text(f"object,owner\n{auth.root},user:root\n")
    load(auth, tmp_path, replace=True, consent=True)
    assert names_itself(auth) == []


def test_a_load_adds_a_user_that_the_list_names(auth: Authorizer, tmp_path: Path) -> None:
    (tmp_path / "subjects.csv").write_text("ref\nuser:ops\n")
    load(auth, tmp_path)
    assert auth.check("user:ops", *ASKED)


def test_other_memberships_of_missing_users_are_errors(auth: Authorizer, tmp_path: Path) -> None:
    (tmp_path / "members.csv").write_text("member,of\nuser:ops,role:r\nuser:other,role:service_admin\n")
    with pytest.raises(Invalid, match="user:ops does not exist"):
        load(auth, tmp_path)


def test_an_upgrade_keeps_the_list(auth: Authorizer, tenant: Tenants, tmp_path: Path) -> None:
    source = yaml.safe_load(auth.policy.source)
    source["title"] = "edited"
    (tmp_path / "edited.yaml").write_text(yaml.safe_dump(source))
    edited = policy.load(str(tmp_path / "edited.yaml"))
    assert upgrade(auth, edited).changed
    after = Authorizer(auth.store, auth.tenant, edited, auth.root)
    is_nowhere(after)
    counts_again(after)
