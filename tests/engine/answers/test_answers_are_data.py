"""Answers and errors are data: they can be pickled, copied and passed to other processes, with all that they say."""

import asyncio
import copy
import dataclasses
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import pytest
from pydantic import BaseModel

from grantpath import engine
from grantpath.engine import Authorizer, GrantpathError, Listing, Unavailable, api
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.async_store import AsyncStore

from ...conftest import Tenants
from ...docs.answer_schemas import PARTS, QUESTIONS
from ...support.with_replica import with_replica

FACTS = [
    *("add catalog:c", "add schema:c.s", "add table:c.s.t", "add role:a", "add user:w", "member user:u of role:a"),
    *(
        "allow USE_CATALOG on catalog:c to role:a",
        "deny SELECT_TABLE on table:c.s.t to role:a",
        "owner user:v of catalog:c",
    ),
]
YES, NO = ("user:u", "USE_CATALOG", "catalog:c"), ("user:u", "SELECT_TABLE", "table:c.s.t")
EXPORTED = [getattr(engine, name) for name in api.__all__]
ANSWERS = {
    kind.__name__
    for kind in EXPORTED
    if isinstance(kind, type) and issubclass(kind, BaseModel | Listing | list) and kind.__name__ not in QUESTIONS
}
ERRORS = [kind for kind in EXPORTED if isinstance(kind, type) and issubclass(kind, GrantpathError)]


@pytest.fixture(scope="module")
def auth(module_tenant: Tenants) -> Authorizer:
    return module_tenant("lakehouse", FACTS)


def asked(auth: Authorizer, at: dict[str, Any]) -> Iterator[Any]:
    """Answers of the questions that can be asked about the past, too."""
    yield from (auth.check(*YES, **at), auth.check(*NO, **at))
    yield from auth.check_many([YES, NO], **at)
    yield from (auth.explain(*YES, **at), auth.explain(*NO, all=True, **at))
    yield from (
        auth.who("USE_CATALOG", "catalog:c", **at),
        auth.which("catalog", "user:u", "USE_CATALOG", limit=1, **at),
    )
    yield auth.show("catalog:c", **at)


def answers(auth: Authorizer) -> Iterator[Any]:
    """At least one answer of every type."""
    yield from asked(auth, {})
    yield from asked(with_replica(auth), {})
    yield from asked(auth, {"as_of": auth.revision_now()})
    yield auth.who("USE_CATALOG", "catalog:c").read()
    yield from (auth.list("catalog"), auth.grants(), auth.ending(), auth.members("role:a"), auth.memberships("user:u"))
    yield from (auth.question("recent_changes"), auth.question("who_is_in_a_group", group="role:a"))
    yield from (auth.can("user:u", "catalog:c"), auth.since(*YES), auth.revocation(*YES, effects=True))
    yield from (auth.change("add user:later", dry_run=True), auth.plan(["add user:later"]))
    yield from (effects := auth.plan(["revoke allow USE_CATALOG on catalog:c from role:a"]), effects.effects)
    yield from (auth.log(), auth.log().read())


def data(answer: Any) -> Any:
    """All that an answer says."""
    if isinstance(answer, Listing):
        return [*answer], answer.revision, answer.complete, answer.read().model_dump()
    if isinstance(answer, list):
        return [data(each) for each in answer], vars(answer)
    return answer.model_dump()


def copies(thing: Any) -> Iterator[Any]:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        yield pickle.loads(pickle.dumps(thing, protocol))
    yield from (copy.deepcopy(thing), copy.copy(thing), copy.deepcopy({"in": [thing]})["in"][0])


def test_every_answer_can_be_copied(auth: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = set[str]()
    for answer in answers(auth):
        seen.add(type(answer).__name__)
        copied = [*copies(answer)]
        expected = data(answer)
        with monkeypatch.context() as gone:  # a copy needs no connection
            for name in ("read", "read_guarded"):
                gone.setattr(type(auth.store), name, lambda *_, **__: pytest.fail("a copy asks the database"))
            for each in copied:
                assert (type(each), data(each)) == (type(answer), expected)
                assert each == answer
                if isinstance(answer, list):
                    assert type(answer).__hash__ is None  # a list, as documented
                else:
                    assert len({each, answer}) == 1
                for name in ("question", "typed_paths"):
                    assert hash(getattr(each, name, None)) == hash(getattr(answer, name, None))
    assert seen == ANSWERS - PARTS - {"Logged"}, "give an answer of each exported type"


def test_answer_of_an_event_loop_can_be_copied(auth: Authorizer, server: Connection) -> None:
    async def ask() -> list[Any]:
        store = AsyncStore(server, 60.0)
        async with engine.AsyncAuthorizer(Authorizer(store, auth.tenant, auth.policy, auth.root), store) as loop:
            listing = await loop.who("USE_CATALOG", "catalog:c")
            with pytest.raises(TypeError, match="pickle or copy the result"):
                pickle.dumps(listing)
            return [await loop.check(*NO), await loop.explain(*NO), await listing.read()]

    for answer in asyncio.run(ask()):
        assert [data(each) for each in copies(answer)] == [data(answer)] * len([*copies(answer)])


@dataclasses.dataclass
class Noted:
    decision: engine.Decision


def reasons(decision: engine.Decision) -> list[str]:
    return decision.missing


def test_decision_passes_through_dataclasses_and_process_pools(auth: Authorizer) -> None:
    decision = auth.check(*NO)
    assert dataclasses.asdict(Noted(decision))["decision"] == decision
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(reasons, auth.check(*NO)).result() == decision.missing


@pytest.mark.parametrize("kind", ERRORS)
def test_every_error_can_be_copied_with_its_question(kind: Callable[..., GrantpathError]) -> None:
    error = kind("text of the error")
    error.index, error.question, error.code = 2, {"verb": "check", "subject": "user:u"}, "actor_refused"
    for each in copies(error):
        assert (type(each), str(each), each.as_dict()) == (type(error), str(error), error.as_dict())
        assert vars(each) == vars(error)


def test_raised_errors_can_be_copied(auth: Authorizer) -> None:
    for call in (
        lambda: auth.check("user:u", "USE_CATALOG", "catalog:d"),
        lambda: auth.check("user:u", "USE_CATALOGUE", "catalog:c"),
        lambda: auth.change_all(["add user:x", "add user:w"]),
        lambda: auth.change("drop catalog:c", by="user:u"),
    ):
        with pytest.raises(GrantpathError) as raised:
            call()
        assert raised.value.question
        assert [each.as_dict() for each in copies(raised.value)] == [raised.value.as_dict()] * 7
    lost = pickle.loads(pickle.dumps(Unavailable("lost", unknown=True)))
    assert lost.unknown and lost.code == "outcome_unknown"


def test_check_many_gives_each_error_in_its_place(auth: Authorizer, server: Connection) -> None:
    checks: list[Any] = [
        YES,
        ("user:u", "USE_CATALOG", "catalog:cc"),
        NO,
        ("user:u", "USE_CATALOGUE", "catalog:c"),
        ("x",),
        (*YES[:2], "catalog:no"),
    ]

    async def on_a_loop() -> list[Any]:
        store = AsyncStore(server, 60.0)
        async with engine.AsyncAuthorizer(Authorizer(store, auth.tenant, auth.policy, auth.root), store) as loop:
            return [*await loop.check_many(checks, each=True)]

    modes = [auth.check_many(checks, each=True), with_replica(auth).check_many(checks, each=True)]
    past = auth.check_many(checks, each=True, as_of=auth.revision_now())
    for got in (*modes, asyncio.run(on_a_loop()), past):
        kinds = [type(one).__name__ for one in got]
        assert kinds == ["Decision", "Unknown", "Decision", "UnknownName", "Invalid", "Unknown"]
        assert [bool(got[0]), bool(got[2])] == [True, False]
        errors = [one for one in got if isinstance(one, GrantpathError)]
        assert [one.index for one in errors] == [1, 3, 4, 5]
        assert errors[0].question == {"verb": "check_many", "checks": list(checks[1])}
        assert "catalog:cc" in str(errors[0]) and "(did you mean catalog:c?)" in str(errors[0])
    assert auth.check_many([("x",)], each=True)[0].__class__ is engine.Invalid  # type: ignore[list-item]
    with pytest.raises(GrantpathError):
        auth.check_many(checks)
