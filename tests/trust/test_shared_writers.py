"""Many writers do not deadlock, and threads that share one Authorizer get their own answers."""

import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from grantpath.engine import Authorizer, Inconsistent, Refused, Unknown

from ..conftest import Tenants
from ..support.sizes import say, size
from .test_concurrency import edges

pytestmark = pytest.mark.trust

OPPOSITE_WRITERS, OPPOSITE_BATCHES, OPPOSITE_SIZE = 8, size(full=100, short=4), 20
SHARING, SHARED_ROUNDS = 16, size(full=100, short=2)


# ---- many writers ----------------------------------------------------------------------------------------------------
def test_writers_in_opposite_order_do_not_deadlock(tenant: Tenants, capsys: pytest.CaptureFixture[str]) -> None:
    """Batches change the same catalogs, half of the writers in ascending and half in descending order."""
    catalogs = [f"catalog:c{number}" for number in range(OPPOSITE_SIZE)]
    writers = range(OPPOSITE_WRITERS)
    auth = tenant(given=[*(f"add {name}" for name in catalogs), *(f"add role:w{writer}" for writer in writers)])
    before = auth.revision_now()

    def write(writer: int) -> int:
        order, made = catalogs if writer % 2 else catalogs[::-1], 0
        for number in range(OPPOSITE_BATCHES):
            grant = f"revoke allow USE_CATALOG on {{}} from role:w{writer}"
            if number % 2 == 0:
                grant = f"allow USE_CATALOG on {{}} to role:w{writer}"
            made += sum(change.id is not None for change in auth.change_all([grant.format(name) for name in order]))
        return made

    start = time.monotonic()
    with ThreadPoolExecutor(OPPOSITE_WRITERS) as pool:
        made = sum(pool.map(write, writers))
    say(
        capsys,
        f"{OPPOSITE_WRITERS} writers in opposite order: {OPPOSITE_WRITERS * OPPOSITE_BATCHES} batches,"
        f" {made:,} changes in {time.monotonic() - start:.1f} s, 0 errors",
    )
    assert made == OPPOSITE_WRITERS * OPPOSITE_BATCHES * OPPOSITE_SIZE == auth.revision_now() - before
    assert edges(auth) == set()


# ---- one Authorizer, many threads ------------------------------------------------------------------------------------
class Owner:
    """A thread that owns a schema of the shared tenant, and knows the right answers about it."""

    def __init__(self, auth: Authorizer, number: int) -> None:
        self.auth, self.number, self.asked = auth, number, Counter[str]()
        self.rng = random.Random(f"shared {number}")
        self.me, self.reader, self.role = f"user:owner{number}", f"user:reader{number}", f"role:r{number}"
        self.tables = [f"table:hr.s{number}.t{table}" for table in range(3)]
        self.granted: set[str] = set()
        self.holds = False

    @property
    def facts(self) -> list[str]:
        schema = f"schema:hr.s{self.number}"
        return [
            f"add {schema}",
            *(f"add {table}" for table in self.tables),
            *(f"add {name}" for name in (self.me, self.reader, self.role)),
            f"member {self.reader} of role:everybody",
            f"member {self.me} of role:everybody",
            f"owner {self.me} of {schema}",
            f"owner {self.me} of {self.role}",
            *(f"owner {self.me} of {table}" for table in self.tables),
        ]

    def change(self) -> None:
        """One random change of its own, as its owner."""
        table = self.rng.choice(self.tables)
        if self.rng.random() < 0.4:
            self.holds = not self.holds
            word = f"member {self.reader} of" if self.holds else f"remove {self.reader} from"
            self.auth.change(f"{word} {self.role}")
        elif table in self.granted:
            self.granted.discard(table)
            self.auth.change(f"revoke allow SELECT_TABLE on {table} from {self.role}", by=self.me)
        else:
            self.granted.add(table)
            self.auth.change(f"allow SELECT_TABLE on {table} to {self.role}", by=self.me)
        self.asked["changes"] += 1

    def ask(self) -> None:
        """Asks every question whose answer it knows."""
        seen = self.granted if self.holds else set()
        for table in self.tables:
            assert self.auth.check(self.reader, "load_table", table).allowed is (table in seen)
            assert list(self.auth.who("load_table", table)) == [self.me, *([self.reader] if table in seen else [])]
        checks = [(self.reader, "load_table", table) for table in self.tables]
        assert [each.allowed for each in self.auth.check_many(checks)] == [table in seen for table in self.tables]
        assert list(self.auth.which("table", self.reader, "load_table")) == sorted(seen)
        try:
            assert self.auth.explain(self.reader, "load_table", self.tables[0]).decision.allowed is (
                self.tables[0] in seen
            )
            self.asked["explained"] += 1
        except Inconsistent:  # during continuous writes, two questions are never answered at the same revision
            self.asked["not explained"] += 1
        with pytest.raises(Unknown):
            self.auth.check(self.reader, "load_table", f"table:hr.s{self.number}.none")
        with pytest.raises(Refused):
            self.auth.change(f"owner {self.reader} of {self.tables[1]}", by=self.reader)
        self.asked["checks"] += 7
        self.asked["lists"] += 4
        self.asked["refused"] += 2


def test_threads_that_share_an_authorizer_get_their_own_answers(
    tenant: Tenants, capsys: pytest.CaptureFixture[str]
) -> None:
    uses = [f"allow {use} on catalog:hr to role:everybody" for use in ("USE_CATALOG", "USE_SCHEMA")]
    auth = tenant(given=["add catalog:hr", "add role:everybody", *uses])
    owners = [Owner(auth, number) for number in range(SHARING)]
    assert not any(auth.given([fact for owner in owners for fact in owner.facts]))

    def run(owner: Owner) -> None:
        for _ in range(SHARED_ROUNDS):
            owner.change()
            owner.ask()

    with ThreadPoolExecutor(SHARING) as pool:
        list(pool.map(run, owners))
    asked = sum((owner.asked for owner in owners), Counter[str]())
    say(capsys, f"{SHARING} threads, one Authorizer: {dict(asked)}, all as they must be")
    assert asked["changes"] == SHARING * SHARED_ROUNDS
