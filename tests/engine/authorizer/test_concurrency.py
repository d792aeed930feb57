"""Many tasks at once, and tasks that are cancelled: each answer belongs to its question, and nothing stays locked."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from grantpath.engine import AsyncAuthorizer, Authorizer, Check
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.async_store import AsyncStore

from ...conftest import Closing, Tenants
from ...support.sizes import size

pytestmark = pytest.mark.trust

USERS, CATALOGS = 10, 100  # user u is in role u, which can use the catalogs c with c % USERS == u
FACTS = [
    *(f"add role:r{user}" for user in range(USERS)),
    *(f"member user:u{user} of role:r{user}" for user in range(USERS)),
    *(f"add catalog:c{at}" for at in range(CATALOGS)),
    *(f"allow USE_CATALOG on catalog:c{at} to role:r{at % USERS}" for at in range(CATALOGS)),
]
ROUNDS, STORM = size(full=20, short=2), size(full=20_000, short=1_500)
Work = Callable[[AsyncAuthorizer], Awaitable[None]]


@pytest.fixture(scope="module")
def made(module_tenant: Tenants) -> Authorizer:
    return module_tenant(given=FACTS)


def on_loop(server: Connection, made: Authorizer, work: Work, timeout: float = 240.0) -> None:
    """Runs `work` with an authorizer of its own, and closes it."""

    async def run() -> None:
        store = AsyncStore(server, timeout)
        async with AsyncAuthorizer(Authorizer(store, made.tenant, made.policy, made.root), store) as auth:
            await work(auth)
        assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

    asyncio.run(run())


def question(number: int) -> tuple[Check, bool]:
    """One of USERS * CATALOGS different questions, with its answer."""
    user, at = number % USERS, number // USERS % CATALOGS
    return Check(subject=f"user:u{user}", name="USE_CATALOG", object=f"catalog:c{at}"), at % USERS == user


async def ask(auth: AsyncAuthorizer, number: int) -> bool:
    """Is the answer right, and is it that of this question?"""
    check, wanted = question(number)
    decision = await auth.check(check.subject, check.name, check.object)
    return decision.allowed is wanted and decision.question == check


def test_each_of_1000_concurrent_answers_belongs_to_its_question(
    server: Connection, made: Authorizer, closing: Closing
) -> None:
    async def work(auth: AsyncAuthorizer) -> None:
        right, began = 0, time.perf_counter()
        for _ in range(ROUNDS):
            right += sum(await asyncio.gather(*(ask(auth, number) for number in range(1_000))))
        seconds = time.perf_counter() - began
        closing(
            f"event loop: {ROUNDS} x 1,000 concurrent checks of different questions, {right:,} right, "
            f"{right / seconds:,.0f} a second"
        )
        assert right == ROUNDS * 1_000

    on_loop(server, made, work)


def test_cancelled_questions_leave_no_wrong_answer_and_no_used_connection(
    server: Connection, made: Authorizer, closing: Closing
) -> None:
    dice = random.Random("storm")

    async def work(auth: AsyncAuthorizer) -> None:
        outcomes = {True: 0, False: 0, "cancelled": 0}
        for _ in range(2):  # the second time without opening connections
            began = time.perf_counter()
            assert all(await asyncio.gather(*(ask(auth, number) for number in range(100))))
        longest = 1.3 * (time.perf_counter() - began)

        async def one(number: int) -> None:
            try:
                if dice.random() < 0.5:
                    async with asyncio.timeout(dice.random() * longest):
                        outcomes[await ask(auth, number)] += 1
                else:
                    outcomes[await cancelled_after(ask(auth, number), dice.random() * longest)] += 1
            except (TimeoutError, asyncio.CancelledError):
                outcomes["cancelled"] += 1

        for begin in range(0, STORM, 100):
            before = outcomes["cancelled"]
            await asyncio.gather(*(one(number) for number in range(begin, begin + 100)))
            cancelled = outcomes["cancelled"] - before
            # so that many are cancelled and many are not, also if the machine becomes faster or slower meanwhile
            longest *= 0.6 if cancelled < 25 else 1.6 if cancelled > 75 else 1.0
        calm = [await ask(auth, number) for number in range(100)]
        closing(
            f"event loop: {STORM:,} checks of which {outcomes['cancelled']:,} were cancelled at random, "
            f"{outcomes[True]:,} right, {outcomes[False]} wrong"
        )
        assert outcomes[False] == 0 and all(calm)
        assert min(outcomes["cancelled"], outcomes[True]) > STORM // 20
        until = time.monotonic() + 30  # cancelled questions end in their threads
        while in_use(auth) and time.monotonic() < until:
            await asyncio.sleep(0.05)
        assert in_use(auth) == 0

    on_loop(server, made, work)


async def cancelled_after(work: Coroutine[Any, Any, bool], seconds: float) -> bool:
    task = asyncio.create_task(work)
    asyncio.get_running_loop().call_later(seconds, task.cancel)
    return await task


def in_use(auth: AsyncAuthorizer) -> int:
    """The connections that a question still uses."""
    connections = auth._store._connections._current().reading._driver._pool.connections
    return sum(each.in_use for opened in connections.values() for each in opened)


def test_cancelled_list_can_be_read_again(server: Connection, made: Authorizer) -> None:
    async def work(auth: AsyncAuthorizer) -> None:
        for at in range(30):
            try:
                async with asyncio.timeout(at / 1_000):
                    await auth.which("catalog", "user:u1", "USE_CATALOG")
            except TimeoutError:
                pass
        listing = auth.which("catalog", "user:u1", "USE_CATALOG")
        first, again = [ref async for ref in listing], [ref async for ref in await listing]
        assert first == again == sorted(f"catalog:c{at}" for at in range(CATALOGS) if at % USERS == 1)
        assert listing.revision == await auth.revision_now()

    on_loop(server, made, work)


def test_cancelled_changes_leave_no_lock_and_can_be_repeated(server: Connection, tenant: Tenants) -> None:
    made, dice = tenant(given=["add user:ann"]), random.Random("changes")

    async def work(auth: AsyncAuthorizer) -> None:
        async def one(number: int) -> None:
            try:
                async with asyncio.timeout(dice.random() * 0.3):
                    await auth.change(f"add user:u{number}", id=f"id{number}")
            except TimeoutError:
                pass

        await asyncio.gather(*(one(number) for number in range(20)))
        repeated = [await auth.change(f"add user:u{number}", id=f"id{number}") for number in range(20)]
        assert {each.revision for each in repeated} == set(range(2, 22))  # each was made once
        assert (await auth.list("user", like="u")).answer == tuple(sorted(f"user:u{number}" for number in range(20)))

    on_loop(server, made, work)


def test_questions_see_the_changes_that_they_require(server: Connection, tenant: Tenants) -> None:
    """Writers and readers on one loop: each check requires the revision of its own change."""
    made = tenant(given=["add catalog:c", "add role:r", "allow USE_CATALOG on catalog:c to role:r"])

    async def work(auth: AsyncAuthorizer) -> None:
        async def join(number: int) -> tuple[bool, bool]:
            user = f"user:u{number}"
            before = await auth.check(user, "USE_CATALOG", "catalog:c")
            done = await auth.change_all([f"add {user}", f"member {user} of role:r"])
            after = await auth.check(user, "USE_CATALOG", "catalog:c", at_least=done[-1].revision)
            return before.allowed, after.allowed

        assert await asyncio.gather(*(join(number) for number in range(15))) == [(False, True)] * 15
        assert len([user async for user in auth.who("USE_CATALOG", "catalog:c")]) == 15

    on_loop(server, made, work)
