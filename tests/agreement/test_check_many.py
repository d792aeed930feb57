"""`check_many` says of each check what `check` says of it alone, from the database, a copy, the past and memory."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from grantpath.engine import Authorizer, Check, Decision, GrantpathError, Invalid, Unavailable
from grantpath.engine.answers.source import FEW
from grantpath.engine.facts.copy.replica import Replica
from grantpath.engine.memory.memory_authorizer import authorizer

from ..conftest import Tenants
from ..support.with_replica import with_replica

A, B, OTHER = "table:hr.s.a", "table:hr.s.b", "table:hr.other.a"
FACTS = [
    *("add catalog:hr", "add schema:hr.s", "add schema:hr.other", "add schema:hr.`x.y`", "add catalog:`h r`"),
    *(f"add {each}" for each in (A, B, OTHER, "table:hr.`x.y`.a", "table:hr.s.`a b`", "role:r", "role:outer")),
    *("add user:bob", "add user:ann", "add tag:pii", "add group:g"),
    *("member user:bob of role:r", "member user:ann of group:g", "member group:g of role:outer"),
    *("allow USE_CATALOG on catalog:hr to role:r", "allow USE_SCHEMA on catalog:hr to role:r"),
    *("allow SELECT_TABLE on schema:hr.s to role:r", "deny SELECT_TABLE on table:hr.s.b to role:r"),
    *("allow SELECT_TABLE on schema:hr.other to role:outer", "allow APPLY_TAG on tag:pii to role:outer"),
    *("owner user:ann of catalog:hr", "owner user:bob of table:hr.other.a"),
]
USERS = ["user:bob", "user:ann", "user:nobody", "user:admin", "user:`bob`"]
OBJECTS = [A, B, OTHER, "table:hr.`s`.a", "table:hr.`x.y`.a", "table:hr.s.`a b`"]
GOOD: list[Any] = [
    *((user, name, on) for user in USERS for name in ("load_table", "SELECT_TABLE", "drop_table") for on in OBJECTS),
    *((user, name, on) for user in USERS for name in ("USE_SCHEMA", "create_table") for on in ("schema:hr.s",)),
    *((user, name, on) for user in USERS for name in ("USE_CATALOG",) for on in ("catalog:hr", "catalog:`h r`")),
    *((user, "USE_CATALOG", "metalake:ml") for user in USERS),
    *([user, "load_table", A] for user in USERS),  # any three words are accepted
    *(Check(subject=user, name="load_table", object=A) for user in USERS),
]
WRONG: dict[str, Any] = {
    "an object that does not exist": ("user:bob", "load_table", "table:hr.s.absent"),
    "an operation that does not exist": ("user:bob", "lode_table", A),
    "an operation on another type": ("user:bob", "load_table", "catalog:hr"),
    "a reference that cannot be read": ("user:bob", "load_table", "table"),
    "a role as the subject": ("role:r", "load_table", A),
    "a role, and another wrong word": ("role:r", "lode_table", A),
    "an active role": Check(subject="user:bob", name="load_table", object=A, as_role="role:r"),
    "a second object": Check(subject="user:bob", name="load_table", object=A, with_={"tag": "tag:pii"}),
    "two words": ("user:bob", "load_table"),
    "a number": ("user:bob", 7, A),
    "no check": None,
    "a name that is a list": Check.model_construct(subject="user:bob", name=["x"], object=A, with_={}, as_role=None),
    "an object that is a list": Check.model_construct(subject="user:bob", name="x", object=[A], with_={}, as_role=None),
}


@pytest.fixture(scope="module")
def ways(module_tenant: Tenants) -> dict[str, Callable[..., Any]]:
    """`check_many` of each source of answers; the first is the database."""
    auth = module_tenant("gravitino", FACTS)
    past = auth.past(auth.revision_now())
    return {
        "graph": auth.check_many,
        "copy": with_replica(auth).check_many,
        "past": lambda checks, **named: auth.check_many(checks, as_of=past, **named),
        "memory": authorizer("gravitino", FACTS, root="ml").check_many,
    }


def said(one: Decision | GrantpathError) -> object:
    """All that a caller can read in a result, but the revision: that of a root in memory is another one."""
    if isinstance(one, Decision):
        return {**one.model_dump(), "revision": None}, one.public, len(one.evidence.acted)
    return type(one), str(one), one.index, one.code, one.question


def result(ask: Callable[..., Any], checks: list[Any], **named: Any) -> object:
    try:
        return [said(one) for one in ask(checks, **named)]
    except GrantpathError as error:
        return said(error)


def test_a_batch_says_what_each_check_says_alone(ways: dict[str, Callable[..., Any]]) -> None:
    assert len(GOOD) > FEW
    alone = [result(ways["graph"], [each]) for each in GOOD]
    wanted = [one[0] for one in alone if isinstance(one, list)]
    assert len(wanted) == len(GOOD) and 20 < sum(one[0]["allowed"] for one in wanted) < len(GOOD) - 20
    for way, ask in ways.items():
        for each in (False, True):
            assert result(ask, GOOD, each=each) == wanted, way
        assert {one.revision for one in ask(GOOD)} == {ask(GOOD[:1])[0].revision}


@pytest.mark.filterwarnings("ignore:Pydantic serializer")  # of a Check whose words are not strings
@pytest.mark.parametrize("wrong", WRONG)
def test_errors_of_a_batch_are_those_of_the_database(ways: dict[str, Callable[..., Any]], wrong: str) -> None:
    one, absent = WRONG[wrong], WRONG["an object that does not exist"]
    for checks in (
        [*GOOD, one, *GOOD],
        [one, *GOOD, one],
        [absent, *GOOD, one, absent],  # a wrong word is reported before a missing name
        [one] * (FEW + 1),
    ):
        for each in (False, True):
            wanted = result(ways["graph"], checks, each=each)
            for way in ("copy", "memory"):
                assert result(ways[way], checks, each=each) == wanted, way
        past = result(ways["past"], checks, each=True)
        assert isinstance(past, list) and len(past) == len(checks)


@contextmanager
def unavailable(patch: pytest.MonkeyPatch) -> Iterator[None]:
    def current(*_: object) -> None:
        raise Unavailable("the database is away")

    with patch.context() as within:
        within.setattr(Replica, "current", current)
        yield


def test_wrong_checks_are_reported_without_a_proof(module_tenant: Tenants, monkeypatch: pytest.MonkeyPatch) -> None:
    copy: Authorizer = with_replica(module_tenant("gravitino", FACTS))
    with unavailable(monkeypatch):
        with pytest.raises(Unavailable, match="the database is away"):
            copy.check_many(GOOD)
        with pytest.raises(Invalid, match="lode_table") as caught:
            copy.check_many([*GOOD, WRONG["an operation that does not exist"]])
        assert caught.value.index == len(GOOD)
        found = copy.check_many([WRONG["a role as the subject"]] * (FEW + 1), each=True)
        assert [one.index for one in found if isinstance(one, GrantpathError)] == [*range(FEW + 1)]


def test_a_batch_sees_the_last_change(module_tenant: Tenants) -> None:
    auth = module_tenant("gravitino", FACTS)
    copy = with_replica(auth)
    checks = [("user:bob", "load_table", A)] * (FEW + 1)
    for statement, allowed in (
        ("deny SELECT_TABLE on catalog:hr to role:r", False),
        ("revoke deny SELECT_TABLE on catalog:hr from role:r", True),
        ("remove user:bob from role:r", False),
        ("member user:bob of role:r", True),
        ("deny SELECT_TABLE on table:hr.s.a to role:r", False),
    ):
        assert [bool(one) for one in copy.check_many(checks)] == [not allowed] * len(checks)
        revision = auth.change(statement).revision
        found = copy.check_many(checks)
        assert [(one.allowed, one.revision) for one in found] == [(allowed, revision)] * len(checks)
    assert copy.replica is not None and copy.replica.left == 0
