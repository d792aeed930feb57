"""Concurrent changes: two changes that are only valid alone never both succeed, in either order."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier

import pytest

from grantpath import cypher
from grantpath.engine import Authorizer, Change, Conflict, GrantpathError, Invalid, Refused, Unknown
from grantpath.graph.embedded.connect import connection
from grantpath.graph.guard.revision_marks import Begun
from grantpath.graph.guard.store import Store

from ..conftest import Tenants
from ..support.other_texts import other_texts
from ..support.sizes import say, size

pytestmark = pytest.mark.trust

TRIES = size(full=5_000, short=60)
PART = 100  # tries in one tenant
CONTROL_SECONDS = 300.0
Said = tuple[str, str | None]  # a statement and its actor
Edge = tuple[str, str, str]


@dataclass(frozen=True)
class Try:
    """Two concurrent changes: the outcome of each, and whether they overlapped."""

    number: int
    first: object
    second: object
    overlapped: bool

    @property
    def done(self) -> list[int]:
        """The changes that were made."""
        return [at for at, what in enumerate((self.first, self.second)) if isinstance(what, Change)]

    @property
    def errors(self) -> list[type]:
        return [type(what) for what in (self.first, self.second) if not isinstance(what, Change)]


def at_once(auth: Authorizer, numbers: Sequence[int], pair: Callable[[int], tuple[Said, Said]]) -> list[Try]:
    """Runs both changes of each pair at the same moment, through two stores that share only the database."""
    barrier = Barrier(2)
    other = Authorizer(Store(connection(), timeout=60), auth.tenant, auth.policy, auth.root)

    def side(which: int) -> list[tuple[object, float, float]]:
        mine = (auth, other)[which]
        outcomes: list[tuple[object, float, float]] = []
        for number in numbers:
            statement, by = pair(number)[which]
            barrier.wait(60)
            began = time.monotonic()
            try:
                what: object = mine.change(statement, by=by)
            except GrantpathError as error:
                what = error
            outcomes.append((what, began, time.monotonic()))
        return outcomes

    with ThreadPoolExecutor(2) as pool:
        sides = [pool.submit(side, which) for which in (0, 1)]
        first, second = (run.result() for run in sides)
    other.close()
    return [
        Try(number, a[0], b[0], a[1] < b[2] and b[1] < a[2])
        for number, a, b in zip(numbers, first, second, strict=True)
    ]


def edges(auth: Authorizer) -> set[Edge]:
    return {(each["source"], each["kind"], each["target"]) for each in auth.ask("tenant_state")["edges"]}


def there(auth: Authorizer) -> Counter[str]:
    return Counter(each["ref"] for each in auth.ask("tenant_state")["entities"])


def parts() -> Iterator[range]:
    for at in range(0, TRIES, PART):
        yield range(at, min(at + PART, TRIES))


def summarize(capsys: pytest.CaptureFixture[str], what: str, tries: Sequence[Try]) -> None:
    """Prints the tries; fails if too few of them overlapped, or if the same change always came first."""
    who = Counter(tuple(each.done) for each in tries)
    errors = Counter(kind.__name__ for each in tries for kind in each.errors)
    overlapped = sum(each.overlapped for each in tries)
    say(
        capsys,
        f"{what}: {len(tries):,} tries, {overlapped:,} overlapped; done the first {who[0,]:,}, the second"
        f" {who[1,]:,}, both {who[0, 1]:,}, none {who[()]:,}; refused as {dict(errors)}; no rule broken",
    )
    assert len(tries) == TRIES and overlapped >= TRIES / 2


# ---- pairs that must not both succeed -------------------------------------------------------------------------
def pair_of_groups(number: int) -> tuple[Said, Said]:
    a, b = f"group:a{number}", f"group:b{number}"
    return (f"member {a} of {b}", None), (f"member {b} of {a}", None)


def test_concurrent_memberships_do_not_close_a_cycle(tenant: Tenants, capsys: pytest.CaptureFixture[str]) -> None:
    tries = []
    for part in parts():
        auth = tenant("lakehouse", [f"add group:{side}{number}" for number in part for side in "ab"])
        done = at_once(auth, part, pair_of_groups)
        links = edges(auth)
        for each in done:
            a, b = f"group:a{each.number}", f"group:b{each.number}"
            made = [(a, "MEMBER_OF", b) in links, (b, "MEMBER_OF", a) in links]
            assert (len(each.done), each.errors) == (1, [Invalid]), each
            assert [at for at in (0, 1) if made[at]] == each.done, each
        tries += done
    summarize(capsys, "a cycle", tries)


def test_concurrent_transfers_leave_one_owner(tenant: Tenants, capsys: pytest.CaptureFixture[str]) -> None:
    """The owner transfers the same catalog to two users: after the first transfer it has another owner."""

    def hand_on(number: int) -> tuple[Said, Said]:
        owner = f"user:owner{number}"
        return (f"owner user:x of catalog:c{number}", owner), (f"owner user:y of catalog:c{number}", owner)

    tries = []
    for part in parts():
        auth = tenant(given=["add user:x", "add user:y", *(line for number in part for line in owned(number))])
        done = at_once(auth, part, hand_on)
        links = edges(auth)
        for each in done:
            owners = [source for source, kind, target in links if (kind, target) == ("OWNS", f"catalog:c{each.number}")]
            assert (len(each.done), each.errors) == (1, [Refused]), each
            assert owners == [["user:x", "user:y"][each.done[0]]], each
        tries += done
    summarize(capsys, "two owners", tries)


def owned(number: int) -> list[str]:
    return [f"add catalog:c{number}", f"add user:owner{number}", f"owner user:owner{number} of catalog:c{number}"]


def test_concurrent_creators_get_one_owner(tenant: Tenants, capsys: pytest.CaptureFixture[str]) -> None:
    """Only one of them creates it, and only that user becomes the owner."""
    rights = [f"allow CREATE_CATALOG on metalake:ml to role:{user}" for user in "xy"]
    roles = [
        line for user in "xy" for line in (f"add user:{user}", f"add role:{user}", f"member user:{user} of role:{user}")
    ]
    tries = []
    for part in parts():
        auth = tenant(given=[*roles, *rights])
        done = at_once(
            auth, part, lambda number: ((f"add catalog:n{number}", "user:x"), (f"add catalog:n{number}", "user:y"))
        )
        links, nodes = edges(auth), there(auth)
        for each in done:
            name = f"catalog:n{each.number}"
            rewarded = [source for source, _, target in links if target == name]
            assert (len(each.done), each.errors) == (1, [Conflict]), each
            assert nodes[name] == 1 and rewarded == [["user:x", "user:y"][each.done[0]]], each
        tries += done
    summarize(capsys, "two creators", tries)


def test_grant_concurrent_with_a_drop_leaves_nothing(tenant: Tenants, capsys: pytest.CaptureFixture[str]) -> None:
    """The object or, in every other try, the role is dropped while a grant is made: no part of the grant remains."""

    def drop_and_grant(number: int) -> tuple[Said, Said]:
        dropped = f"catalog:d{number}" if number % 2 else f"role:d{number}"
        return (f"drop {dropped}", None), (f"allow USE_CATALOG on catalog:d{number} to role:d{number}", None)

    tries = []
    for part in parts():
        auth = tenant(given=[line for number in part for line in (f"add catalog:d{number}", f"add role:d{number}")])
        done = at_once(auth, part, drop_and_grant)
        links, nodes = edges(auth), there(auth)
        for each in done:
            dropped, kept = f"catalog:d{each.number}", f"role:d{each.number}"
            if each.number % 2 == 0:
                dropped, kept = kept, dropped
            assert 0 in each.done and each.errors in ([], [Unknown]), each
            assert (nodes[dropped], nodes[kept]) == (0, 1), each
            assert not [link for link in links if {dropped, kept} & {link[0], link[2]} and link[1] == "ALLOW"], each
        tries += done
    summarize(capsys, "a drop and a grant", tries)


def test_control_without_the_lock_makes_cycles(
    tenant: Tenants, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The control: the same tries without the lock produce the errors that the tests above look for."""
    takes, _, reads = cypher.load("lock_and_read").text.partition("WITH writer\n")
    assert "SET writer.turn" in takes, "the part that takes the lock is left out"
    other_texts(monkeypatch, {"lock_and_read": reads})
    is_set = Begun.is_set
    monkeypatch.setattr(Begun, "is_set", lambda begun: is_set(begun) or True)  # and do not compare the marks, either
    cycles, tries, start = 0, 0, time.monotonic()
    while not cycles and time.monotonic() - start < CONTROL_SECONDS:
        auth = tenant("lakehouse", [f"add group:{side}{number}" for number in range(20) for side in "ab"])
        at_once(auth, range(20), pair_of_groups)
        links = edges(auth)
        tries += 20
        cycles += sum((target, kind, source) in links for source, kind, target in links) // 2
    say(capsys, f"without the lock: {cycles} cycles in {tries} tries")
    assert cycles, f"the control made no cycle in {tries} tries: nothing is shown"
