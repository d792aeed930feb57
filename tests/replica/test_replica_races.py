"""Copies of the facts beside writers: no answer is stale or torn, and those of a control without proofs often are."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import cycle
from threading import Event

import pytest

from grantpath.engine import Authorizer
from grantpath.engine.facts.fact_version import FactVersion
from grantpath.engine.facts.replica import Replica
from grantpath.engine.policy.policy import Policy

from ..conftest import Tenants
from ..support.sizes import say, size
from ..support.with_replica import replica_of, with_replica
from ..trust.test_races import BOB, BYSTANDERS, FACTS, RACES, STAFF, Race

pytestmark = pytest.mark.trust

ANSWERS = size(full=1_000_000, short=1_500) // len(RACES)
STALE_ENOUGH = size(full=100, short=10)
CHANGES = size(full=1_000, short=40)
READERS = 3
SECONDS_AT_MOST = size(full=3_600, short=600)
UNPROVED_SECONDS = 0.3  # the control answers without a proof for so long after a proved answer


@dataclass
class Acknowledged:
    """The revision of the last change that its writer knows to be done, and the number of changes."""

    revision: int = 0
    changes: int = 0
    stop: Event = field(default_factory=Event)

    def write(self, auth: Authorizer, race: Race) -> None:
        for statements in cycle((race.there, race.back)):
            if self.stop.is_set():
                return
            self.revision = auth.change_all(statements)[-1].revision
            self.changes += len(statements)


@dataclass
class Answers:
    """The answers of one reader."""

    asked: int = 0
    allowed: int = 0
    stale: int = 0

    def ask(self, auth: Authorizer, race: Race, writer: Acknowledged) -> None:
        known = writer.revision
        decision = auth.check(BOB, race.asked, STAFF)
        self.asked += 1
        self.allowed += decision.allowed
        self.stale += decision.revision < known


class Unproved(Replica):
    """The control: it proves only some of its answers."""

    proved = 0.0

    def current(self, policy: Policy, at_least: int | None = None) -> FactVersion | None:
        if self._version is None or time.monotonic() > self.proved + UNPROVED_SECONDS:
            self.proved = time.monotonic()
            return super().current(policy, at_least)
        time.sleep(0.001)  # as long as the shortest proof takes, so that others run
        return self._version


def asking(auth: Authorizer, race: Race, writer: Acknowledged, ended: Callable[[Answers], bool]) -> Answers:
    found = Answers()
    while not ended(found):
        found.ask(auth, race, writer)
    return found


@pytest.mark.parametrize("race", RACES.values(), ids=[name.replace(" ", "-") for name in RACES])
def test_no_answer_from_a_copy_is_stale_or_torn(
    race: Race, tenant: Tenants, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    plain = tenant("gravitino", [*FACTS, *BYSTANDERS, *race.standing])
    auth, control = with_replica(plain), with_replica(plain)
    control.replica = Unproved(plain.store, plain.tenant)
    assert control.replica.read(plain.policy)
    writer, start = Acknowledged(), time.monotonic()

    def ended(found: Answers) -> bool:
        enough = found.asked >= ANSWERS // READERS and writer.changes >= CHANGES
        return enough or time.monotonic() - start > SECONDS_AT_MOST

    with ThreadPoolExecutor(READERS + 2) as pool:
        writing = pool.submit(writer.write, plain, race)
        try:
            readers = [pool.submit(asking, auth, race, writer, ended) for _ in range(READERS)]
            skipping = pool.submit(asking, control, race, writer, lambda _: all(reader.done() for reader in readers))
            found = [reader.result() for reader in readers]
            unproved = skipping.result()
        finally:
            writer.stop.set()
        writing.result()
    copy, asked = replica_of(auth), sum(each.asked for each in found)
    say(
        capsys,
        f"{request.node.name}: {writer.changes:,} changes; {asked:,} answers, {copy.answered:,} of them from memory, "
        f"{sum(each.stale for each in found)} stale, {sum(each.allowed for each in found)} torn; the control: "
        f"{unproved.stale:,} stale of {unproved.asked:,}",
    )
    assert not any(each.stale or each.allowed for each in found)
    assert unproved.stale >= STALE_ENOUGH
    assert copy.answered > asked / 10
