"""A revision at which nothing changed, because its load was undone or its writer died, is not a gap of the log."""

from pathlib import Path

import pytest

from grantpath.engine import Authorizer, InvalidInput
from grantpath.engine.change.delta_records import recorded
from grantpath.engine.transfer import importer
from grantpath.graph.guard.revision_guard import RevisionGuard

from ...conftest import Tenants
from .test_past_roots import ASKED, FACTS, JOIN, LEAVE


class Died(BaseException):
    """In place of the end of a process."""


@pytest.fixture
def auth(tenant: Tenants) -> Authorizer:
    return tenant("gravitino", FACTS)


def die_before_the_commit(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves the root as a writer does that dies between its begin mark and its commit."""

    def died(*_: object) -> None:
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(RevisionGuard, "_commit", died)
        with pytest.raises(Died):
            auth.change("add user:never")


def test_past_and_since_cross_what_a_dead_writer_left(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = auth.revision_now()
    auth.change(LEAVE)
    die_before_the_commit(auth, monkeypatch)
    auth.revision_now()  # repairs the marks; nothing follows yet
    assert [auth.check(*ASKED, as_of=begin + more).allowed for more in range(3)] == [True, False, False]
    auth.change(JOIN)
    die_before_the_commit(auth, monkeypatch)
    die_before_the_commit(auth, monkeypatch)
    auth.change("add user:later")
    answers = [auth.check(*ASKED, as_of=at).allowed for at in range(begin, auth.revision_now() + 1)]
    assert answers == [True, False, False, True, True, True, True]
    found = auth.since(*ASKED)
    assert found.change is not None and (found.change.statement, found.since) == (JOIN, begin + 3)
    assert not auth.verify_log().problems


def test_past_crosses_an_undone_load(auth: Authorizer, tmp_path: Path) -> None:
    begin = auth.revision_now()
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "subjects.csv").write_text("ref\nuser:loaded\n")

    def interrupt(what: str, *_: int) -> None:
        if what == "writing":
            raise Died

    with pytest.raises(Died):
        importer.load(auth, tables, interrupt)
    assert [auth.check(*ASKED, as_of=begin + more).allowed for more in range(2)] == [True, True]
    auth.change(LEAVE)
    assert auth.revision_now() == begin + 2
    assert [auth.check(*ASKED, as_of=begin + more).allowed for more in range(3)] == [True, True, False]
    assert [(delta.revision, bool(delta.removed)) for delta in recorded(auth.ask, begin, auth.root)] == [
        (begin + 1, False),
        (begin + 2, True),
    ]


@pytest.mark.parametrize("removed", [1, 3])
def test_entry_that_was_removed_is_a_gap(auth: Authorizer, monkeypatch: pytest.MonkeyPatch, removed: int) -> None:
    begin = auth.revision_now()
    for statement in (LEAVE, JOIN, "add user:later"):
        auth.change(statement)
    auth.store.execute(
        "MATCH (change:Change {root: $root, revision: $revision}) DETACH DELETE change",
        {"root": auth.tenant, "revision": begin + removed},
    )
    die_before_the_commit(auth, monkeypatch)
    with pytest.raises(InvalidInput, match=f"no entries of revisions {begin + removed} to"):
        auth.past(begin)
