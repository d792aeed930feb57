"""Group commit: changes that wait together share a transaction, and each has the outcome that it would have alone."""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import neo4j
import pytest
from neo4j.exceptions import ClientError, IncompleteCommit

from grantpath.engine import Authorizer, Change, Conflict, Invalid, Refused, Unavailable, Unknown
from grantpath.engine.change.group_commit import Groups, Member
from grantpath.engine.change.service import ChangeService
from grantpath.engine.memory import memory_authorizer
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
