"""A copy of the facts answers only at the revision that the root has now; otherwise Cypher does."""

import asyncio
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from grantpath.engine import AsyncAuthorizer, Authorizer, Inconsistent, PageExpired, Unknown
from grantpath.engine.change.log_prune import prune
from grantpath.engine.facts.copy.replica_log import COMMIT_SECONDS
from grantpath.engine.facts.set.fact_draft import advanced
from grantpath.engine.facts.set.fact_version import FactVersion
from grantpath.engine.policy.policy import Policy
from grantpath.engine.tenants import registry
from grantpath.engine.transfer.importer import load
from grantpath.engine.transfer.policy_upgrade import upgrade
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.store import Store

from ....conftest import Tenants
from ....cypher.probes_marks import marked_as
from ....support.one_grant import ALLOWED, FACTS
from ....support.table_files import write
from ....support.with_replica import replica_of, with_replica

LEAVE, JOIN = "remove user:bob from role:analyst", "member user:bob of role:analyst"


@pytest.fixture
def auth(tenant: Tenants) -> Authorizer:
    return with_replica(tenant("gravitino", FACTS))


def other(auth: Authorizer) -> Authorizer:
    """The same root, for a caller without a copy."""
    return Authorizer(auth.store, auth.tenant, auth.policy, auth.root)


def from_memory(auth: Authorizer, ask: Callable[[], object]) -> bool:
    """Asks, and says whether the copy was proved for it."""
    before = replica_of(auth).answered
    ask()
    return replica_of(auth).answered > before


def wait_for_copy(auth: Authorizer) -> None:
    """Asks until the thread has read the root again."""
    deadline = time.monotonic() + 60
    while not from_memory(auth, lambda: auth.check(*ALLOWED)):
        assert time.monotonic() < deadline, "the copy was not read again"
        time.sleep(0.05)


def test_change_by_another_caller_is_in_the_next_answer(auth: Authorizer) -> None:
    for statement, allowed in ((LEAVE, False), (JOIN, True), ("drop role:analyst", False)):
        done = other(auth).change(statement)
        assert from_memory(auth, lambda: None) is False
        decision = auth.check(*ALLOWED)
        assert (decision.allowed, decision.revision) == (allowed, done.revision)
    assert replica_of(auth).answered == 3
    assert replica_of(auth).left == 0


def test_reasons_are_those_of_cypher(auth: Authorizer) -> None:
    for asked in (ALLOWED, ("user:bob", "CREATE_SCHEMA", "catalog:hr"), ("user:nobody", "USE_CATALOG", "catalog:hr")):
        assert auth.check(*asked).model_dump() == other(auth).check(*asked).model_dump()


def test_missing_object_raises_the_error_of_cypher(auth: Authorizer) -> None:
    errors = []
    for each in (auth, other(auth)):
        with pytest.raises(Unknown) as raised:
            each.check("user:bob", "USE_CATALOG", "catalog:hs")
        errors.append(raised.value.as_dict())
    assert errors[0] == errors[1]


def test_question_in_the_middle_of_a_long_commit_is_left_to_cypher(auth: Authorizer) -> None:
    copy = replica_of(auth)
    assert copy.current(auth.policy)
    revision = auth.revision_now()
    with marked_as(auth, {"revision": revision, "begun": revision + 1, "digest": auth.policy.digest, "made": ""}):
        assert copy.current(auth.policy) is None


def test_question_in_the_middle_of_a_commit_waits_for_its_end(auth: Authorizer) -> None:
    copy = replica_of(auth)
    assert copy.current(auth.policy)
    revision, found = auth.revision_now(), list[FactVersion | None]()
    with marked_as(auth, {"revision": revision, "begun": revision + 1, "digest": auth.policy.digest, "made": ""}):
        asking = Thread(target=lambda: found.append(copy.current(auth.policy)))
        asking.start()
        time.sleep(COMMIT_SECONDS / 4)
        assert not found
    asking.join()
    assert [version and version.revision for version in found] == [revision]
    assert copy.left == 0


def test_revision_that_the_root_has_not_reached_is_left_to_cypher(auth: Authorizer) -> None:
    with pytest.raises(Inconsistent, match="older than revision"):
        auth.check(*ALLOWED, at_least=auth.revision_now() + 1)


def test_root_created_again_with_the_same_revision_is_read_again(auth: Authorizer) -> None:
    before = auth.check(*ALLOWED)
    registry.remove(auth.store, auth.tenant)
    registry.create(auth.store, auth.tenant, auth.policy, auth.root)
    facts = [*FACTS[:-1], "add user:cas"]  # as many, so the revision is the same
    assert other(auth).given(facts) == [None] * len(facts)
    after = auth.check(*ALLOWED)
    assert (before.allowed, after.allowed, after.revision) == (True, False, before.revision)
    wait_for_copy(auth)
    assert not auth.check(*ALLOWED)


def test_dropped_root_is_unknown(auth: Authorizer) -> None:
    registry.remove(auth.store, auth.tenant)
    with pytest.raises(Unknown, match="does not exist"):
        auth.check(*ALLOWED)


def test_change_whose_facts_are_not_in_the_log_is_read_from_the_graph(
    auth: Authorizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grantpath.engine.change.delta_records.BULK", 0)
    other(auth).change(LEAVE)
    monkeypatch.undo()
    assert not from_memory(auth, lambda: None)
    assert not auth.check(*ALLOWED)
    wait_for_copy(auth)
    assert not auth.check(*ALLOWED)


def test_copy_that_lacks_pruned_entries_is_read_again(auth: Authorizer) -> None:
    writer = other(auth)
    writer.change(LEAVE)
    done = writer.change("add user:cas")
    prune(writer, done.revision)
    assert not from_memory(auth, lambda: auth.check(*ALLOWED))
    assert not auth.check(*ALLOWED)
    wait_for_copy(auth)


def test_fact_that_contradicts_the_log_ends_the_copy(auth: Authorizer, caplog: pytest.LogCaptureFixture) -> None:
    copy = replica_of(auth)
    assert copy._version is not None
    copy._version = advanced(copy._version, [{"added": [], "removed": [JOIN]}], copy._version.revision)
    other(auth).change(LEAVE)
    assert not auth.check(*ALLOWED)
    assert "its copy contradicts the log after revision" in caplog.text
    wait_for_copy(auth)


def test_copy_follows_its_root_to_another_policy(tenant: Tenants) -> None:
    source = tenant("gravitino", FACTS)
    auth = with_replica(source)
    auth.follow()
    upgrade(source, Policy(source.policy.file.model_copy(update={"title": "Another title"})))
    assert auth.check(*ALLOWED)
    wait_for_copy(auth)
    assert auth.check(*ALLOWED).revision == auth.revision_now()


def test_load_that_replaces_the_facts_is_followed(auth: Authorizer, tmp_path: Path) -> None:
    write(tmp_path, {"objects": [["catalog:hr"]], "subjects": [["user:bob"]]})
    load(other(auth), tmp_path, replace=True, consent=True)
    assert not auth.check(*ALLOWED)
    wait_for_copy(auth)
    assert not auth.check(*ALLOWED)


async def answered_on_an_event_loop(root: str) -> tuple[bool, int]:
    async with AsyncAuthorizer.open(root, replica=True) as opened:
        return bool(await opened.check(*ALLOWED)), replica_of(opened._inner).answered


def test_root_is_opened_with_a_copy(server: Connection, store: Store) -> None:
    name = f"metalake:copied{uuid.uuid4().hex}"
    try:
        with Authorizer.open(name, "gravitino", server.uri, create=True, replica=True) as opened:
            assert not any(opened.given(FACTS))
            assert from_memory(opened, lambda: opened.check(*ALLOWED))
            assert [bool(each) for each in opened.check_many([ALLOWED, ("user:cas", *ALLOWED[1:])])] == [True, False]
        with Authorizer.open(name) as plain:
            assert plain.replica is None
        assert asyncio.run(answered_on_an_event_loop(name)) == (True, 1)
    finally:
        registry.remove(store, name)


@pytest.mark.parametrize(
    "users, catalogs",
    [
        ({"limit": 3}, {"limit": 1}),
        ({"limit": 2, "after": "user:u1"}, {"limit": 2, "after": "catalog:a"}),
        ({"after": "user:u6"}, {"after": "catalog:hr"}),
        ({}, {}),
    ],
)
def test_pages_are_those_of_cypher(auth: Authorizer, users: dict[str, Any], catalogs: dict[str, Any]) -> None:
    assert not any(other(auth).given([f"member user:u{number} of role:analyst" for number in range(7)]))
    found = [
        (
            each.who("USE_CATALOG", "catalog:hr", **users).read(),
            each.which("catalog", "user:u1", "USE_CATALOG", **catalogs).read(),
        )
        for each in (auth, other(auth))
    ]
    assert found[0] == found[1]
    assert replica_of(auth).answered == 2


def test_page_of_another_revision_is_refused(auth: Authorizer) -> None:
    first = auth.who("USE_CATALOG", "catalog:hr", limit=1)
    other(auth).change("add user:cas")
    with pytest.raises(PageExpired, match="must be of revision"):
        auth.who("USE_CATALOG", "catalog:hr", limit=1, after="user:bob", at=first.revision)


def test_list_that_is_read_while_the_root_changes_stays_at_its_revision(auth: Authorizer) -> None:
    listed = auth.who("USE_CATALOG", "catalog:hr")
    other(auth).change(LEAVE)
    assert list(listed) == ["user:bob"]
    assert list(auth.who("USE_CATALOG", "catalog:hr")) == []
