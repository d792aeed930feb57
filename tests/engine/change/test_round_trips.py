"""A change sends few statements: those that it shares a round trip with are not sent apart."""

import time
from collections.abc import Mapping
from typing import Any

import pytest

from grantpath.engine import Authorizer, Unknown
from grantpath.graph.guard.transaction import Row, Writing

from ...conftest import Tenants
from ...support.sent_queries import sent_queries

FACTS = ["add catalog:hr", "add role:r", "add user:ann", "add user:bob", "owner user:ann of metalake:ml"]
GRANT = "allow USE_CATALOG on catalog:hr to role:r"
REVOKE = "revoke allow USE_CATALOG on catalog:hr from role:r"
MARKS = "MATCH (mark:Revision {root: $root}) RETURN mark.revision AS revision, mark.begun AS begun"


@pytest.fixture
def auth(tenant: Tenants) -> Authorizer:
    return tenant("gravitino", FACTS)


def sent_by(auth: Authorizer, statement: str, by: str | None) -> list[str]:
    """The names of the queries that a change sends, in order, without those of the thread that watches slow ones."""
    with sent_queries() as sent:
        assert auth.change(statement, by=by).id
    names = [text.split(".cypher", 1)[0].removeprefix("// ") for text in sent]
    return [name for name in names if not name.startswith(("heartbeat", "list_holders"))]


@pytest.mark.parametrize(
    ("statement", "query"),
    [
        (GRANT, "grant"),
        (REVOKE, "revoke"),
        ("member user:bob of role:r", "join"),
        ("remove user:bob from role:r", "leave"),
    ],
)
def test_change_of_an_edge_is_five_statements_and_a_commit(auth: Authorizer, statement: str, query: str) -> None:
    opposite = {REVOKE: GRANT, "remove user:bob from role:r": "member user:bob of role:r"}
    if statement in opposite:
        auth.change(opposite[statement])
    assert sent_by(auth, statement, None) == ["preconditions", "lock_and_read", "begin_mark", query, "end_mark"]


def test_change_by_an_actor_adds_only_its_authorization(auth: Authorizer) -> None:
    sent = ["preconditions", "check", "lock_and_read", "begin_mark", "grant", "end_mark"]
    assert sent_by(auth, GRANT, "user:ann") == sent


def test_change_whose_facts_must_be_read_writes_its_log_entry_apart(auth: Authorizer) -> None:
    sent = ["preconditions", "lock_and_read", "own", "begin_mark", "audit_write", "end_mark"]
    assert sent_by(auth, "owner user:bob of catalog:hr", None) == sent


def test_fact_that_became_wrong_before_the_lock_is_not_written(
    auth: Authorizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, between = auth.store.write, ["drop role:r"]

    def late(*given: Any, **named: Any) -> Any:
        if between:
            auth.change(between.pop())
        return write(*given, **named)

    monkeypatch.setattr(auth.store, "write", late)
    with pytest.raises(Unknown):
        auth.change(GRANT)
    assert [each.statement for each in auth.log(after=len(FACTS))] == ["drop role:r"]


def test_change_that_is_interrupted_after_its_begin_mark_does_not_block_readers(
    auth: Authorizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = Writing.ask

    def begun() -> bool:
        [marks] = auth.store.read(MARKS, {"root": auth.tenant})
        return bool(marks["begun"] == marks["revision"] + 1)

    def interrupted(writing: Writing, text: str, parameters: Mapping[str, Any]) -> list[Row]:
        if "// grant.cypher" in text:
            while not begun():  # the mark is sent, and its answer is not awaited
                time.sleep(0.01)
            raise KeyboardInterrupt
        return ask(writing, text, parameters)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Writing, "ask", interrupted)
        auth.change(GRANT)
    [after] = auth.store.read(MARKS, {"root": auth.tenant})
    assert after["begun"] == after["revision"] == len(FACTS) + 1
    assert not auth.log(after=len(FACTS))
    assert not auth.check("user:bob", "USE_CATALOG", "catalog:hr")
    assert auth.change(GRANT).revision == len(FACTS) + 2
    assert auth.verify_log()


def test_dry_run_sets_no_begin_mark(auth: Authorizer) -> None:
    with sent_queries("begin_mark") as sent:
        assert auth.change(GRANT, dry_run=True).added == [GRANT]
    assert not sent
