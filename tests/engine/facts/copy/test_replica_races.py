"""Copies of the facts beside a writer in another process: no answer is stale or torn, and those of a control without
proofs often are."""

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

from grantpath.engine import Authorizer
from grantpath.engine.facts.copy.replica import Meanwhile, Replica
from grantpath.engine.facts.set.fact_version import FactVersion
from grantpath.engine.policy.policy import Policy

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
FORK = multiprocessing.get_context("fork")


@dataclass
class Acknowledged:
    """The revision of the last change that its writer knows to be done, and the number of changes; of all processes."""

    _revision: Any = field(default_factory=lambda: FORK.Value("q", 0))
    _changes: Any = field(default_factory=lambda: FORK.Value("q", 0))
    stop: Any = field(default_factory=FORK.Event)

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
        self, policy: Policy, at_least: int | None = None, meanwhile: Meanwhile | None = None
    ) -> FactVersion | None:
        if self._version is None or time.monotonic() > self.proved + UNPROVED_SECONDS:
            self.proved = time.monotonic()
            return super().current(policy, at_least, meanwhile)
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
