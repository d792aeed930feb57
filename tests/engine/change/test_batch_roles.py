"""Batches with an active role."""

import pytest

from grantpath.engine import Invalid, InvalidReference, Refused, Unknown

from ...conftest import Tenants
from .test_batches import history, one_by_one, revisions, state

# ---- active roles --------------------------------------------------------------------------------------------------
ROLES = ["add role:a", "member user:u of role:a", "member user:u of role:SYSADMIN"]


@pytest.mark.parametrize(
    ("as_role", "kind", "text"),
    [
        ("role:ghost", Unknown, "role:ghost does not exist; add it, or check the name"),
        ("role:sysadmin", Unknown, r"role:sysadmin does not exist \(did you mean role:SYSADMIN.*\?\); add it"),
        (
            "role:SYSADMI",
            Unknown,
            r"role:SYSADMI does not exist \(did you mean .*role:SYSADMIN.*\?\); add it",
        ),
        ("database:zz", Invalid, "as database:zz: a database is not a role"),
        ("user:u", Invalid, "as user:u: a user is not a role"),
        ("", InvalidReference, ""),
        ("role:USERADMIN", Refused, "'add database:x' by user:u is refused: .*role:USERADMIN"),
    ],
)
@pytest.mark.parametrize("dry_run", [False, True])
def test_unknown_active_role_is_invalid_and_unheld_one_is_refused(
    tenant: Tenants, as_role: str, kind: type[Exception], text: str, dry_run: bool
) -> None:
    auth = tenant("deltastream", ROLES)
    before = state(auth), history(auth)
    with pytest.raises((Invalid, Refused), match=f"^{text}") as caught:
        auth.change("add database:x", by="user:u", as_role=as_role, dry_run=dry_run)
    assert type(caught.value) is kind
    statements = ["add database:x", "add database:y", "add what"]
    index = r"(statement 0: )?" if kind is not Unknown else "statement 0: "
    for batch in (statements, statements[:2]):
        with pytest.raises(kind, match=f"^{index}{text}"):
            auth.change_all(batch, by="user:u", as_role=as_role, dry_run=dry_run)
    assert (state(auth), history(auth)) == before
    assert len(auth.log(refused=True)) == (3 if kind is Refused and not dry_run else 0)


def test_missing_active_role_is_not_created(tenant: Tenants) -> None:
    auth = tenant("deltastream", [*ROLES, "member user:u of role:USERADMIN"])
    with pytest.raises(Unknown, match=r"^statement 0: role:new does not exist"):
        auth.change_all(["add role:new", "member user:u of role:new"], by="user:u", as_role="role:new")
    with pytest.raises(Unknown, match="role:new does not exist"):
        auth.change("add role:new", by="user:nobody", as_role="role:new")  # invalid comes before refused


def test_role_that_the_batch_drops_cannot_act_afterwards(tenant: Tenants) -> None:
    facts = ["add role:maker", "add role:makers", "member role:maker of role:USERADMIN", "member user:u of role:maker"]
    alone, batch = tenant("deltastream", facts), tenant("deltastream", facts)
    statements = ["member user:u of role:makers", "drop role:maker", "add user:v"]
    made = one_by_one(alone, statements[:2], "user:u", "role:maker")
    with pytest.raises(Unknown) as caught:
        alone.change(statements[2], by="user:u", as_role="role:maker")
    assert str(caught.value) == "role:maker does not exist (did you mean role:makers?); add it, or check the name"
    with pytest.raises(Unknown) as again:
        batch.change_all(statements, by="user:u", as_role="role:maker")
    expected = (
        "statement 2: role:maker does not exist; add it, or check the name"  # it exists before and after the batch
    )
    assert (str(again.value), again.value.index) == (expected, 2)
    assert revisions(batch.change_all(statements[:2], by="user:u", as_role="role:maker")) == made
    assert state(batch) == state(alone)
