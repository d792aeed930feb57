"""Group commit: changes that wait together share a transaction, and each has the outcome that it would have alone."""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import neo4j
import pytest
from neo4j.exceptions import ClientError, IncompleteCommit

from grantpath.engine import Authorizer, Change, Conflict, Invalid, InvalidInput, Refused, Unavailable, Unknown
from grantpath.engine.change.group_commit import MOST, Groups, Member
from grantpath.engine.change.service import ChangeService
from grantpath.engine.memory import memory_authorizer
from grantpath.engine.policy.policy import Policy
from grantpath.engine.transfer.policy_upgrade import upgrade
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.store import Store

from ...conftest import Tenants
from ...support.at_once import at_once, not_free
from ...support.with_replica import content, with_replica

FACTS = [
    *("add catalog:hr", "add user:ann", "add user:bob", "add user:cas", "add role:analyst", "add role:owners"),
    *(
        "owner user:ann of metalake:ml",
        "member user:bob of role:owners",
        "allow CREATE_ROLE on metalake:ml to role:owners",
    ),
]
JOIN = "member user:cas of role:analyst"
Commit = Callable[[neo4j.Transaction], None]


class Interrupted(BaseException):
    """Raised in a thread from outside, like KeyboardInterrupt."""


@pytest.fixture
def auth(tenant: Tenants) -> Authorizer:
    return tenant(given=FACTS)


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The sizes of the groups that are committed."""
    made: list[int] = []
    together = ChangeService._together

    def counted(self: ChangeService, writing: object, group: list[Member], precheck: object) -> None:
        together(self, writing, group, precheck)  # type: ignore[arg-type]
        made.append(len(group))

    monkeypatch.setattr(ChangeService, "_together", counted)
    yield made


def change(
    statement: str, by: str | None = None, id_: str | None = None, as_role: str | None = None
) -> Callable[[Authorizer], Change]:
    return lambda auth: auth.change(statement, by=by, as_role=as_role, id=id_)


def adding(count: int) -> list[Callable[[Authorizer], Change]]:
    return [change(f"add role:r{number}") for number in range(count)]


# ---- each its own outcome ------------------------------------------------------------------------------------------
def test_waiting_changes_share_a_transaction(auth: Authorizer, sizes: list[int]) -> None:
    before = auth.revision_now()
    outcomes = at_once(auth, [*adding(5), change(JOIN, "user:ann"), change("add role:mine", "user:bob")])
    assert sizes == [7]
    assert [each.revision for each in outcomes if isinstance(each, Change)] == list(range(before + 1, before + 8))
    entries = auth.log(limit=100)[-7:]
    assert [(each.revision, each.id, each.statement, each.actor) for each in entries] == [
        (each.revision, each.id, each.question.statement, each.question.by)
        for each in outcomes
        if isinstance(each, Change)
    ]
    assert [each.actor for each in entries] == [None] * 5 + ["user:ann", "user:bob"]
    assert [each.hash for each in entries] == [each.hash for each in outcomes if isinstance(each, Change)]
    assert auth.verify_log().revision == before + 7


def test_wrong_changes_raise_their_errors_and_the_others_are_made(auth: Authorizer, sizes: list[int]) -> None:
    first, refused, unknown, taken, last = at_once(
        auth,
        [
            change("add role:one"),
            change("drop role:analyst", "user:cas"),
            change("member user:nobody of role:analyst"),
            change("add role:analyst"),
            change("add role:two", "user:ann"),
        ],
    )
    assert sizes[0] == 5
    assert isinstance(first, Change) and isinstance(last, Change) and first.revision + 1 == last.revision
    assert isinstance(refused, Refused) and "is not owned by user:cas" in str(refused)
    assert isinstance(unknown, Unknown) and "user:nobody does not exist" in str(unknown)
    assert isinstance(taken, Conflict)
    assert [(each.statement, each.actor) for each in auth.log(refused=True)] == [("drop role:analyst", "user:cas")]


def test_wrong_change_is_told_by_its_group(auth: Authorizer, sizes: list[int]) -> None:
    """It is not made again alone; a refusal is logged with the revision at which it was refused."""
    _, refused, again, _ = at_once(
        auth,
        [
            change("add role:one"),
            change("drop role:analyst", "user:cas"),
            change("drop role:analyst", "user:cas"),
            change("drop role:nope"),
        ],
    )
    assert sizes == [4]
    assert isinstance(refused, Refused) and isinstance(again, Refused) and refused is not again
    assert [each.revision for each in auth.log(refused=True)] == [auth.revision_now()] * 2


@pytest.mark.parametrize(("as_role", "kind"), [(None, Refused), ("role:nope", Unknown)])
def test_wrong_membership_closes_no_cycle(
    tenant: Tenants, sizes: list[int], as_role: str | None, kind: type[Exception]
) -> None:
    auth = tenant("deltastream", ["add role:a", "add role:b", "add user:u"])
    wrong = change("member role:a of role:b", "user:u", as_role=as_role)
    _, refused, made = at_once(auth, [change("add role:c"), wrong, change("member role:b of role:a")])
    assert sizes == [3] and type(refused) is kind and isinstance(made, Change) and made.id


def test_callers_share_no_error(tenant: Tenants, sizes: list[int]) -> None:
    """Each has its own question in the error, and the suggestion is in each once."""
    auth = tenant("deltastream", ["add role:maker", "add user:u"])
    statements = ["add user:v", "add user:w"]
    wrong = [change(each, "user:u", as_role="role:makr") for each in statements]
    _, *errors = at_once(auth, [change("add role:c"), *wrong])
    assert sizes == [3]
    for error, statement in zip(errors, statements, strict=True):
        assert str(error) == "role:makr does not exist (did you mean role:maker?); add it, or check the name"
        assert isinstance(error, Unknown) and error.question and error.question["statement"] == statement


def test_change_sees_those_before_it(auth: Authorizer, sizes: list[int]) -> None:
    outcomes = at_once(
        auth,
        [
            change("add role:new"),
            change("member user:cas of role:new"),
            change("allow CREATE_ROLE on metalake:ml to role:new"),
            change("add role:of-cas", "user:cas"),
            change("remove user:bob from role:owners"),
            change("add role:of-bob", "user:bob"),
        ],
    )
    assert sizes[0] == 6
    assert [type(each) for each in outcomes] == [Change, Change, Change, Change, Change, Refused]
    owners = {each["source"] for each in auth.ask("tenant_state")["edges"] if each["target"] == "role:of-cas"}
    assert "user:cas" in owners


def test_only_one_of_two_changes_that_exclude_each_other_is_made(auth: Authorizer, sizes: list[int]) -> None:
    first, second = at_once(auth, [change("drop role:analyst"), change(JOIN, "user:ann")])
    assert sizes[0] == 2 and isinstance(first, Change) and isinstance(second, Unknown)
    auth.change_all(["add role:a", "add role:b"])
    same = at_once(
        auth, [change("owner user:bob of role:a", "user:ann"), change("owner user:cas of role:a", "user:bob")]
    )
    assert [type(each) for each in same] == [Change, Change]


def test_change_that_is_done_already_has_no_entry(auth: Authorizer, sizes: list[int]) -> None:
    first, second, third = at_once(auth, [change(JOIN), change(JOIN, "user:ann"), change("add role:last")])
    assert sizes == [3]
    assert isinstance(first, Change) and isinstance(second, Change) and isinstance(third, Change)
    assert first.id and second.id is None and third.id
    assert (second.revision, third.revision) == (first.revision, first.revision + 1)


@pytest.mark.parametrize("kept", [False, True])
def test_creator_that_is_dropped_owns_nothing(auth: Authorizer, sizes: list[int], kept: bool) -> None:
    """Also not in a copy that follows the log, and not if a membership keeps the name of the dropped user."""
    if kept:
        assert auth.given(["member user:bob of role:service_admin"]) == [None]
    copy = with_replica(auth)
    outcomes = at_once(auth, [change("add role:x", "user:bob"), change("drop user:bob", "user:ann")])
    assert sizes == [2]
    assert [each.without_owner for each in outcomes if isinstance(each, Change)] == [[], ["role:x"]]
    auth.change("add user:bob", by="user:ann")
    assert "role:x" not in {each["target"] for each in auth.ask("tenant_state")["edges"]}
    assert not auth.check("user:bob", "get_role", "role:x") and not copy.check("user:bob", "get_role", "role:x")
    assert content(copy) == content(with_replica(auth))
    with pytest.raises(Refused):
        auth.change("drop role:x", by="user:bob")


def test_owner_that_is_replaced_and_dropped_in_a_batch_leaves_no_trace(auth: Authorizer) -> None:
    auth.change("owner user:bob of catalog:hr")
    replaced, dropped = auth.change_all(["owner user:cas of catalog:hr", "drop user:bob"], by="user:ann")
    assert (replaced.without_owner, dropped.without_owner) == ([], [])
    assert not auth.check("user:bob", "load_catalog", "catalog:hr", as_of=replaced.revision)
    assert auth.check("user:cas", "load_catalog", "catalog:hr", as_of=replaced.revision)


# ---- ids -----------------------------------------------------------------------------------------------------------
def test_repeated_id_in_a_group_is_made_once(auth: Authorizer) -> None:
    changes = [change(JOIN, id_="mine"), change(JOIN, id_="mine"), change("add role:other", id_="mine")]
    first, second, other = at_once(auth, changes)
    assert isinstance(first, Change) and isinstance(second, Change) and isinstance(other, Conflict)
    assert (first.already, second.already, first == second) == (False, True, True)
    assert len(auth.log(id="mine")) == 1


def test_id_that_was_used_before_is_found_in_a_group(auth: Authorizer, sizes: list[int]) -> None:
    before = auth.change(JOIN, id="mine")
    _, again, taken = at_once(auth, [change("add role:x"), change(JOIN, id_="mine"), change("add role:y", id_="mine")])
    assert sizes[1] == 3 and isinstance(again, Change) and again.already and again == before
    assert isinstance(taken, Conflict) and "belongs to another change" in str(taken)


def test_id_that_another_client_uses_is_no_proof_of_a_commit(
    auth: Authorizer, server: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit fails, and before it is tried again, one of its ids is used through another store."""
    other = Authorizer(Store(server, timeout=20), auth.tenant, auth.policy, auth.root)
    commit, left = neo4j.Transaction.commit, [1]

    def broken(self: neo4j.Transaction) -> None:
        if not left[0]:
            return commit(self)
        left[0] = 0
        self.rollback()
        other.change("add role:r0", id="mine")
        raise IncompleteCommit("the connection went")

    monkeypatch.setattr(neo4j.Transaction, "commit", broken)
    deny = "deny USE_CATALOG on catalog:hr to role:analyst"
    outcomes = at_once(auth, [change("add role:r0", id_="mine"), change("add role:r1"), change(deny)])
    other.close()
    first, added, denied = outcomes
    assert isinstance(first, Change) and first.already
    assert isinstance(added, Change) and isinstance(denied, Change)
    logged: dict[str | None, tuple[int, str]] = {
        each.id: (each.revision, each.statement) for each in auth.log(limit=10)
    }
    assert logged[added.id] == (added.revision, "add role:r1") and logged[denied.id] == (denied.revision, deny)
    assert "role:r1" in {each["ref"] for each in auth.ask("tenant_state")["entities"]}


def test_group_that_fails_in_memory_is_made_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    auth = memory_authorizer.authorizer("gravitino", ["add role:a"])
    entities = sum(map(len, auth.store.graph.version.listed.values()))
    monkeypatch.setattr(memory_authorizer, "ENTITIES", entities + 1)
    made, too_many, dropped, last = at_once(
        auth, [change("add role:b"), change("add role:c"), change("drop role:a"), change("add role:d")]
    )
    found = [made, too_many, dropped, last]
    assert all(isinstance(each, Change) or "at most" in str(each) for each in found)
    there = set(auth.list("role"))
    assert [f"role:{name}" in there for name in "bcd"] == [isinstance(each, Change) for each in (made, too_many, last)]
    assert isinstance(dropped, Change) and "role:a" not in there and len(there & {"role:b", "role:c", "role:d"}) >= 1


# ---- each statement of a list --------------------------------------------------------------------------------------
def test_statements_with_their_own_outcomes_share_a_transaction(auth: Authorizer, sizes: list[int]) -> None:
    statements = ["add role:a", "drop role:nope", JOIN, JOIN, "add role:b"]
    first, wrong, joined, again, last = auth.change_all(statements, each=True, id="mine")
    assert sizes == [5]
    assert isinstance(first, Change) and isinstance(joined, Change) and isinstance(last, Change)
    assert isinstance(wrong, Unknown) and isinstance(again, Change) and again.id is None
    assert (first.id, joined.id, last.id) == ("mine.0", "mine.2", "mine.4")
    assert [each.statement for each in auth.log(limit=3)] == ["add role:a", JOIN, "add role:b"]
    repeated = auth.change_all(statements, each=True, id="mine")
    assert repeated[0] == first and [getattr(each, "already", None) for each in repeated] == [True, None, *[True] * 3]
    assert [each.statement for each in auth.log(limit=3)] == ["add role:a", JOIN, "add role:b"]


def test_errors_of_statements_that_share_a_transaction_are_those_of_a_change(tenant: Tenants) -> None:
    """Text, question and log; each has an error of its own."""
    facts = ["add user:u", "add role:maker", "member role:maker of role:USERADMIN", "member user:u of role:maker"]
    together, alone = tenant("deltastream", facts), tenant("deltastream", facts)
    statements = ["add user:v", "add `", "add user:v", "add database:d", "drop user:nobody"]
    for as_role in ("role:maker", "role:makr", "user:u"):
        outcomes = together.change_all(statements, by="user:u", as_role=as_role, id=f"as {as_role}", each=True)
        for index, (found, statement) in enumerate(zip(outcomes, statements, strict=True)):
            options = {"by": "user:u", "as_role": as_role, "id": f"as {as_role}.{index}", "dry_run": False}
            try:
                assert alone.change(statement, **options) == found  # type: ignore[arg-type]
            except (Refused, Invalid) as error:
                assert isinstance(found, Refused | Invalid) and found.as_dict() == error.as_dict()
        assert len({*map(id, outcomes)}) == len(outcomes)
    refusals = [
        [(each.statement, each.revision, each.reason) for each in auth.log(refused=True)] for auth in (together, alone)
    ]
    assert refusals[0] == refusals[1] and len(refusals[0]) == 1


def test_statements_that_are_made_alone_keep_their_place(auth: Authorizer, sizes: list[int]) -> None:
    statements = [
        *("add role:a", "add role:b", "give it", "rename catalog:hr to hr2", "add schema:hr.s", "add schema:hr2.s"),
        *("drop catalog:hr2", "add role:c"),
    ]
    outcomes = auth.change_all(statements, each=True)
    assert [type(each) for each in outcomes] == [
        *(Change, Change, InvalidInput, Change, Unknown, Change, Change, Change)
    ]
    assert sizes == [2, 2, 1]
    assert [each.statement for each in auth.log(limit=6)] == [statements[at] for at in (0, 1, 3, 5, 6, 7)]


def test_many_statements_share_several_transactions(
    auth: Authorizer, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    statements = [f"add role:r{number}" for number in range(MOST + 2)]
    outcomes = auth.change_all(statements, each=True)
    assert sizes == [MOST, 2] and all(isinstance(each, Change) and each.id for each in outcomes)
    assert [each.statement for each in auth.log(limit=MOST + 2)] == statements


@pytest.mark.parametrize(
    ("error", "commits"),
    [
        (IncompleteCommit("the connection went"), True),
        (IncompleteCommit("the connection went"), False),
        (ClientError("too large"), False),
    ],
)
@pytest.mark.parametrize("id_", [None, "mine"])
def test_statements_of_a_transaction_that_fails_are_made_once_and_in_order(
    auth: Authorizer,
    monkeypatch: pytest.MonkeyPatch,
    sizes: list[int],
    error: BaseException,
    commits: bool,
    id_: str | None,
) -> None:
    """The second role can be added again only after it was dropped, and only the first one has a wrong member."""
    before = auth.revision_now()
    statements = ["add role:a", "drop role:nope", JOIN, "drop role:a", "add role:a", "member user:bob of role:b"]
    break_commit(monkeypatch, commits, error)
    outcomes = auth.change_all(statements, by="user:ann", id=id_, each=True)
    assert [type(each) for each in outcomes] == [Change, Unknown, Change, Change, Change, Unknown]
    logged = [(each.id, each.statement) for each in auth.log(limit=100)][before:]
    assert logged == [(each.id, each.question.statement) for each in outcomes if isinstance(each, Change)]
    assert sizes[0] == 6 and all(size == 1 for size in sizes[1:]) and (len(sizes) == 1) is commits
    assert auth.verify_log().revision == auth.revision_now()


def test_unknown_outcome_of_statements_ends_the_call(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the index of the first statement that may not be made, and its question; with the id, the call can be
    repeated."""
    write, broken = Store.write, list[bool]()

    def failing(self: Store, root: str, work: Callable[..., object], *given: Any, **named: Any) -> Any:
        if broken:
            raise Unavailable("the server is gone")
        try:
            return write(self, root, work, *given, **named)
        except Unavailable:
            broken.append(True)
            raise

    monkeypatch.setattr(Store, "write", failing)
    statements = ["give it", "add role:a", "add role:b"]
    break_commit(monkeypatch, True, IncompleteCommit("the connection went"))
    with pytest.raises(Unavailable, match=r"2 statements were committed together.*the id mine.1 in the log") as raised:
        auth.change_all(statements, id="mine", each=True)
    assert raised.value.unknown and raised.value.index == 1
    assert raised.value.question == {"verb": "change", "statement": "add role:a", "id": "mine.1", "dry_run": False}
    broken.clear()
    outcomes = auth.change_all(statements, id="mine", each=True)
    assert [getattr(each, "already", None) for each in outcomes] == [None, True, True]
    assert len(auth.log(id="mine.1")) == 1


def test_statements_that_wait_too_long_are_not_made(tenant: Tenants, server: Connection) -> None:
    """They wait once, not once together and once alone."""
    made = tenant(given=FACTS)
    auth = Authorizer(Store(server, timeout=1.5), made.tenant, made.policy, made.root)
    with not_free(auth), pytest.raises(Unavailable, match=r"was not free within 1\.5 s") as raised:
        began = time.monotonic()
        auth.change_all(["add role:a", "add role:b"], each=True)
    assert raised.value.index == 0 and time.monotonic() - began < 2.9
    assert made.revision_now() == len(FACTS)
    auth.close()


def test_statements_follow_their_root_to_another_policy(
    auth: Authorizer, server: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if it gets the policy after their transaction has failed, and before they are made one by one."""
    auth.follow()
    other = Policy(auth.policy.file.model_copy(update={"title": "Another"}))
    commit, left = neo4j.Transaction.commit, [1]

    def broken(self: neo4j.Transaction) -> None:
        if not left[0]:
            return commit(self)
        left[0] = 0
        self.rollback()
        raise ClientError("too large")

    in_order = ChangeService.in_order

    def upgraded(self: ChangeService, *given: Any) -> Any:
        made = in_order(self, *given)
        if auth.policy.file.title != other.file.title:
            upgrade(Authorizer(Store(server, timeout=20), auth.tenant, auth.policy, auth.root), other)
        return made

    monkeypatch.setattr(neo4j.Transaction, "commit", broken)
    monkeypatch.setattr(ChangeService, "in_order", upgraded)
    statements = ["add role:a", JOIN, "drop role:a"]
    assert [type(each) for each in auth.change_all(statements, by="user:ann", each=True)] == [Change] * 3
    assert auth.policy.file.title == "Another"
    again = Policy(auth.policy.file.model_copy(update={"title": "A third"}))
    monkeypatch.setattr(ChangeService, "in_order", in_order)
    upgrade(Authorizer(Store(server, timeout=20), auth.tenant, auth.policy, auth.root), again)
    assert [type(each) for each in auth.change_all(["add role:b", "drop role:b"], each=True)] == [Change] * 2


# ---- failures ------------------------------------------------------------------------------------------------------
def break_commit(monkeypatch: pytest.MonkeyPatch, commits: bool, error: BaseException) -> None:
    """The next commit is made or not, and raises an error."""
    commit, left = neo4j.Transaction.commit, [1]

    def broken(self: neo4j.Transaction) -> None:
        if not left[0]:
            return commit(self)
        left[0] -= 1
        commit(self) if commits else self.rollback()
        raise error

    monkeypatch.setattr(neo4j.Transaction, "commit", broken)


@pytest.mark.parametrize(
    ("error", "commits"),
    [
        (IncompleteCommit("the connection went"), True),
        (IncompleteCommit("the connection went"), False),
        (ClientError("too large"), False),
        (Interrupted(), True),
        (Interrupted(), False),
    ],
)
def test_changes_of_a_group_that_fails_are_made_once(
    auth: Authorizer, monkeypatch: pytest.MonkeyPatch, error: BaseException, commits: bool
) -> None:
    """Also if the thread that commits is interrupted; then only its own caller is told so."""
    before = auth.revision_now()
    break_commit(monkeypatch, commits, error)
    outcomes = at_once(auth, [*adding(3), change(JOIN, "user:ann"), change("add role:named", id_="mine")])
    interrupted = isinstance(error, Interrupted)
    assert [type(each) for each in outcomes] == [Interrupted if interrupted else Change, *[Change] * 4]
    logged = [each.id for each in auth.log(limit=100)]
    assert all(logged.count(str(each.id)) == 1 for each in outcomes if isinstance(each, Change))
    there = {each["ref"] for each in auth.ask("tenant_state")["entities"]}
    assert {"role:r1", "role:r2", "role:named"} <= there
    assert ("role:r0" in there) is (commits or not interrupted)
    assert len(logged) == before + 4 + ("role:r0" in there)  # revisions of what was rolled back are not used again
    assert auth.verify_log().revision == auth.revision_now()


def test_change_that_waits_too_long_is_not_made(tenant: Tenants, server: Connection) -> None:
    made = tenant(given=FACTS)
    auth = Authorizer(Store(server, timeout=1.5), made.tenant, made.policy, made.root)
    with not_free(auth), ThreadPoolExecutor(3) as pool:
        began = time.monotonic()
        waiting = [pool.submit(each, auth) for each in adding(3)]
        errors = [each.exception(60) for each in waiting]
        assert time.monotonic() - began < 10
    assert [type(each) for each in errors] == [Unavailable] * 3
    assert all("was not free within 1.5 s: thread" in str(each) for each in errors)
    assert not [each for each in made.ask("tenant_state")["entities"] if each["ref"].startswith("role:r")]
    assert auth.change("add role:r0").id
    auth.close()


def test_waiting_change_is_refused_before_its_turn(auth: Authorizer) -> None:
    with ThreadPoolExecutor(2) as pool, not_free(auth):
        first = pool.submit(change("add role:first"), auth)
        while not auth._service._groups.size:
            time.sleep(0.002)
        refused = pool.submit(change("drop role:analyst", "user:cas"), auth)
        wrong = pool.submit(change("member user:nobody of role:analyst"), auth)
        assert isinstance(refused.exception(8), Refused) and isinstance(wrong.exception(8), Unknown)
        assert not first.done()
    assert first.result(60).id


# ---- the queue -----------------------------------------------------------------------------------------------------
def member() -> Member:
    return Member(None, None, named=False)  # type: ignore[arg-type]


def leads(groups: Groups, meanwhile: Callable[[], None]) -> bool:
    """Whether this thread comes to lead."""
    with groups.place(member(), 60, meanwhile) as leads:
        return leads


def test_interrupted_thread_leaves_the_queue() -> None:
    groups = Groups(patience=0.0)

    def interrupt() -> None:
        raise Interrupted

    with ThreadPoolExecutor(1) as pool, groups.place(member(), 60, lambda: None):
        assert isinstance(pool.submit(leads, groups, interrupt).exception(60), Interrupted)
        assert groups.size == 1
    assert groups.size == 0


def test_change_that_is_being_made_is_not_withdrawn() -> None:
    groups, leader, looks, taken = Groups(patience=0.0), member(), Event(), Event()

    def wrong() -> None:
        looks.set()
        assert taken.wait(60)
        raise Invalid("it was wrong before its turn")

    with ThreadPoolExecutor(1) as pool:
        with groups.place(leader, 60, lambda: None):
            waits = pool.submit(leads, groups, wrong)
            assert looks.wait(60)
            assert len(groups.take(leader)) == 2
            taken.set()
        assert waits.result(60) is False


def test_thread_whose_leader_was_interrupted_does_not_wait_for_ever() -> None:
    groups, leader = Groups(), member()
    with ThreadPoolExecutor(1) as pool, groups.place(leader, 60, lambda: None):
        waits = pool.submit(leads, groups, lambda: None)
        while groups.size < 2:
            time.sleep(0.002)
        assert len(groups.take(leader)) == 2
        groups._taken.clear()  # as if it was interrupted before it woke the other thread
        assert waits.result(60) is False


def test_thread_that_waited_leads_next() -> None:
    groups = Groups()
    with ThreadPoolExecutor(1) as pool:
        with groups.place(member(), 60, lambda: None):
            waits = pool.submit(leads, groups, lambda: None)
            while groups.size < 2:
                time.sleep(0.002)
        assert waits.result(60) is True


def test_thread_that_leads_does_not_wait_for_itself() -> None:
    groups, first, second = Groups(), member(), member()
    with groups.place(first, 60, lambda: None), groups.place(second, 60, lambda: None) as second_leads:
        assert second_leads
    assert groups.size == 0


def test_forked_child_has_no_waiting_changes(auth: Authorizer) -> None:
    """In the child, the threads that waited are gone: it neither makes their changes nor waits for their leader."""
    with ThreadPoolExecutor(2) as pool, not_free(auth):
        running = [pool.submit(each, auth) for each in adding(2)]
        while auth._service._groups.size < 2:
            time.sleep(0.002)
        child = os.fork()
        if not child:
            os._exit(auth._service._groups.size)
        assert os.waitpid(child, 0)[1] == 0
    assert all(each.result(60).id for each in running)


@pytest.mark.parametrize("statement", ["drop catalog:hr", "rename catalog:hr to hr2", "hand over user:ann to user:bob"])
def test_change_that_can_be_large_is_made_alone(auth: Authorizer, sizes: list[int], statement: str) -> None:
    outcomes = at_once(auth, [change("add role:one"), change("add role:two")])
    assert [type(each) for each in outcomes] == [Change, Change]
    auth.change(statement)
    with pytest.raises(Invalid):
        auth.change("member role:one of user:bob")
    assert sizes == [2]
