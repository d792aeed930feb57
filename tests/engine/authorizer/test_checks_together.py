"""Checks that tasks of an event loop ask at the same time share a proof, and each gets its own answer."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

import pytest

from grantpath.engine import AsyncAuthorizer, Authorizer, Decision, Inconsistent, Unavailable, Unknown
from grantpath.engine.authorizer.authorizer import Authorizer as Sync
from grantpath.engine.facts.copy.replica import Replica
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.async_store import AsyncStore

from ...cypher.probes_marks import marked_as
from ...support.lateness import Lateness
from ...support.one_grant import ALLOWED, FACTS
from ...support.proxy import Proxy
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
            questions = [ALLOWED, REFUSED] * TASKS
            found = await outcomes(*(auth.check(*each) for each in questions))
            assert len(proofs) <= 3
            assert replica_of(auth._inner).left == 0
            for question, answer in zip(questions, found, strict=True):
                assert answer.question.subject == question[0]
                assert answer.allowed == (question is ALLOWED)

    asyncio.run(run())


def test_an_error_is_that_of_its_own_check(writer: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with opened(writer, monkeypatch) as (auth, _):
            questions = [ALLOWED, UNKNOWN, ("user:bob", "USE_CATALOG", "catalog:also_no")] * TASKS
            found = await outcomes(*(auth.check(*each) for each in questions))
            for question, answer in zip(questions, found, strict=True):
                if question is ALLOWED:
                    assert answer.allowed
                else:
                    assert isinstance(answer, Unknown)
                    assert answer.question is not None and answer.question["object"] == question[2]

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
                async with asyncio.timeout(60):
                    while replica_of(auth._inner).left < 3:  # the copy waits for a while for the end of the commit
                        await asyncio.sleep(0.01)
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


def test_check_that_needs_the_database_delays_no_other_one(writer: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with opened(writer, monkeypatch) as (auth, _):
            released, read = threading.Event(), AsyncStore.read_guarded

            def slowly(self: AsyncStore, *given: Any, **named: Any) -> Any:
                self._require_thread()
                assert released.wait(30)
                return read(self, *given, **named)

            monkeypatch.setattr(AsyncStore, "read_guarded", slowly)
            first = asyncio.create_task(auth.check(*ALLOWED))
            await asyncio.sleep(0)  # its group has begun: all that follow are in the next one
            late = asyncio.create_task(auth.check(*ALLOWED, at_least=1_000))
            unknown = [asyncio.create_task(auth.check(*UNKNOWN)) for _ in range(TASKS)]
            assert await asyncio.wait_for(auth.check(*ALLOWED), 20)
            assert await first and not late.done()
            released.set()
            assert {type(each) for each in await asyncio.gather(*unknown, return_exceptions=True)} == {Unknown}
            with pytest.raises(Inconsistent, match="older than revision"):
                await late

    asyncio.run(run())


def test_checks_go_on_after_their_group_was_cancelled(writer: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def cancelled(auth: AsyncAuthorizer) -> None:
        asked = [asyncio.create_task(auth.check(*ALLOWED)) for _ in range(3)]
        await asyncio.sleep(0)  # the group has a task, which has not begun
        others = asyncio.all_tasks() - {asyncio.current_task(), *asked}
        assert len(others) == 1
        for each in others:
            each.cancel()
        assert [bool(each) for each in await asyncio.wait_for(asyncio.gather(*asked), 30)] == [True] * 3

    async def run() -> None:
        async with opened(writer, monkeypatch) as (auth, _):
            await cancelled(auth)
            assert await asyncio.wait_for(auth.check(*ALLOWED), 30)

    asyncio.run(run())


def test_checks_in_the_clean_up_of_tasks_end(writer: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[bool] = []

    async def task(auth: AsyncAuthorizer) -> None:
        try:
            while True:
                await auth.check(*ALLOWED)
        finally:
            ended.append(bool(await asyncio.wait_for(auth.check(*ALLOWED), 30)))

    async def run() -> None:
        opening = AsyncAuthorizer.open(writer.tenant, replica=True)
        auth = await opening
        keep.append(auth)
        keep.extend(asyncio.create_task(task(auth)) for _ in range(3))
        await asyncio.sleep(0.3)

    keep: list[Any] = []
    asyncio.run(run())
    assert ended == [True] * 3


def test_a_proof_that_fails_is_an_error_with_the_question(writer: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with opened(writer, monkeypatch) as (auth, _):

            def fails(*_: Any) -> Any:
                raise Unavailable("the server is away")

            monkeypatch.setattr(replica_of(auth._inner)._log, "proof", fails)
            found = await outcomes(auth.check(*ALLOWED), auth.check(*REFUSED))
            assert [type(each) for each in found] == [Unavailable] * 2
            assert [each.question["subject"] for each in found] == [ALLOWED[0], REFUSED[0]]

    asyncio.run(run())


def test_proofs_have_no_context_of_a_task(writer: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    number: ContextVar[int] = ContextVar("number")

    async def run() -> None:
        async with opened(writer, monkeypatch) as (auth, _):
            log = replica_of(auth._inner)._log
            proof, seen = log.proof, []

            def noted(*given: Any) -> Any:
                seen.append(number.get(None))
                return proof(*given)

            monkeypatch.setattr(log, "proof", noted)
            number.set(1)
            await auth.check(*ALLOWED)
            assert seen == [None]

    asyncio.run(run())


def test_no_check_waits_for_two_groups_on_a_server_that_hangs(writer: Authorizer, server: Connection) -> None:
    timeout, pause = 4.0, 0.2
    proxy = Proxy(server.uri)

    async def seconds(auth: AsyncAuthorizer, number: int) -> float:
        await asyncio.sleep(number * pause)
        began = time.perf_counter()
        with pytest.raises(Unavailable):
            await auth.check(*ALLOWED)
        return time.perf_counter() - began

    async def run() -> list[float]:
        store = AsyncStore(Connection(proxy.uri, server.user, server.password), timeout)
        inner = Authorizer(store, writer.tenant, writer.policy, writer.root)
        inner.replica = await asyncio.to_thread(Replica.of, store, writer.tenant, writer.root, writer.policy)
        async with AsyncAuthorizer(inner, store) as auth:
            assert await auth.check(*ALLOWED)
            assert inner.replica.answered == 1
            proxy.frozen.set()
            return await asyncio.gather(*(seconds(auth, number) for number in range(12)))

    with Lateness() as lateness:
        found = asyncio.run(run())
    proxy.close()
    assert max(found) < 1.75 * timeout + 2 * lateness.worst, found  # 1.95 if a check waits for the group before its own


def test_checks_after_the_close_raise_an_error(writer: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with opened(writer, monkeypatch) as (auth, _):
            await auth.check(*ALLOWED)
            await auth.close()
            found = await outcomes(auth.check(*ALLOWED), auth.check(*REFUSED))
            assert [type(each) for each in found] == [Unavailable] * 2
            assert found[0] is not found[1]

    asyncio.run(run())
