"""Changes, entries of the log and errors as data."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from grantpath.engine import AsyncAuthorizer, Authorizer, Change, GrantpathError, Logged, Refused
from grantpath.engine.cli import main
from grantpath.graph.client.connection import Connection
from grantpath.graph.errors import CODES
from grantpath.graph.guard.async_store import AsyncStore

from ...conftest import Tenants

FACTS = ["add user:ann", "owner user:ann of metalake:ml"]


@pytest.fixture
def auth(tenant: Tenants) -> Authorizer:
    return tenant("gravitino", FACTS)


def test_change_contains_its_question(auth: Authorizer) -> None:
    done = auth.change("add user:bob", by="user:ann")
    assert done.question.model_dump() == {"statement": "add user:bob", "by": "user:ann", "as_role": None}


def test_each_change_of_a_batch_contains_its_statement(auth: Authorizer) -> None:
    auth.change("add role:r")
    texts = ["add user:bob", "member user:bob of role:r", "add role:s"]
    assert [done.question.statement for done in auth.change_all(texts)] == texts


def test_repeated_change_contains_its_question(auth: Authorizer) -> None:
    first = auth.change_all(["add user:bob", "add role:r"], id="mine")
    again = auth.change_all(["add user:bob", "add role:r"], id="mine")
    assert [each.already for each in again] == [True, True]
    assert [each.question for each in again] == [each.question for each in first]


def test_change_survives_json(auth: Authorizer) -> None:
    for done in (auth.change("add user:bob", dry_run=True), auth.change("add user:bob", id="mine")):
        again = Change.model_validate_json(done.model_dump_json())
        assert again.model_dump() == done.model_dump()


def test_entry_of_the_log_survives_json(auth: Authorizer) -> None:
    auth.change("add user:bob", by="user:ann")
    with pytest.raises(Refused):
        auth.change("add user:zoe", by="user:bob")
    entries = auth.log() + auth.log(refused=True)
    assert [Logged.model_validate_json(each.model_dump_json()) for each in entries] == entries
    assert entries[-1].reason is not None


def test_change_on_an_event_loop_is_the_same_model(auth: Authorizer, server: Connection) -> None:
    async def change() -> Change:
        store = AsyncStore(server, 60.0)
        async with AsyncAuthorizer(Authorizer(store, auth.tenant, auth.policy, auth.root), store) as loop:
            return await loop.change("add user:bob", id="mine")

    done = asyncio.run(change())
    assert done == auth.change("add user:bob", id="mine")


# ---- errors ----------------------------------------------------------------------------------------------------------
def test_error_as_data_has_its_code_and_its_public_text(auth: Authorizer) -> None:
    with pytest.raises(GrantpathError) as error:
        auth.change_all(["add user:bob", "add user:ann"])
    assert error.value.as_dict() == {
        "error": str(error.value),
        "code": "conflict",
        "public": f"number 1: {CODES['conflict'].public}",
        "retryable": False,
        "index": 1,
        "question": {"verb": "change_all", "statements": "add user:ann"},
    }


@pytest.mark.parametrize(
    ("ask", "question"),
    [
        (
            lambda auth: auth.check("user:bob", "load_catalog", "catalog:none", with_={"to": "catalog:c"}),
            {"subject": "user:bob", "name": "load_catalog", "object": "catalog:none", "with_": {"to": "catalog:c"}},
        ),
        (
            lambda auth: auth.check_many([("user:ann", "load_catalog", "catalog:none")]),
            {"checks": ["user:ann", "load_catalog", "catalog:none"]},
        ),
        (lambda auth: auth.who("load_catalog", "catalog:none", limit=2), {"limit": 2}),
        (
            lambda auth: auth.log(since=datetime(9999, 12, 31, tzinfo=UTC), id="\ud800"),
            {"since": "9999-12-31T00:00:00Z", "id": "\\ud800"},
        ),
        (lambda auth: auth.show("catalog:none"), {"ref": "catalog:none"}),
        (lambda auth: auth.change("add user:" + "x" * 100_000), {"statement": "add user:" + "x" * 1_991}),
    ],
    ids=["check", "check_many", "who", "log", "show", "change"],
)
def test_error_contains_its_question(
    auth: Authorizer, ask: Callable[[Authorizer], object], question: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    with pytest.raises(GrantpathError) as error:
        ask(auth)
    told = json.loads(json.dumps(error.value.as_dict()))["question"]
    assert told["verb"] == request.node.callspec.id
    assert told.items() >= question.items()


def test_error_outside_a_method_has_no_question() -> None:
    assert GrantpathError("no").as_dict()["question"] is None


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["check", "user:bob"], "invalid_input"),
        (["change", "say hello"], "invalid_input"),
        (["policy", "show", "lakehose"], "unknown_name"),
    ],
)
def test_error_of_a_command_as_json_has_a_code(words: list[str], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["--json", *words]) == 2
    said = json.loads(capsys.readouterr().err)
    assert (said["code"], said["public"]) == (code, CODES[code].public)
    assert said["error"]
