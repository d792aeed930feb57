"""The verbs of Authorizer say what their statements say, and a batch makes its block's changes together."""

from collections.abc import Callable
from typing import Any

import pytest

from grantpath import reference
from grantpath.engine import Authorizer, Change, Conflict, InvalidInput, Refused

from ...conftest import Tenants

TABLE = "table:hr.public.`staff, old`"
ODD = reference("user", "ann lee, of `it`")
VERBS: list[tuple[Callable[[Any], Any], str]] = [
    (lambda on: on.allow("SELECT_TABLE", on=TABLE, to="role:a"), f"allow SELECT_TABLE on {TABLE} to role:a"),
    (lambda on: on.deny("SELECT_TABLE", on=TABLE, to="role:a"), f"deny SELECT_TABLE on {TABLE} to role:a"),
    (
        lambda on: on.revoke("SELECT_TABLE", on=TABLE, from_="role:a"),
        f"revoke allow SELECT_TABLE on {TABLE} from role:a",
    ),
    (
        lambda on: on.revoke("SELECT_TABLE", on=TABLE, from_="role:a", effect="DENY"),
        f"revoke deny SELECT_TABLE on {TABLE} from role:a",
    ),
    (lambda on: on.add(ODD), f"add {ODD}"),
    (lambda on: on.join(ODD, "role:a"), f"member {ODD} of role:a"),
    (lambda on: on.set_owner(TABLE, ODD), f"owner {ODD} of {TABLE}"),
    (lambda on: on.hand_over(ODD, to="user:kim"), f"hand over {ODD} to user:kim"),
    (lambda on: on.leave(ODD, "role:a"), f"remove {ODD} from role:a"),
    (lambda on: on.drop(ODD), f"drop {ODD}"),
]
FACTS = ["add catalog:hr", "add schema:hr.public", f"add {TABLE}", "add role:a", "add user:kim", "add user:admin"]
FACTS += ["owner user:admin of metalake:ml"]


@pytest.fixture
def auth(tenant: Tenants) -> Authorizer:
    return tenant("gravitino", FACTS)


def test_each_verb_makes_the_change_of_its_statement(auth: Authorizer) -> None:
    for verb, statement in VERBS:
        done: Change = verb(auth)
        assert done.question.statement == statement
        assert done.id is not None


def test_the_change_is_that_of_an_actor_with_an_id_or_dry(auth: Authorizer) -> None:
    with pytest.raises(Refused):
        auth.allow("SELECT_TABLE", on=TABLE, to="role:a", by="user:kim")
    dry = auth.allow("SELECT_TABLE", on=TABLE, to="role:a", by="user:admin", dry_run=True)
    assert dry.added == [f"allow SELECT_TABLE on {TABLE} to role:a"]
    first = auth.allow("SELECT_TABLE", on=TABLE, to="role:a", by="user:admin", id="one")
    assert auth.allow("SELECT_TABLE", on=TABLE, to="role:a", by="user:admin", id="one").already
    assert auth.revision_now() == first.revision


def test_a_batch_makes_its_block_in_one_transaction(auth: Authorizer) -> None:
    before = auth.revision_now()
    with auth.batch(by="user:admin", id="all") as batch:
        for verb, _ in VERBS:
            verb(batch)
        batch.change("add user:zoe")
        assert auth.revision_now() == before
        assert repr(batch) == "<Batch of 11 statements, not made>"
    assert [each.question.statement for each in batch.changes] == [text for _, text in VERBS] + ["add user:zoe"]
    assert batch.changes[-1].revision == auth.revision_now() == before + 11
    assert repr(batch) == "<Batch of 11 statements, made>"
    assert auth.change_all(batch.statements, by="user:admin", id="all")[0].already
    with pytest.raises(InvalidInput, match=r"at the end of a block; write `with auth\.batch\(\) as batch:`"):
        auth.batch().add("user:nobody")
    with pytest.raises(InvalidInput, match="the block of this batch has ended"):
        batch.add("user:late")
    with auth.batch() as empty:
        pass
    assert empty.changes == []


def test_a_batch_with_an_error_does_nothing(auth: Authorizer) -> None:
    before = auth.revision_now()
    with pytest.raises(Conflict, match="statement 1: user:kim exists already") as caught, auth.batch() as batch:
        batch.add("user:new")
        batch.add("user:kim")
    assert caught.value.index == 1
    with pytest.raises(KeyError), auth.batch() as batch:
        batch.add("user:new")
        raise KeyError
    with pytest.raises(InvalidInput, match="'fly' is not a statement"), auth.batch() as batch:
        batch.change("fly")
    assert auth.revision_now() == before
    assert batch.changes == ()


def test_words_from_outside_stay_one_word(auth: Authorizer) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: auth.add("user:a with x=user:b"),
        lambda: auth.allow("SELECT_TABLE on metalake:ml to user:x", on=TABLE, to="role:a"),
        lambda: auth.join("user:kim of role:a", "role:a"),
        lambda: auth.revoke("SELECT_TABLE", on=TABLE, from_="role:a", effect="allow"),  # type: ignore[arg-type]
        lambda: auth.add("user:a", with_={"x": "user:b, y=user:c"}),
        lambda: auth.add("user:a", with_={"x": "user:b", 7: "user:c"}),  # type: ignore[dict-item]
    ]
    for wrong in calls:
        with pytest.raises(InvalidInput):
            wrong()


def test_second_objects_are_named(tenant: Tenants) -> None:
    facts = ["add database:db", "add schema:db.sch", "add store:kafka"]
    made = tenant("deltastream", facts).add("relation:db.sch.clicks", with_={"store": "store:kafka"})
    assert made.question.statement == "add relation:db.sch.clicks with store=store:kafka"
