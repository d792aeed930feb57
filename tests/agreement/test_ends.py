"""Grants and memberships that end: every answer is the oracle's, whose facts are removed when their end comes."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from grantpath import cypher
from grantpath.engine import Authorizer, Invalid, Refused
from grantpath.engine.facts.snapshot.snapshot_questions import ask
from grantpath.graph.language.ends import end_of
from grantpath.spark_sync.mirroring.mirror import mirror

from ..conftest import Closing, Tenants
from ..oracle import Oracle
from ..oracle.gravitino import DEPRECATED
from ..support.random_world import Attempt, Check, random_checks, random_statements
from ..support.sizes import size
from ..support.twin import POLICIES, SEED, Twin, as_check
from ..support.with_replica import as_reader, content, replica_of, until_read, with_replica

pytestmark = pytest.mark.trust
START = 4_102_444_800  # 2100-01-01, so that the clock of this machine ends nothing
ROUNDS = size(40, 12)
CYCLES = size(40, 2)  # in the long form 10,000 facts end
SNAPSHOTS = size(4, 1)  # of each policy
Fact = tuple[str, str, object, object]  # effect or MEMBER, privilege, object, subject


class Ends:
    """The facts of an oracle's world that end, and when."""

    def __init__(self, world: Oracle) -> None:
        self.world = world
        self.of: dict[Fact, int] = {}
        self.ended = 0

    def facts(self) -> set[Fact]:
        members = {("MEMBER", "", of, one) for one, those in self.world.containers.items() for of in those}
        return members | {(effect, name, on, to) for effect, name, on, to in self.world.grants}

    def made(self, statement: str, end: int | None) -> None:
        """A statement was made: its fact has this end now. Ends of facts that are gone are forgotten."""
        facts = self.facts()
        for fact in self._named(statement) & facts:
            self.of.pop(fact, None)
            if end is not None:
                self.of[fact] = end
        self.of = {fact: when for fact, when in self.of.items() if fact in facts}

    def _named(self, statement: str) -> set[Fact]:
        match statement.split(" "):
            case ["member", one, "of", of]:
                return {("MEMBER", "", self.world.resolve(of), self.world.resolve(one))}
            case ["allow" | "deny" as effect, name, "on", on, "to", to]:
                refs = self.world.resolve(on), self.world.resolve(to)
                return {(effect, DEPRECATED.get(name, name), *refs), ("MEMBER", "", *refs)}
        return set()

    def may_be_removed(self, statement: str) -> bool:
        """Whether the fact of a statement can end. What the policy gives cannot."""
        then = Ends(self.world.clone())
        then.world.do(statement)
        named = then._named(statement) & then.facts()
        return all(then.world.clone().do(_removal(*fact)) == "done" for fact in named)

    def come(self, now: int) -> None:
        """Removes the facts whose end has come."""
        for (kind, name, on, to), when in [*self.of.items()]:
            if when <= now:
                gone = _removal(kind, name, on, to)
                assert self.world.do(gone) == "done", gone
                del self.of[kind, name, on, to]
                self.ended += 1

    def statements(self) -> Iterator[tuple[str, str]]:
        for fact, when in self.of.items():
            yield end_of(when), f"{_statement(fact)} until {end_of(when)}"


def _statement(fact: Fact) -> str:
    kind, name, on, to = fact
    return f"member {to} of {on}" if kind == "MEMBER" else f"{kind} {name} on {on} to {to}"


def _removal(kind: str, name: str, on: object, to: object) -> str:
    return f"remove {to} from {on}" if kind == "MEMBER" else f"revoke {kind} {name} on {on} from {to}"


def make(auth: Authorizer, attempt: Attempt, until: str) -> str:
    statement, by, as_role = attempt
    try:
        auth.change(statement + until, by=by, as_role=as_role)
    except Refused:
        return "refused"
    except Invalid:
        return "invalid"
    return "done"


def may_end(statement: str) -> bool:
    """Whether the statement is one about a grant or a membership, in the usual form."""
    return statement.startswith(("allow ", "deny ", "member ")) and "`" not in statement and " with " not in statement


@pytest.mark.parametrize("policy", POLICIES)
def test_random_ends_are_made_in_time(
    tenant: Tenants, closing: Closing, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    now = START
    monkeypatch.setattr(cypher, "now", now)
    twin = Twin(tenant, policy, f"ends {SEED}", 70)
    copy, ends, rng = with_replica(twin.graph), Ends(twin.world), random.Random(f"{policy} {SEED}")
    reader = with_replica(as_reader(twin.graph))
    plain = as_reader(twin.graph)  # begins to read the facts into memory when some have ended
    worlds: dict[int, Oracle] = {}
    decided = 0
    for _ in range(ROUNDS):
        for attempt in random_statements(policy, twin.world, twin.rng, 14):
            statement = attempt[0]
            if may_end(statement) and rng.random() < 0.5:
                attempt = statement, None, None  # most actors may not grant, and then nothing would end
            _, by, as_role = attempt
            if statement.startswith(("rename ", "move ")):
                continue
            ending = rng.random() < 0.7 and may_end(statement) and ends.may_be_removed(statement)
            end = now + rng.randint(1, 60) if ending else None
            until = "" if end is None else f" until {end_of(end)}"
            expected = twin.world.do(statement, by, as_role)
            twin.compare(f"do {statement}{until} by {by}", expected, make(twin.graph, attempt, until))
            if expected == "done":
                ends.made(statement, end)
        compare(twin, [reader, plain], random_checks(twin.world, rng, 5), now)  # gets the policy of a new format
        until_read(reader)
        now += rng.choice([0, 1, 5, 15, 15, 30, -10])  # a clock may also go back: what has ended stays ended
        monkeypatch.setattr(cypher, "now", now)
        ends.come(now)
        answered = replica_of(reader).answered
        decided += compare(twin, [reader, plain], random_checks(twin.world, rng, 20), now)
        assert replica_of(reader).answered > answered, "it may not remove what has ended, and leaves it out"
        decided += decisions(twin, copy, rng, now)
        worlds[twin.graph.revision_now()] = twin.world.clone()
        until_read(copy)  # the first fact that ends changes the policy's digest, so the copy is read again
        assert content(copy) == content(with_replica(twin.graph)), "the log and the graph differ"
    found = sorted((f"{each.until:%Y-%m-%dT%H:%M:%SZ}", each.statement) for each in twin.graph.ending())
    assert found == sorted(ends.statements())
    assert plain._without_ended is not None and plain._without_ended.answered
    reader.close()
    plain.close()
    decided += past_decisions(twin, worlds, rng)
    assert twin.graph.verify_log().intact
    closing(f"ends, {policy}: {ends.ended} facts ended, {decided:,} decisions by Cypher, a copy and the past; 0 wrong")
    assert ends.ended >= 3


@pytest.mark.parametrize("policy", POLICIES)
def test_all_facts_end(
    tenant: Tenants, closing: Closing, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, policy: str
) -> None:
    """Every grant and membership of a world gets a random end, again and again, until nothing is left each time.

    In some rounds the first to find what has ended is a mirror, whose snapshot must not have it.
    """
    now = START
    monkeypatch.setattr(cypher, "now", now)
    twin = Twin(tenant, policy, f"all end {SEED}", 150)
    copy, ends, rng = with_replica(twin.graph), Ends(twin.world), random.Random(f"{policy} {SEED}")
    statements = [_statement(fact) for fact in sorted(ends.facts(), key=str) if not {*fact} & twin.world.only_mentioned]
    statements = [each for each in statements if may_end(each) and ends.may_be_removed(each)]
    worlds: dict[int, Oracle] = {}
    decided = 0
    for cycle in range(CYCLES):
        ended, mirrors = ends.ended, cycle % max(1, CYCLES // SNAPSHOTS) == 0
        for first in range(0, len(statements), 1_000):
            some = {each: now + rng.randint(1, 40) for each in statements[first : first + 1_000]}
            twin.graph.change_all(f"{each} until {end_of(end)}" for each, end in some.items())
            for each, end in some.items():
                assert twin.world.do(each) == "done", each
                ends.made(each, end)
        while ends.of:
            now += rng.choice([1, 2, 5, 10, -3])
            monkeypatch.setattr(cypher, "now", now)
            ends.come(now)
            if mirrors:
                decided += mirrored_decisions(twin, tmp_path / f"snapshot{cycle}", rng)
                mirrors = False
            decided += decisions(twin, copy, rng, now)
            worlds[twin.graph.revision_now()] = twin.world.clone()
        assert ends.ended == ended + len(statements)
        until_read(copy)
        assert content(copy) == content(with_replica(twin.graph)), "the log and the graph differ"
    assert [*twin.graph.ending()] == []
    decided += past_decisions(twin, dict(rng.sample([*worlds.items()], min(len(worlds), 20))), rng)
    assert twin.graph.verify_log().intact
    closing(f"all ends, {policy}: {ends.ended:,} facts ended, {decided:,} decisions, as above; 0 wrong")


def decisions(twin: Twin, copy: Authorizer, rng: random.Random, now: int) -> int:
    """Compares random checks by Cypher and from a copy with the oracle; the first one finds the facts that ended."""
    checks = random_checks(twin.world, rng, 60)
    rng.choice([twin.graph, copy]).check(*map(str, (checks[0][0], checks[0][1], checks[0][2])), with_=checks[0][3])
    return compare(twin, [copy, twin.graph], checks, now)


def compare(twin: Twin, auths: Sequence[Authorizer], checks: Sequence[Check], now: int) -> int:
    """Compares the answers of each of these with the oracle. Returns their number."""
    for auth in auths:
        got = auth.check_many(as_check((s, n, o, tuple(sorted(w.items())), r)) for s, n, o, w, r in checks)
        for check, decision in zip(checks, got, strict=True):
            twin.compare(f"{check} at {end_of(now)}", twin.world.check(*check), decision.allowed)
    assert not twin.differences, twin.report()
    return len(auths) * len(checks)


def mirrored_decisions(twin: Twin, folder: Path, rng: random.Random) -> int:
    """Compares random checks on a new snapshot with the oracle."""
    mirror(twin.graph, folder)
    checks = random_checks(twin.world, rng, 20)
    for check in checks:
        subject, name, on, with_, role = check
        acting = subject if role is None else f"{subject} as {role}"
        second = ", ".join(f"{key}={ref}" for key, ref in with_.items())
        said = ask(folder, f"{acting} can {name} on {on}{f' with {second}' if second else ''}").answer
        twin.compare(f"{check} on {folder.name}", twin.world.check(*check), said)
    assert not twin.differences, twin.report()
    return len(checks)


def past_decisions(twin: Twin, worlds: dict[int, Oracle], rng: random.Random) -> int:
    """Compares random checks as of each revision with the oracle's world of that time."""
    decided = 0
    for revision, world in worlds.items():
        for check in random_checks(world, rng, 20):
            subject, name, on, with_, role = check
            was = twin.graph.check(subject, name, on, with_=with_, as_role=role, as_of=revision).allowed
            twin.compare(f"{check} as of {revision}", world.check(*check), was)
            decided += 1
    assert not twin.differences, twin.report()
    return decided
