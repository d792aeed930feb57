"""Checks during writes whose every committed state gives no: an unguarded query gives wrong answers, a check never."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import cycle
from threading import Event
from typing import Any

import pytest

from grantpath import cypher
from grantpath.engine import Authorizer

from ..conftest import Tenants
from ..support.sizes import size
from ..support.tiers import others_slow

pytestmark = pytest.mark.trust

# Wrong answers that the control must give, and that the product would owe at its rate, to prove anything.
WRONG_ENOUGH = size(full=30, short=3)
SECONDS_AT_MOST = size(full=3_600, short=900)

BOB, STAFF = "user:bob", "table:hr.public.staff"
FACTS = [
    "add catalog:hr",
    "add schema:hr.public",
    f"add {STAFF}",
    *(f"add role:{name}" for name in ("analyst", "auditor")),
    *(f"member {BOB} of role:{name}" for name in ("analyst", "auditor")),
]
# other grants on the path to the root, so that reading it takes as long as in a real estate
BYSTANDERS = [
    *(f"add role:other{n}" for n in range(60)),
    *(
        f"allow {privilege} on {place} to role:other{n}"
        for n in range(60)
        for place in ("schema:hr.public", "catalog:hr")
        for privilege in ("CREATE_TOPIC", "CONSUME_TOPIC", "CREATE_FILESET", "READ_FILESET", "CREATE_TABLE")
    ),
    *(f"add role:held{n}" for n in range(80)),
    *(f"member {BOB} of role:held{n}" for n in range(80)),
]


@dataclass(frozen=True)
class Race:
    """A question, constant facts, and two alternating changes, each of which leaves the answer no."""

    asked: str
    standing: tuple[str, ...]
    there: tuple[str, ...]
    back: tuple[str, ...]


RACES = {
    "the DENY moves": Race(
        "SELECT_TABLE",
        (
            f"allow SELECT_TABLE on {STAFF} to role:analyst",
            f"deny SELECT_TABLE on {STAFF} to role:analyst",
        ),
        (
            "deny SELECT_TABLE on metalake:ml to role:auditor",
            f"revoke deny SELECT_TABLE on {STAFF} from role:analyst",
        ),
        (
            f"deny SELECT_TABLE on {STAFF} to role:analyst",
            "revoke deny SELECT_TABLE on metalake:ml from role:auditor",
        ),
    ),
    "the ALLOW moves": Race(
        "load_table",
        (
            "allow USE_CATALOG on metalake:ml to role:auditor",
            "allow USE_SCHEMA on catalog:hr to role:auditor",
        ),
        (
            f"allow SELECT_TABLE on {STAFF} to role:analyst",
            "revoke allow USE_SCHEMA on catalog:hr from role:auditor",
        ),
        (
            "allow USE_SCHEMA on catalog:hr to role:auditor",
            f"revoke allow SELECT_TABLE on {STAFF} from role:analyst",
        ),
    ),
    "the ALLOW and its DENY come and go": Race(
        "SELECT_TABLE",
        (),
        (
            "deny SELECT_TABLE on metalake:ml to role:auditor",
            f"allow SELECT_TABLE on {STAFF} to role:analyst",
        ),
        (
            f"revoke allow SELECT_TABLE on {STAFF} from role:analyst",
            "revoke deny SELECT_TABLE on metalake:ml from role:auditor",
        ),
    ),
}


class Listening(Authorizer):
    """Records the parameters of the last question."""

    heard: dict[str, Any]

    def ask(self, query: str, **parameters: Any) -> Any:
        self.heard = {"root": self.tenant, "now": None, **parameters}
        return super().ask(query, **parameters)


@dataclass
class Count:
    """The counts of one reader."""

    answers: int = 0
    wrong: int = 0

    def due(self, control: "Count") -> float:
        """The wrong answers that it would have given at the control's rate."""
        return self.answers * control.wrong / max(control.answers, 1)


def unguarded(auth: Authorizer, asked: str) -> Callable[[], bool]:
    """The control: check.cypher with the same parameters, without a comparison of the marks."""
    listening = Listening(auth.store, auth.tenant, auth.policy, auth.root)
    listening.check(BOB, asked, STAFF)
    text, parameters = cypher.load("check").text, listening.heard

    def ask() -> bool:
        [row] = auth.store.read(text, parameters)
        return any(acting["allowed"] for acting in row["answers"][0]["acting"])

    return ask


def read(ask: Callable[[], bool], stop: Event, count: Count) -> None:
    while not stop.is_set():
        count.wrong += ask()
        count.answers += 1


def write(auth: Authorizer, changes: Iterator[tuple[str, ...]], stop: Event, count: Count) -> None:
    while not stop.is_set():
        assert all(change.id for change in auth.change_all(next(changes))), "each change changes something"
        count.answers += 1


@pytest.mark.parametrize("race", others_slow([*RACES.values()]), ids=[name.replace(" ", "-") for name in RACES])
def test_no_check_reads_half_a_change(
    race: Race, tenant: Tenants, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    auth = tenant("gravitino", [*FACTS, *BYSTANDERS, *race.standing])
    control = unguarded(auth, race.asked)

    def product() -> bool:
        return auth.check(BOB, race.asked, STAFF).allowed

    for changes in (race.there, race.back):  # without a writer, both deny each committed state
        auth.change_all(changes)
        assert not control()
        assert not product()

    plain, guarded, written = Count(), Count(), Count()
    stop, start = Event(), time.monotonic()
    with ThreadPoolExecutor(3) as pool:
        runs = [
            pool.submit(write, auth, cycle((race.there, race.back)), stop, written),
            pool.submit(read, control, stop, plain),
            pool.submit(read, product, stop, guarded),
        ]
        try:
            while not any(run.done() for run in runs):
                seconds = time.monotonic() - start
                if min(plain.wrong, guarded.due(plain)) >= WRONG_ENOUGH or seconds > SECONDS_AT_MOST:
                    break
                time.sleep(0.05)
        finally:
            stop.set()
        for run in runs:
            run.result()
    with capsys.disabled():
        print(
            f"\n{request.node.name}: {seconds:.0f} s, {written.answers:,} changes; unguarded {plain.wrong} wrong of"
            f" {plain.answers:,}, guarded {guarded.wrong} of {guarded.answers:,}, {guarded.due(plain):.1f} due"
        )
    assert guarded.wrong == 0
    assert plain.wrong >= WRONG_ENOUGH, f"no race in {seconds:.0f} s: the control was wrong {plain.wrong} times only"
    assert guarded.due(plain) >= WRONG_ENOUGH, f"the product answered {guarded.answers} times only in {seconds:.0f} s"
