"""Lists, explanations and batches are of one committed state, and each answer is matched to its question."""

import random
from collections.abc import Mapping
from typing import Any

import pytest

from grantpath.engine import Authorizer, Inconsistent, PageExpired, Unknown
from grantpath.engine.answers import listing
from grantpath.engine.tenants import registry
from grantpath.graph.guard.store import Store
from grantpath.graph.guard.transaction import Writing

from ...conftest import Tenants

TABLE = "table:hr.s.t"
FACTS = [
    "add catalog:hr",
    "add schema:hr.s",
    f"add {TABLE}",
    "add role:r",
    *(f"member user:{name} of role:r" for name in ("ann", "bob", "cas", "dan")),
    "allow SELECT_TABLE on metalake:ml to role:r",
]
EVERYBODY = ["user:ann", "user:bob", "user:cas", "user:dan"]


@pytest.fixture
def auth(tenant: Tenants) -> Authorizer:
    return tenant("gravitino", FACTS)


def before_the_guarded_read(patch: pytest.MonkeyPatch, work: list[Any]) -> None:
    """Runs each function of `work` once, before a guarded read is sent."""
    read = Store.read_guarded

    def later(self: Store, *asked: Any, **named: Any) -> Mapping[str, Any]:
        if work:
            work.pop()()
        return read(self, *asked, **named)

    patch.setattr(Store, "read_guarded", later)


# ---- whether the names exist is decided by the statement that answers ---------------------------------------------
def test_who_on_a_concurrently_dropped_table_is_unknown(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    before_the_guarded_read(monkeypatch, [lambda: auth.change(f"drop {TABLE}")])
    with pytest.raises(Unknown, match="does not exist"):
        auth.who("SELECT_TABLE", TABLE)


def test_table_that_exists_in_every_revision_is_never_unknown(
    auth: Authorizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unguarded(self: Store, *asked: Any) -> list[Any]:
        raise AssertionError("a look-up outside the guarded statement may see half of a change")

    monkeypatch.setattr(Store, "read", unguarded)
    before_the_guarded_read(monkeypatch, [lambda: auth.change_all([f"drop {TABLE}", f"add {TABLE}"])])
    assert list(auth.who("SELECT_TABLE", TABLE)) == EVERYBODY
    assert list(auth.which("table", "user:bob", "SELECT_TABLE")) == [TABLE]


@pytest.mark.parametrize("object_", ["table:hr.s.other", "role:service_admin"])
def test_list_about_a_missing_object_is_unknown(auth: Authorizer, object_: str) -> None:
    name = "SELECT_TABLE" if object_.startswith("table") else "get_role"
    with pytest.raises(Unknown, match="does not exist"):
        auth.who(name, object_)
    with pytest.raises(Unknown, match="tag:pii does not exist"):
        auth.which("table", "user:bob", "associate_object_tags", with_={"tag": "tag:pii"})


# ---- pages ------------------------------------------------------------------------------------------------------
def test_page_has_a_revision_that_the_next_page_can_require(auth: Authorizer) -> None:
    page = auth.who("SELECT_TABLE", TABLE, limit=2)
    assert (list(page), page.revision) == (EVERYBODY[:2], auth.revision_now())
    assert list(page) == EVERYBODY[:2], "a listing may be read again"
    following = auth.who("SELECT_TABLE", TABLE, limit=2, after="user:bob", at=page.revision)
    assert (list(following), following.revision) == (EVERYBODY[2:], page.revision)
    now = auth.change("remove user:dan from role:r").revision
    with pytest.raises(PageExpired, match=f"at revision {now} now, and the page must be of revision {page.revision}"):
        auth.who("SELECT_TABLE", TABLE, limit=2, after="user:bob", at=page.revision)
    with pytest.raises(Inconsistent, match=f"at revision {now}"):
        auth.which("table", "user:bob", "SELECT_TABLE", at=now + 1)
    assert auth.which("table", "user:bob", "SELECT_TABLE", at=now).revision == now


def test_page_at_another_revision_is_inconsistent_even_if_its_object_was_dropped(auth: Authorizer) -> None:
    page = auth.who("SELECT_TABLE", TABLE, limit=1)
    auth.change(f"drop {TABLE}")
    with pytest.raises(PageExpired, match="read the list again from its first page"):
        auth.who("SELECT_TABLE", TABLE, limit=1, after="user:ann", at=page.revision)


def test_a_list_of_many_pages_is_of_one_revision(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "PAGE", 2)
    found = auth.who("SELECT_TABLE", TABLE)
    assert (list(found), list(found)) == (EVERYBODY, EVERYBODY)
    auth.change("add user:eve")
    with pytest.raises(Inconsistent, match=r"changed while the list was read: it was at revision \d+ and is at"):
        list(found)


# ---- explanations -----------------------------------------------------------------------------------------------
def test_explanation_is_not_of_a_root_and_its_recreation(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    ask, again, revision = Authorizer.ask, [True], auth.revision_now()

    def between(self: Authorizer, name: str, **parameters: Any) -> Mapping[str, Any]:
        if name == "explain" and again:
            again.pop()
            registry.remove(self.store, self.tenant)
            registry.create(self.store, self.tenant, self.policy, self.root)
            marks = "MATCH (mark:Revision {root: $root}) SET mark.revision = $revision, mark.begun = $revision"
            self.store.execute(marks, {"root": self.tenant, "revision": revision - 1})
            self.change("add catalog:hr")
        return ask(self, name, **parameters)

    monkeypatch.setattr(Authorizer, "ask", between)
    with pytest.raises(Unknown, match="does not exist"):
        auth.explain("user:bob", "SELECT_TABLE", TABLE)
    assert auth.revision_now() == revision, "the new root has come to the same revision"


# ---- batches ----------------------------------------------------------------------------------------------------
def shuffled(patch: pytest.MonkeyPatch, key: str, spoil: Any = None) -> None:
    """The database returns the answers of a batch in another order."""

    def turned(row: Mapping[str, Any]) -> Mapping[str, Any]:
        if key not in row:
            return row
        answers = list(row[key])
        random.Random(len(answers)).shuffle(answers)
        return {**row, key: spoil(answers) if spoil else answers}

    read, ask = Store.read_guarded, Writing.ask
    patch.setattr(Store, "read_guarded", lambda *asked, **named: turned(read(*asked, **named)))
    patch.setattr(Writing, "ask", lambda *asked: [turned(row) for row in ask(*asked)])


def test_answers_in_any_order_are_matched_to_their_checks(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    users = ["user:ann", "user:no", "user:bob", "user:nobody", "user:cas", "user:none"]
    checks = [(user, "SELECT_TABLE", TABLE) for user in users]
    wanted = [True, False] * 3
    assert [each.allowed for each in auth.check_many(checks)] == wanted
    shuffled(monkeypatch, "answers")
    assert [each.allowed for each in auth.check_many(checks)] == wanted


@pytest.mark.parametrize("spoil", [lambda answers: answers[1:], lambda answers: [*answers[1:], answers[1]]])
def test_missing_answer_is_inconsistent(auth: Authorizer, monkeypatch: pytest.MonkeyPatch, spoil: Any) -> None:
    shuffled(monkeypatch, "answers", spoil)
    with pytest.raises(Inconsistent, match="questions of a batch"):
        auth.check_many([("user:ann", "SELECT_TABLE", TABLE), ("user:no", "SELECT_TABLE", TABLE)])


def test_changes_of_a_batch_are_matched_to_preconditions_and_decisions(
    auth: Authorizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    auth.given(["owner user:ann of metalake:ml", "add user:eve", "member user:eve of role:r"])
    shuffled(monkeypatch, "states")
    shuffled(monkeypatch, "answers")
    batch = [f"member user:{name} of role:r" for name in ("ann", "eve")]
    batch += ["add user:fay", "add group:g", "remove user:bob from role:r", "remove user:cas from role:r"]
    made = auth.change_all([*batch, "add user:gus"], by="user:ann")
    assert [change.id is None for change in made] == [True, True, False, False, False, False, False]
