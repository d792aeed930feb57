"""Retries: a repeated change is made once, and the outcome of an unanswered commit is found out."""

from collections.abc import Callable

import neo4j
import pytest
from neo4j.exceptions import IncompleteCommit, ServiceUnavailable

from grantpath.engine import Authorizer, Invalid, InvalidInput, Refused, Unavailable
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.revision_marks import MarkBook, Marks
from grantpath.graph.guard.store import Store

from ...conftest import Tenants

FACTS = ["add catalog:hr", "add user:ann", "add user:bob", "add role:analyst", "owner user:ann of metalake:ml"]
JOIN = "member user:bob of role:analyst"
LEAVE = "remove user:bob from role:analyst"

Commit = Callable[[neo4j.Transaction], None]


@pytest.fixture
def auth(tenant: Tenants) -> Authorizer:
    return tenant(given=FACTS)


# ---- repetitions ---------------------------------------------------------------------------------------------------
def test_repeated_change_returns_the_first_result(auth: Authorizer) -> None:
    first = auth.change(JOIN, by="user:ann", id="request 1")
    assert (first.id, first.revision) == ("request 1", len(FACTS) + 1)
    auth.change(LEAVE, by="user:ann")
    assert auth.change(JOIN, by="user:ann", id="request 1") == first
    assert [each.statement for each in auth.log()][len(FACTS) :] == [JOIN, LEAVE]
    assert auth.change(LEAVE, by="user:ann").id is None  # bob is still not a member


def test_dry_run_of_a_repeated_change_returns_the_first_result(auth: Authorizer) -> None:
    would = auth.change(JOIN, by="user:ann", id="mine", dry_run=True)
    assert (would.id, would.revision, would.already) == ("mine", len(FACTS) + 1, False)
    first = auth.change(JOIN, by="user:ann", id="mine")
    batch = [LEAVE, LEAVE, JOIN]
    made = auth.change_all(batch, by="user:ann", id="batch")
    assert not any(each.already for each in [first, *made])
    for dry_run in (True, False):
        again = auth.change(JOIN, by="user:ann", id="mine", dry_run=dry_run)
        assert again == first and again.already
        repeated = auth.change_all(batch, by="user:ann", id="batch", dry_run=dry_run)
        assert repeated == made and all(each.already for each in repeated)
    unnamed = auth.change(LEAVE, by="user:ann")
    assert auth.change(LEAVE, by="user:ann", id=unnamed.id, dry_run=True).already
    assert not auth.change(LEAVE, by="user:ann", dry_run=True).already
    assert repr(first) == "Change(id='mine', revision=6)"


def test_change_can_be_repeated_with_its_assigned_id(auth: Authorizer) -> None:
    first = auth.change(JOIN, by="user:ann")
    auth.change(LEAVE, by="user:ann")
    assert auth.change(JOIN, by="user:ann", id=first.id) == first
    assert auth.log()[-1].statement == LEAVE


def test_change_that_had_no_effect_has_none_when_repeated(auth: Authorizer) -> None:
    auth.change(JOIN)
    first = auth.change(JOIN, by="user:ann", id="nothing new")
    assert (first.id, first.revision) == (None, len(FACTS) + 1)
    auth.change(LEAVE)
    assert auth.change(JOIN, by="user:ann", id="nothing new") == first
    assert auth.log()[-1].statement == LEAVE


def test_repeated_batch_returns_the_first_result(auth: Authorizer) -> None:
    batch = ["add user:cas", "add user:ann", "member user:cas of role:analyst"]
    with pytest.raises(Invalid, match=r"^statement 1"):
        auth.change_all(batch, by="user:ann", id="batch")
    del batch[1]
    first = auth.change_all([*batch, batch[1]], by="user:ann", id="batch")
    assert [change.id for change in first] == ["batch.0", "batch.1", None]
    auth.change("drop user:cas")
    assert auth.change_all([*batch, batch[1]], by="user:ann", id="batch") == first
    assert auth.log()[-1].statement == "drop user:cas"
    with pytest.raises(Invalid, match="belongs to another change"):
        auth.change_all(batch, by="user:ann", id="batch")


@pytest.mark.parametrize(("statement", "by"), [(LEAVE, "user:ann"), (JOIN, None), (JOIN, "user:bob")])
def test_id_belongs_to_one_change(auth: Authorizer, statement: str, by: str | None) -> None:
    auth.change(JOIN, by="user:ann", id="mine")
    with pytest.raises(Invalid, match="the id mine belongs to another change"):
        auth.change(statement, by=by, id="mine")


@pytest.mark.parametrize("alone", ["add user:cas", LEAVE])  # the second changes nothing, and has its id all the same
def test_batch_cannot_use_the_id_of_a_change(auth: Authorizer, alone: str) -> None:
    auth.change(alone, id="k2.1")
    before = auth.log()
    with pytest.raises(Invalid, match=r"^the id k2\.1 belongs to another change"):
        auth.change_all(["add catalog:a", "add catalog:b"], id="k2")
    assert auth.log() == before


def test_change_cannot_use_an_id_of_a_batch(auth: Authorizer) -> None:
    first = auth.change_all(["add catalog:a", "add catalog:b"], id="k2")
    with pytest.raises(Invalid, match=r"^the id k2\.0 belongs to another change"):
        auth.change("add catalog:c", id="k2.0")
    with pytest.raises(Invalid, match=r"^the id k2\.0 belongs to another change"):
        auth.change_all(["add catalog:c", "add catalog:d"], id="k2.0")
    assert auth.change_all(["add catalog:a", "add catalog:b"], id="k2") == first


def test_refused_change_can_be_retried_with_its_id(auth: Authorizer) -> None:
    with pytest.raises(Refused):
        auth.change("add schema:hr.s", by="user:bob", id="try")
    auth.change("owner user:bob of catalog:hr")
    assert auth.change("add schema:hr.s", by="user:bob", id="try").id == "try"


@pytest.mark.parametrize("id_", ["", "x" * 201])
def test_length_of_an_id_is_limited(auth: Authorizer, id_: str) -> None:
    with pytest.raises(InvalidInput, match="1 to 200"):
        auth.change(JOIN, id=id_)


# ---- unanswered commits ----------------------------------------------------------------------------------------------
def break_commit(monkeypatch: pytest.MonkeyPatch, how: Commit, times: int = 1) -> None:
    """Makes the next explicit commits end like `how`."""
    commit = neo4j.Transaction.commit
    left = [times]

    def broken(self: neo4j.Transaction) -> None:
        if not left[0]:
            return commit(self)
        left[0] -= 1
        return how(self)

    monkeypatch.setattr(neo4j.Transaction, "commit", broken)


def committed_unheard(commit: Commit) -> Commit:
    def how(tx: neo4j.Transaction) -> None:
        commit(tx)
        raise IncompleteCommit("the connection went")

    return how


def not_committed(tx: neo4j.Transaction) -> None:
    tx.rollback()
    raise IncompleteCommit("the connection went")


@pytest.mark.parametrize("id_", [None, "mine"])
def test_change_with_an_unanswered_commit_is_reported_as_made(
    auth: Authorizer, monkeypatch: pytest.MonkeyPatch, id_: str | None
) -> None:
    break_commit(monkeypatch, committed_unheard(neo4j.Transaction.commit))
    done = auth.change(JOIN, by="user:ann", id=id_)
    assert (done.id, done.revision) == (auth.log()[-1].id, len(FACTS) + 1)
    assert auth.check("user:bob", "USE_CATALOG", "catalog:hr").revision == done.revision
    break_commit(monkeypatch, committed_unheard(neo4j.Transaction.commit))
    assert [change.revision for change in auth.change_all([LEAVE, JOIN], by="user:ann")] == [7, 8]
    assert len(auth.log()) == 8


@pytest.mark.parametrize("id_", [None, "mine"])
def test_lost_change_is_reported_as_not_made(
    auth: Authorizer, monkeypatch: pytest.MonkeyPatch, id_: str | None
) -> None:
    break_commit(monkeypatch, not_committed)
    with pytest.raises(Unavailable, match=r"was not done; repeat it") as caught:
        auth.change(JOIN, by="user:ann", id=id_)
    assert caught.value.unknown is False
    assert len(auth.log()) == len(FACTS)
    assert auth.change(JOIN, by="user:ann", id=id_).id == (id_ or auth.log()[-1].id)


@pytest.mark.parametrize("made", [True, False])
def test_unknown_outcome_is_reported_and_safe_to_repeat(
    auth: Authorizer, monkeypatch: pytest.MonkeyPatch, server: Connection, made: bool
) -> None:
    impatient = Store(server, timeout=4)
    mine = Authorizer(impatient, auth.tenant, auth.policy, auth.root)
    commit = committed_unheard(neo4j.Transaction.commit)

    def then_down(tx: neo4j.Transaction) -> None:
        def down(*_: object, **__: object) -> None:
            raise ServiceUnavailable("down")

        monkeypatch.setattr(neo4j.Driver, "session", down)
        commit(tx) if made else not_committed(tx)

    with monkeypatch.context() as broken:
        break_commit(broken, then_down)
        with pytest.raises(Unavailable, match="with the id mine: it is made only once") as caught:
            mine.change(JOIN, by="user:ann", id="mine")
    monkeypatch.undo()
    assert caught.value.unknown is True
    assert bool(auth.log(id="mine")) is made
    again = mine.change(JOIN, by="user:ann", id="mine")
    assert again.id == "mine"
    assert len(auth.log(id="mine")) == 1
    assert auth.check("user:bob", "USE_CATALOG", "catalog:hr").revision >= again.revision
    impatient.close()


def test_change_with_a_lost_end_mark_is_made_and_readable(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    lost: list[int] = []

    def losing(_: MarkBook, base: Marks, revision: int) -> bool:
        lost.append(revision)
        raise ServiceUnavailable("the connection went")

    monkeypatch.setattr(MarkBook, "end", losing)
    done = auth.change(JOIN, by="user:ann")
    assert lost
    assert auth.check("user:bob", "USE_CATALOG", "catalog:hr").revision == done.revision
