"""The history: accepted changes with actor and time, refused attempts with reasons, and reads at a given revision."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from grantpath.engine import Authorizer, Inconsistent, Invalid, InvalidInput, InvalidReference, Refused

from ...conftest import Tenants

FACTS = [
    "add catalog:hr",
    "add schema:hr.public",
    "add table:hr.public.staff",
    "add role:analyst",
    "add user:ann",
    "add user:bob",
    "owner user:ann of metalake:ml",
]
TABLE = "table:hr.public.staff"


@pytest.fixture
def auth(tenant: Tenants) -> Authorizer:
    """A tenant with seven facts, three changes by Ann, and one refused change by Bob."""
    made = tenant(given=FACTS)
    made.change(f"allow SELECT_TABLE on {TABLE} to role:analyst", by="user:ann")
    made.change("member user:bob of role:analyst", by="user:ann")
    with pytest.raises(Refused):
        made.change(f"drop {TABLE}", by="user:bob")
    made.change(f"deny MODIFY_TABLE on {TABLE} to role:analyst", by="user:ann")
    return made


def statements(auth: Authorizer, **wanted: object) -> list[str]:
    return [each.statement for each in auth.log(**wanted)]  # type: ignore[arg-type]


# ---- entries -----------------------------------------------------------------------------------------------------
def test_entry_has_revision_time_actor_statement_and_id(auth: Authorizer) -> None:
    before = datetime.now(UTC)
    done = auth.change("add user:cas", by="user:ann")
    last = auth.log(limit=1)[0]
    assert (last.id, last.revision, last.actor, last.statement) == (done.id, done.revision, "user:ann", "add user:cas")
    assert (last.object, last.subject, last.as_role, last.reason) == ("user:cas", None, None, None)
    assert abs(last.at - before) < timedelta(minutes=2)
    assert [each.revision for each in auth.log()] == list(range(1, done.revision + 1))
    assert [each.actor for each in auth.log()][: len(FACTS)] == [None] * len(FACTS)


def test_active_role_is_logged(tenant: Tenants) -> None:
    auth = tenant("deltastream", ["member user:ann of role:SYSADMIN"], root="org")
    auth.change("add database:d", by="user:ann", as_role="role:SYSADMIN")
    assert (auth.log()[-1].actor, auth.log()[-1].as_role) == ("user:ann", "role:SYSADMIN")


def test_change_without_effect_is_not_logged(auth: Authorizer) -> None:
    before = auth.log()
    assert auth.change("member user:bob of role:analyst", by="user:ann").id is None
    assert auth.log() == before


def test_refused_attempts_are_logged_separately_with_the_reason(auth: Authorizer) -> None:
    (refused,) = auth.log(refused=True)
    assert (refused.actor, refused.statement, refused.object) == ("user:bob", f"drop {TABLE}", TABLE)
    assert refused.reason and refused.reason.startswith(f"'drop {TABLE}' by user:bob is refused: ")
    assert refused.revision == len(FACTS) + 2
    assert f"drop {TABLE}" not in statements(auth)
    revision = auth.log(limit=1)[0].revision
    with pytest.raises(Refused):
        auth.change_all(["add catalog:x"], by="user:bob")
    with pytest.raises(Invalid):
        auth.change("add user:ann", by="user:bob")
    assert statements(auth, refused=True) == [f"drop {TABLE}", "add catalog:x"]
    assert auth.check("user:bob", "SELECT_TABLE", TABLE).revision == revision


def test_refused_attempt_is_found_by_its_request_id(auth: Authorizer) -> None:
    (old,) = auth.log(refused=True)  # made without an id
    with pytest.raises(Refused):
        auth.change("add catalog:x", by="user:bob", id="mine")
    for batch in (["add catalog:y", "add catalog:z"], ["add catalog:y", "add what"]):
        with pytest.raises(Refused, match=r"^statement 0: "):
            auth.change_all(batch, by="user:bob", id="batch")
    with pytest.raises(Refused):
        auth.change("add catalog:x", by="user:bob", id="mine", dry_run=True)
    with pytest.raises(InvalidInput, match="is not an id"):
        auth.change_all(["add catalog:y", "add what"], by="user:bob", id="")
    assert statements(auth, refused=True, id="mine") == ["add catalog:x"]
    assert statements(auth, refused=True, id="batch") == ["add catalog:y"] * 2
    assert statements(auth, refused=True, id="batch", limit=1) == ["add catalog:y"]
    own = {each.id for each in auth.log(refused=True)}
    assert len(own) == 4 and not own & {"mine", "batch"}  # each also has its own id
    assert statements(auth, refused=True, id=old.id) == [f"drop {TABLE}"]
    assert statements(auth, refused=True, id="none") == statements(auth, id="mine") == []
    auth.change("owner user:bob of metalake:ml")
    assert auth.change("add catalog:x", by="user:bob", id="mine").id == "mine"
    assert statements(auth, id="mine") == statements(auth, refused=True, id="mine") == ["add catalog:x"]


# ---- filters -------------------------------------------------------------------------------------------------------
def test_log_is_filtered_by_actor_object_and_subject(auth: Authorizer) -> None:
    grants = [f"allow SELECT_TABLE on {TABLE} to role:analyst", f"deny MODIFY_TABLE on {TABLE} to role:analyst"]
    assert statements(auth, object=TABLE) == [FACTS[2], *grants]
    assert statements(auth, object="table:hr.public.`staff`", actor="user:ann") == grants
    assert statements(auth, subject="user:bob") == ["member user:bob of role:analyst"]
    assert statements(auth, actor="user:ann", limit=2) == ["member user:bob of role:analyst", grants[1]]
    assert statements(auth, after=len(FACTS), before=len(FACTS) + 2) == grants[:1]
    assert statements(auth, id=auth.log(limit=1)[0].id) == grants[1:]
    assert statements(auth, actor="user:bob") == []
    assert statements(auth, actor="user:bob", refused=True) == [f"drop {TABLE}"]
    assert statements(auth, actor="user:ann", refused=True) == []


def test_batch_and_its_changes_are_found_by_their_ids(auth: Authorizer) -> None:
    joined = "member user:bob of role:analyst"  # bob is a member already, so the change is not in the history
    batch = ["add catalog:a", joined, "add catalog:b"]
    auth.change_all(batch, id="k1")
    auth.change("add catalog:c", id="k1 too")
    assert statements(auth, id="k1") == [batch[0], batch[2]]
    assert statements(auth, id="k1", limit=1) == [batch[2]]
    assert statements(auth, id="k1", object="catalog:a") == [batch[0]]
    assert statements(auth, id="k1.2") == [batch[2]]
    assert statements(auth, id="k1.1") == statements(auth, id="k") == []


def test_log_is_filtered_by_time(auth: Authorizer) -> None:
    times = [each.at for each in auth.log()]
    assert statements(auth, since=times[-1])[-1] == f"deny MODIFY_TABLE on {TABLE} to role:analyst"
    assert len(statements(auth, since=times[-1])) == sum(at >= times[-1] for at in times)
    assert len(statements(auth, until=times[-1])) == sum(at < times[-1] for at in times)
    plain = times[-1].replace(tzinfo=None)
    for read in (lambda: auth.log(since=plain), lambda: auth.log(until=plain), lambda: auth.past(plain)):
        with pytest.raises(InvalidInput, match="has no zone; pass a time with one"):
            read()
    assert statements(auth, until=datetime(2020, 1, 1, tzinfo=UTC)) == []


def test_page_of_refused_attempts_names_no_previous_page_that_lacks_some(auth: Authorizer) -> None:
    for number in range(4):
        with pytest.raises(Refused):
            auth.change(f"add catalog:c{number}", by="user:bob")
    every = statements(auth, refused=True)  # the first one is of the fixture, at the revision before
    pages = {limit: auth.log(refused=True, limit=limit) for limit in (2, 4, 5)}
    assert [(page.complete, page.read().before) for page in pages.values()] == [
        (False, None),
        (False, pages[4][0].revision),
        (True, None),
    ]
    assert [each.statement for each in pages[5]] == every
    assert statements(auth, refused=True, before=pages[4][0].revision) == every[:1]


def test_log_is_read_in_pages(auth: Authorizer) -> None:
    seen: list[str] = []
    before = None
    while page := auth.log(limit=3, before=before):
        assert len(page) <= 3
        seen = [each.statement for each in page] + seen
        before = page[0].revision
    assert seen == statements(auth)


def test_invalid_filter_is_refused(auth: Authorizer) -> None:
    with pytest.raises(InvalidReference):
        auth.log(object="staff")
    with pytest.raises(InvalidInput, match="limit=-1"):
        auth.log(limit=-1)
    wrong: list[dict[str, Any]] = [{"limit": 2.5}, {"limit": True}, {"after": "1"}, {"before": 2**63}, {"id": 5}]
    early = datetime.min.replace(tzinfo=timezone(timedelta(hours=5)))
    for each in [*wrong, {"since": "2026-01-31"}, {"until": 0}, {"since": early}, {"since": "x" * 5_000}]:
        with pytest.raises(InvalidInput, match=f"{next(iter(each))}=|is not a time|is out of range") as error:
            auth.log(**each)
        assert len(str(error.value)) < 200


# ---- freshness -----------------------------------------------------------------------------------------------------
def test_every_question_accepts_a_minimum_revision(auth: Authorizer) -> None:
    now = auth.change("add user:cas", by="user:ann").revision
    check = ("user:bob", "SELECT_TABLE", TABLE)
    assert auth.check(*check, at_least=now).revision == now
    assert auth.check_many([check, check], at_least=now - 1)[1].revision == now
    assert auth.explain(*check, at_least=now).decision.revision == now
    assert list(auth.who(*check[1:], at_least=now)) == ["user:bob"]
    assert list(auth.which("table", "user:bob", "SELECT_TABLE", at_least=now)) == [TABLE]


@pytest.mark.parametrize("revision", ["3", 2.0, True, 2**63])
def test_revision_must_be_an_integer(auth: Authorizer, revision: Any) -> None:
    check = ("user:bob", "SELECT_TABLE", TABLE)
    for ask in (auth.check, auth.explain):
        with pytest.raises(InvalidInput, match="at_least="):
            ask(*check, at_least=revision)
    with pytest.raises(InvalidInput, match="at_least="):
        auth.who(*check[1:], at_least=revision)


def test_older_graph_gives_no_answer(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grantpath.graph.guard.store.PATIENCE", 0.1)
    now = auth.log(limit=1)[0].revision
    check = ("user:bob", "SELECT_TABLE", TABLE)
    for ask in (
        lambda: auth.check(*check, at_least=now + 1),
        lambda: auth.check_many([check], at_least=now + 1),
        lambda: auth.explain(*check, at_least=now + 1),
        lambda: auth.who(*check[1:], at_least=now + 1),
        lambda: auth.which("table", "user:bob", "SELECT_TABLE", at_least=now + 1),
    ):
        with pytest.raises(Inconsistent, match=rf"is at revision {now}, older than revision {now + 1}"):
            ask()


def test_question_waits_for_the_revision(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    now = auth.log(limit=1)[0].revision
    waits: list[float] = []

    def change_meanwhile(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 1:
            auth.change("add user:cas")

    monkeypatch.setattr("grantpath.graph.guard.store.time.sleep", change_meanwhile)
    assert auth.check("user:bob", "SELECT_TABLE", TABLE, at_least=now + 1).revision == now + 1
    assert waits
