"""The log has the exact delta of each revision: applied one after the other, they give the facts of each revision."""

import csv
import random
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from grantpath.engine import Authorizer, GrantpathError
from grantpath.engine.change import delta_records
from grantpath.engine.change.delta_records import RecordedDelta, recorded
from grantpath.engine.policy import policy as policies
from grantpath.engine.policy.schema import BUILT_IN
from grantpath.engine.transfer import importer
from grantpath.engine.transfer.policy_upgrade import upgrade
from grantpath.engine.transfer.tables import TABLES

from ...conftest import Tenants
from ...oracle import oracle
from ...support.random_world import ROOT_NAME, random_statements, random_world
from ...support.sizes import say, size
from ...support.tiers import others_slow
from ...support.twin import POLICIES
from ..tenants.test_policy_upgrades import reopened
from ..transfer.test_load import tables_of
from .test_deltas import statements_of

pytestmark = pytest.mark.trust
CHANGES = size(full=1_700, short=60)  # in each of the six policies
PUBLIC = ("builtin:\n", "builtin:\n  role:public: {held_by_every: user, allow: USE_CATALOG}\n")


def deltas(auth: Authorizer, after: int = 0) -> list[RecordedDelta]:
    return list(recorded(auth.ask, after, auth.root))


class Replay:
    """The facts of a root, followed by its deltas only."""

    def __init__(self, auth: Authorizer) -> None:
        self.facts = statements_of(auth)
        self.revision = auth.revision_now()
        self.deltas: list[RecordedDelta] = []

    def follow(self, auth: Authorizer) -> None:
        """Applies the new deltas, each of which must fit, and compares the facts with the graph."""
        for delta in deltas(auth, self.revision):
            assert not delta.bulk
            if delta.renamed:
                assert not (delta.added or delta.removed)
                self.facts = renamed(self.facts, auth.policy, *delta.renamed)
            added, removed = set(delta.added), set(delta.removed)
            assert len(delta.added) == len(added) and len(delta.removed) == len(removed)
            assert removed <= self.facts, (delta.revision, removed - self.facts)
            self.facts -= removed
            assert not added & self.facts, (delta.revision, added & self.facts)
            self.facts |= added
            self.revision = delta.revision
            self.deltas.append(delta)
        assert self.revision == auth.revision_now()
        assert self.facts == statements_of(auth)

    def back(self, policy: policies.Policy) -> Iterator[tuple[int, set[str]]]:
        """The facts of each earlier revision, newest first. `policy` has the types of all revisions."""
        facts = set(self.facts)
        for delta in reversed(self.deltas):
            if delta.renamed:
                facts = renamed(facts, policy, *reversed(delta.renamed))
            facts = facts - set(delta.added) | set(delta.removed)
            yield delta.revision - 1, facts


def renamed(facts: set[str], policy: policies.Policy, ref: str, to: str) -> set[str]:
    """The facts with the references that an entity and what is below it have after a rename or a move."""
    type_, _, name = ref.partition(":")
    below = "|".join(policy.names.below(type_))
    inside = rf"(?<![^ ])({below}):{re.escape(name)}(?=\.)" if below else r"(?!)"
    pattern = re.compile(rf"`(?:[^`]|``)*`|(?<![^ ]){re.escape(ref)}(?![^ ])|{inside}")

    def new(found: re.Match[str]) -> str:
        if found[0] == ref:
            return to
        return f"{found[1]}:{to.partition(':')[2]}" if below and found[1] else found[0]

    moved = {pattern.sub(new, fact) for fact in facts}
    assert len(moved) == len(facts)
    return moved


def write_tables(folder: Path, tables: dict[str, list[list[str]]]) -> Path:
    folder.mkdir()
    for name, rows in tables.items():
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as out:
            csv.writer(out).writerows([TABLES[name], *rows])
    return folder


def some(tables: dict[str, list[list[str]]], rng: random.Random) -> dict[str, list[list[str]]]:
    """The tables with fewer memberships and grants."""
    thin = {name: [row for row in tables[name] if rng.random() < 0.7] for name in ("members", "grants")}
    return {**tables, **thin}


def variant(name: str, folder: Path) -> policies.Policy:
    """Another version of a built-in policy; that of gravitino gives every user a built-in role."""
    text = (BUILT_IN / f"{name}.yaml").read_text(encoding="utf-8")
    assert name != "gravitino" or PUBLIC[0] in text
    file = folder / f"{name}.yaml"
    file.write_text((text.replace(*PUBLIC) if name == "gravitino" else text) + "# another version\n", encoding="utf-8")
    return policies.load(str(file))


@pytest.mark.usefixtures("large_renames")
@pytest.mark.parametrize("name", others_slow(POLICIES))
def test_random_changes_are_recorded_exactly(
    tenant: Tenants, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(f"recorded {name}")
    world, auth = oracle(name, ROOT_NAME), tenant(name, root=ROOT_NAME)
    replay = Replay(auth)
    known = {replay.revision: set(replay.facts)}
    given = random_world(name, rng, 60)
    auth.given(given)
    for fact in given:
        world.given(fact)
    batch, upgrades = list[str](), 0
    for at, (statement, by, as_role) in enumerate(random_statements(name, world, rng, CHANGES)):
        batch.append(statement)
        with suppress(GrantpathError):
            auth.change(statement, by=by, as_role=as_role)
        if at % 20 == 7:
            auth.given(batch)  # in part undone, in part again
            batch.clear()
        if at % 30 == 11:
            kept = some(tables_of(auth), rng)
            importer.load(auth, write_tables(tmp_path / f"{at}", kept), replace=True, consent=True)
        if at % 30 == 26:
            importer.load(auth, write_tables(tmp_path / f"{at}", some(tables_of(auth), rng)))
        replay.follow(auth)
        known[replay.revision] = set(replay.facts)
        if at % 30 == 19:
            for version in (variant(name, tmp_path), auth.policy):
                upgrade(auth, version)
                auth = reopened(auth)
                replay.follow(auth)
                upgrades += 1
    for revision, facts in replay.back(auth.policy):
        if revision in known:
            assert facts == known[revision], revision
    count = sum(len(delta.added) + len(delta.removed) for delta in replay.deltas)
    say(
        capsys,
        f"recorded deltas, {name}: {len(replay.deltas):,} revisions, {upgrades} upgrades, {count:,} facts, 0 different",
    )
    assert len(replay.deltas) > CHANGES / 10


def test_drop_records_all_that_goes_with_it_and_the_log_finds_it(tenant: Tenants) -> None:
    auth = tenant(
        given=["add catalog:hr", "add schema:hr.s", "add user:ann", "owner user:ann of schema:hr.s", "add role:r"]
    )
    auth.change("allow USE_SCHEMA on schema:hr.s to role:r")
    done = auth.change("drop catalog:hr")
    [delta] = deltas(auth, done.revision - 1)
    assert delta.added == []
    assert delta.removed == [
        "allow USE_SCHEMA on schema:hr.s to role:r",
        "owner user:ann of schema:hr.s",
        "add schema:hr.s",
        "add catalog:hr",
    ]
    assert [each.statement for each in auth.log(object="schema:hr.s")][-1] == "drop catalog:hr"
    assert [each.statement for each in auth.log(subject="user:ann")][-1] == "drop catalog:hr"
    assert "drop catalog:hr" not in [each.statement for each in auth.log(subject="user:bob")]


def test_many_facts_are_recorded_beside_the_entry(tenant: Tenants, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta_records, "SHORT", 3)
    monkeypatch.setattr(delta_records, "PART", 2)
    auth = tenant(given=["add catalog:hr"])
    replay = Replay(auth)
    auth.given([f"add schema:hr.s{number}" for number in range(7)])
    auth.change("drop catalog:hr")
    replay.follow(auth)
    assert len(replay.deltas[-1].removed) == 8
    assert [each.statement for each in auth.log(object="schema:hr.s4")] == ["add schema:hr.s4", "drop catalog:hr"]
    assert auth.verify_log()
    auth.store.execute(
        "MATCH (d:Delta {root: $root, part: 1}) SET d.removed = [d.removed[0]] RETURN 1 AS one", {"root": auth.tenant}
    )
    found = auth.verify_log()
    assert not found and "facts" in found.problems[0]


def test_too_many_facts_are_not_recorded(tenant: Tenants, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta_records, "BULK", 2)
    auth = tenant(given=["add catalog:hr", "add schema:hr.s", "add schema:hr.t"])
    done = auth.change("drop catalog:hr")
    assert [(each.bulk, each.removed) for each in deltas(auth, done.revision - 1)] == [(True, [])]


def test_upgrade_records_its_facts_and_both_policies(tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant(given=["add user:ann", "add catalog:hr"])
    replay = Replay(auth)
    upgrade(auth, variant("gravitino", tmp_path))
    now = reopened(auth)
    replay.follow(now)
    [delta] = replay.deltas
    assert "member user:ann of role:public" in delta.added
    assert delta.policy is not None
    assert [policies.from_source(source).digest for source in delta.policy] == [auth.policy.digest, now.policy.digest]
