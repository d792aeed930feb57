"""Copies of the facts beside a writer in another process: no answer is stale or torn, and those of a control without
proofs often are."""

import asyncio
import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count, cycle
from typing import Any

import pytest

from grantpath.engine import AsyncAuthorizer, Authorizer
from grantpath.engine.facts.copy.replica import Meanwhile, Replica
from grantpath.engine.facts.copy.shared_read import SharedRead
from grantpath.engine.facts.set.fact_version import FactVersion
from grantpath.engine.policy.policy import Policy
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.async_store import AsyncStore

from ....conftest import Tenants
from ....support.sizes import say, size
from ....support.with_replica import replica_of, with_replica
from ....trust.test_races import BOB, BYSTANDERS, FACTS, RACES, STAFF, Race

pytestmark = pytest.mark.trust

ANSWERS = size(full=1_000_000, short=3_000) // len(RACES) + 1
STALE_ENOUGH = size(full=100, short=10)
CHANGES = size(full=1_000, short=40)
READERS = 3
BATCH = size(full=100, short=10)  # checks in a batch
LIST_EVERY = 5  # rounds of a reader, each of a check and a batch
SECONDS_AT_MOST = size(full=1_200, short=600)
UNPROVED_SECONDS = 0.3  # the control answers without a proof for so long after a proved answer
SHARED_ANSWERS = size(full=1_000_000, short=3_000)
SHARING = 8  # threads that share the reads of a copy
SLOW_SECONDS = 0.03  # a proof of the control is on its way for longer than a change takes
FORK = multiprocessing.get_context("fork")


@dataclass
class Acknowledged:
    """The revision of the last change that its writer knows to be done, and the number of changes; of all processes."""

    _revision: Any = field(default_factory=lambda: FORK.Value("q", 0))
    _changes: Any = field(default_factory=lambda: FORK.Value("q", 0))
    stop: Any = field(default_factory=FORK.Event)
    pause: float = 0.0  # seconds between two changes

    @property
    def revision(self) -> int:
        return int(self._revision.value)

    @property
    def changes(self) -> int:
        return int(self._changes.value)

    def write(self, auth: Authorizer, race: Race) -> None:
        for statements in cycle((race.there, race.back)):
            if self.stop.is_set():
                return
            self._revision.value = auth.change_all(statements)[-1].revision
            self._changes.value += len(statements)
            time.sleep(self.pause)

    @contextmanager
    def writing(self, auth: Authorizer, race: Race) -> Iterator[None]:
        """A process that writes until the block ends."""
        process = FORK.Process(target=self.write, args=(auth, race), daemon=True)
        process.start()
        try:
            yield
        finally:
            self.stop.set()
            process.join(60)
            process.kill()
        assert process.exitcode == 0, "the writer failed; its error is printed above"


@dataclass
class Answers:
    """The answers of one reader."""

    asked: int = 0
    allowed: int = 0
    stale: int = 0

    def ask(self, auth: Authorizer, race: Race, writer: Acknowledged, number: int) -> None:
        """A round of questions. The right answer to each is no, or an empty list."""
        self.check(auth, race, writer)
        known = writer.revision
        for decision in auth.check_many([(BOB, race.asked, STAFF)] * BATCH):
            self._add(decision.revision, decision.allowed, known)
        if number % LIST_EVERY == 0:
            for ask in (partial(auth.who, race.asked, STAFF), partial(auth.which, "table", BOB, race.asked)):
                known = writer.revision
                listed = ask()
                self._add(listed.revision, any(listed), known)

    def check(self, auth: Authorizer, race: Race, writer: Acknowledged) -> None:
        known = writer.revision
        decision = auth.check(BOB, race.asked, STAFF)
        self._add(decision.revision, decision.allowed, known)

    def _add(self, revision: int, allowed: bool, known: int) -> None:
        self.asked += 1
        self.allowed += allowed
        self.stale += revision < known


class Unproved(Replica):
    """The control: it proves only some of its answers."""

    proved = 0.0

    def current(
        self, policy: Policy, at_least: int | None = None, meanwhile: Meanwhile | None = None, whole: bool = True
    ) -> FactVersion | None:
        if self._version is None or time.monotonic() > self.proved + UNPROVED_SECONDS:
            self.proved = time.monotonic()
            return super().current(policy, at_least, meanwhile, whole)
        time.sleep(0.001)  # as long as the shortest proof takes, so that others run
        return self._version


def asking(auth: Authorizer, race: Race, writer: Acknowledged, ended: Callable[[Answers], bool]) -> Answers:
    found = Answers()
    for number in count():
        if ended(found):
            break
        found.ask(auth, race, writer, number)
    return found


def skipping(control: Authorizer, race: Race, writer: Acknowledged, ended: Callable[[], bool]) -> Answers:
    found = Answers()
    while not ended():
        found.check(control, race, writer)
    return found


@pytest.mark.parametrize("race", RACES.values(), ids=[name.replace(" ", "-") for name in RACES])
def test_no_answer_from_a_copy_is_stale_or_torn(
    race: Race, tenant: Tenants, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    plain = tenant("gravitino", [*FACTS, *BYSTANDERS, *race.standing])
    auth, control = with_replica(plain), with_replica(plain)
    control.replica = Unproved(plain.store, plain.tenant, plain.root)
    assert control.replica.read(plain.policy)
    writer, start = Acknowledged(), time.monotonic()

    def ended(found: Answers) -> bool:
        enough = found.asked >= ANSWERS / READERS and writer.changes >= CHANGES
        return enough or time.monotonic() - start > SECONDS_AT_MOST

    with writer.writing(plain, race), ThreadPoolExecutor(READERS + 1) as pool:
        readers = [pool.submit(asking, auth, race, writer, ended) for _ in range(READERS)]
        unproved = pool.submit(
            skipping, control, race, writer, lambda: all(reader.done() for reader in readers)
        ).result()
        found = [reader.result() for reader in readers]
    copy, asked = replica_of(auth), sum(each.asked for each in found)
    say(
        capsys,
        f"{request.node.name}: {writer.changes:,} changes by another process in {time.monotonic() - start:.0f} s; "
        f"{asked:,} answers to {copy.answered + copy.left:,} questions, {copy.answered:,} of them from memory; "
        f"{sum(each.stale for each in found)} stale, {sum(each.allowed for each in found)} torn; the control: "
        f"{unproved.stale:,} stale of {unproved.asked:,}",
    )
    assert not any(each.stale or each.allowed for each in found)
    assert asked >= ANSWERS
    assert unproved.stale >= STALE_ENOUGH
    assert copy.answered > (copy.answered + copy.left) / 10


class Late(SharedRead[FactVersion | None]):
    """The control: a question also shares the read that is in progress."""

    def _join(self) -> Any:
        running = self._running
        return super()._join() if running is None else (running, False)


class Proofs:
    """Counts the proofs that a copy reads, and delays them."""

    def __init__(self, copy: Replica, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reads = 0
        self._seconds = seconds
        self._proof = copy._log.proof
        monkeypatch.setattr(copy._log, "proof", self._read)

    def _read(self, *given: Any) -> Any:
        self.reads += 1
        found = self._proof(*given)
        time.sleep(self._seconds)
        return found


def test_no_shared_proof_is_older_than_its_questions(
    tenant: Tenants, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    race = next(iter(RACES.values()))
    plain = tenant("gravitino", [*FACTS, *BYSTANDERS, *race.standing])
    auth, control = with_replica(plain), with_replica(plain)
    proofs = Proofs(replica_of(auth), 0.0, monkeypatch)
    late_proofs = Proofs(replica_of(control), SLOW_SECONDS, monkeypatch)
    replica_of(control)._shared = Late(control.store.timeout)
    found, late = ([Answers() for _ in range(SHARING)] for _ in range(2))
    writer, start = Acknowledged(pause=SLOW_SECONDS), time.monotonic()

    def ask(asked: Authorizer, own: Answers, ended: Callable[[], bool], pause: float = 0.0) -> None:
        while not ended() and time.monotonic() - start < SECONDS_AT_MOST:
            own.check(asked, race, writer)
            time.sleep(pause)

    def enough() -> bool:
        return sum(each.asked for each in found) >= SHARED_ANSWERS

    def stale_enough() -> bool:
        return sum(each.stale for each in late) >= STALE_ENOUGH

    with writer.writing(plain, race), ThreadPoolExecutor(2 * SHARING) as pool:
        asking = [pool.submit(ask, auth, each, enough) for each in found]
        # Without different pauses, all threads of the control would ask as soon as the proof that they share has
        # come, which is before the next one is sent; so hardly a question would come while a proof is on its way.
        asking += [
            pool.submit(ask, control, each, stale_enough, SLOW_SECONDS * number / SHARING)
            for number, each in enumerate(late)
        ]
        for reader in asking:
            reader.result()
    asked, stale = sum(each.asked for each in found), sum(each.stale for each in late)
    say(
        capsys,
        f"shared proofs: {asked:,} answers by {proofs.reads:,} reads, {sum(each.stale for each in found)} stale, "
        f"{sum(each.allowed for each in found)} torn; the control: {stale:,} stale of "
        f"{sum(each.asked for each in late):,} by {late_proofs.reads:,} reads",
    )
    assert not any(each.stale or each.allowed for each in found)
    assert enough()
    assert proofs.reads < asked / 2, "the reads were hardly shared"
    assert stale_enough()


class Former(Replica):
    """The control: a group of checks is answered at the proof of the group before it."""

    former: FactVersion | None = None

    def at_one_proof(self, policy: Policy, work: Callable[[], Any]) -> Any:
        former, self.former = self.former, self._proved(policy, None)
        if former is None or self.former is None:
            return super().at_one_proof(policy, work)
        self._pinned.version = former
        try:
            return work()
        finally:
            self._pinned.version = None


def test_no_group_of_checks_is_answered_at_an_older_proof(
    tenant: Tenants, server: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    race = next(iter(RACES.values()))
    plain = tenant("gravitino", [*FACTS, *BYSTANDERS, *race.standing])
    found, late, start = Answers(), Answers(), time.monotonic()
    writer = Acknowledged()

    def ended() -> bool:
        enough = found.asked >= SHARED_ANSWERS and late.stale >= STALE_ENOUGH
        return enough or time.monotonic() - start > SECONDS_AT_MOST

    async def ask(auth: AsyncAuthorizer, own: Answers) -> None:
        while not ended():
            known = writer.revision
            decision = await auth.check(BOB, race.asked, STAFF)
            own._add(decision.revision, decision.allowed, known)

    async def run() -> None:
        store = AsyncStore(server, timeout=60)
        inner, control = (Authorizer(store, plain.tenant, plain.policy, plain.root) for _ in range(2))
        for kind, each in ((Replica, inner), (Former, control)):
            each.replica = await asyncio.to_thread(kind.of, store, plain.tenant, plain.root, plain.policy)
        async with AsyncAuthorizer(inner, store) as auth:
            other = AsyncAuthorizer(control, store)
            await asyncio.gather(*(ask(*each) for each in [(auth, found), (other, late)] for _ in range(SHARING)))

    with writer.writing(plain, race):
        asyncio.run(run())
    say(
        capsys,
        f"groups of checks: {found.asked:,} answers, {found.stale} stale, {found.allowed} torn; "
        f"the control: {late.stale:,} stale of {late.asked:,}",
    )
    assert not found.stale and not found.allowed
    assert found.asked >= SHARED_ANSWERS
    assert late.stale >= STALE_ENOUGH
