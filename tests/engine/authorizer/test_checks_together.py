"""Checks that tasks of an event loop ask at the same time share a proof, and each gets its own answer."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

import pytest

from grantpath.engine import AsyncAuthorizer, Authorizer, Decision, Unavailable, Unknown
from grantpath.engine.authorizer.authorizer import Authorizer as Sync

from ...cypher.probes_marks import marked_as
from ...support.one_grant import ALLOWED, FACTS
from ...support.with_replica import replica_of
from .conftest import NewRoot

TASKS = 40
REFUSED = ("user:eve", *ALLOWED[1:])
UNKNOWN = ("user:bob", "USE_CATALOG", "catalog:no")
LEAVE, JOIN = "remove user:bob from role:analyst", "member user:bob of role:analyst"


@pytest.fixture
def writer(new_root: NewRoot) -> Authorizer:
    return new_root([*FACTS, "add user:eve"])


@asynccontextmanager
async def opened(
    writer: Authorizer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[AsyncAuthorizer, list[int]]]:
    """The root with a copy on the running event loop, and the revisions after which its proofs are read."""
    async with AsyncAuthorizer.open(writer.tenant, replica=True) as auth:
        proofs: list[int] = []
        log = replica_of(auth._inner)._log
        proof = log.proof

        def counted(after: int, *given: Any) -> Any:
            proofs.append(after)
            return proof(after, *given)

        monkeypatch.setattr(log, "proof", counted)
        yield auth, proofs


def outcomes(*asked: Coroutine[Any, Any, Decision]) -> Any:
    return asyncio.gather(*asked, return_exceptions=True)


def test_many_checks_are_answered_by_few_proofs(writer: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with opened(writer, monkeypatch) as (auth, proofs):
            questions = [ALLOWED, REFUSED, UNKNOWN] * TASKS
            found = await outcomes(*(auth.check(*each) for each in questions))
            assert len(proofs) <= 3
            for question, answer in zip(questions, found, strict=True):
                if question is UNKNOWN:
                    assert isinstance(answer, Unknown)
                    assert answer.question is not None and answer.question["object"] == "catalog:no"
                else:
                    assert answer.question.subject == question[0]
                    assert answer.allowed == (question is ALLOWED)
            assert replica_of(auth._inner).left == 0

    asyncio.run(run())


def test_a_change_is_in_every_later_answer(writer: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with opened(writer, monkeypatch) as (auth, _):
            for statement, allowed in [(LEAVE, False), (JOIN, True)] * 5:
                earlier = [asyncio.create_task(auth.check(*ALLOWED)) for _ in range(TASKS)]
                done = await asyncio.to_thread(writer.change, statement)
                found = await outcomes(*(auth.check(*ALLOWED) for _ in range(TASKS)))
                assert {(each.allowed, each.revision) for each in found} == {(allowed, done.revision)}
                await asyncio.gather(*earlier)

    asyncio.run(run())


def test_checks_during_a_commit_are_left_to_the_database(writer: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with opened(writer, monkeypatch) as (auth, _):
            revision = writer.revision_now()
            marks = {"revision": revision, "begun": revision + 1, "digest": writer.policy.digest, "made": ""}
            with marked_as(writer, marks):
                asked = [asyncio.create_task(auth.check(*ALLOWED)) for _ in range(3)]
                await asyncio.sleep(0.3)
                assert not any(each.done() for each in asked)
            assert [bool(each) for each in await asyncio.gather(*asked)] == [True] * 3
            assert replica_of(auth._inner).left == 3

    asyncio.run(run())


def test_a_cancelled_check_disturbs_no_other_one(writer: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with opened(writer, monkeypatch) as (auth, _):
            asked = [asyncio.create_task(auth.check(*ALLOWED)) for _ in range(TASKS)]
            await asyncio.sleep(0)
            for each in asked[::2]:
                each.cancel()
            found = await asyncio.gather(*asked, return_exceptions=True)
            assert all(isinstance(each, asyncio.CancelledError) for each in found[::2])
            assert [bool(each) for each in found[1::2]] == [True] * (TASKS // 2)
            assert await auth.check(*ALLOWED)

    asyncio.run(run())


def test_each_check_has_the_context_of_its_task(writer: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    number: ContextVar[int] = ContextVar("number")
    seen: list[int] = []
    answers = Sync._answers

    def noted(self: Sync, *given: Any) -> Any:
        seen.append(number.get())
        return answers(self, *given)

    async def ask(auth: AsyncAuthorizer, own: int) -> Decision:
        number.set(own)
        return await auth.check(*ALLOWED)

    async def run() -> None:
        async with opened(writer, monkeypatch) as (auth, _):
            monkeypatch.setattr(Sync, "_answers", noted)
            await asyncio.gather(*(ask(auth, own) for own in range(TASKS)))

    asyncio.run(run())
    assert sorted(seen) == [*range(TASKS)]


def test_checks_about_the_past_are_no_part_of_a_group(writer: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with opened(writer, monkeypatch) as (auth, _):
            before = writer.revision_now()
            await asyncio.to_thread(writer.change, LEAVE)
            now, then = await asyncio.gather(auth.check(*ALLOWED), auth.check(*ALLOWED, as_of=before))
            assert (now.allowed, then.allowed, then.revision) == (False, True, before)

    asyncio.run(run())


def test_checks_after_the_close_raise_an_error(writer: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with opened(writer, monkeypatch) as (auth, _):
            await auth.check(*ALLOWED)
            await auth.close()
            found = await outcomes(auth.check(*ALLOWED), auth.check(*REFUSED))
            assert [type(each) for each in found] == [Unavailable] * 2
            assert found[0] is not found[1]

    asyncio.run(run())
