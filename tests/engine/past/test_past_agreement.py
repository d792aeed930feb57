"""A past state answers as the oracle of that time, and as the dumps that were kept then."""

import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from grantpath.engine import Authorizer, GrantpathError
from grantpath.engine.change import delta_records
from grantpath.engine.policy import policy as policies
from grantpath.engine.transfer import importer
from grantpath.engine.transfer.exporter import dump
from grantpath.engine.transfer.policy_upgrade import upgrade
from grantpath.graph.language.statement import Check

from ...conftest import Closing, Tenants
from ...oracle import Oracle, oracle
from ...support.random_world import ROOT_NAME, random_checks, random_statements, random_world
from ...support.sizes import size
from ...support.tiers import others_slow
from ...support.twin import POLICIES, SEED
from ..change.test_deltas import statements_of
from ..change.test_recorded_deltas import some, variant, write_tables
from ..tenants.test_policy_upgrades import reopened
from ..transfer.test_load import tables_of

pytestmark = pytest.mark.trust
CHANGES = size(full=600, short=60)  # in each of the six policies
ORACLES, DUMPS = size(full=170, short=6), size(full=170, short=3)  # revisions that are asked about, of each policy
CHECKS = size(full=10, short=25)


@pytest.mark.usefixtures("large_renames")
@pytest.mark.parametrize("name", others_slow(POLICIES))
def test_past_answers_are_those_of_the_oracle_at_that_revision(tenant: Tenants, closing: Closing, name: str) -> None:
    rng = random.Random(f"past {name} {SEED}")
    world, auth = oracle(name, ROOT_NAME), tenant(name, root=ROOT_NAME)
    for fact in random_world(name, rng, 80):
        assert world.given(fact) == "done"
        assert auth.given([fact]) == [None]
    kept = {auth.revision_now(): world.clone()}
    for statement, by, as_role in random_statements(name, world, rng, CHANGES):
        if world.do(statement, by, as_role) == "done":
            kept[auth.change(statement, by=by, as_role=as_role).revision] = world.clone()
    decided = allowed = 0
    for revision in rng.sample(sorted(kept), min(ORACLES, len(kept))):
        past, then = auth.past(revision), kept[revision]
        assert past.revision == revision
        for subject, operation, on, with_, role in random_checks(then, rng, CHECKS):
            decision = auth.check(subject, operation, on, as_of=past, as_role=role, with_=with_)
            expected = then.check(subject, operation, on, with_, role)
            assert (decision.allowed, decision.revision) == (expected, revision), (subject, operation, on, with_, role)
            assert bool(decision.because) is expected and bool(decision.missing) is not expected
            decided, allowed = decided + 1, allowed + expected
            type_ = on.partition(":")[0]
            listed = [*auth.which(type_, subject, operation, as_of=past, as_role=role, with_=with_)]
            assert listed == sorted(then.which(type_, subject, operation, with_, role))
            if role is None:
                assert [*auth.who(operation, on, with_=with_, as_of=past)] == sorted(then.who(operation, on, with_))
    closing(
        f"past answers, {name}: {decided:,} at {min(ORACLES, len(kept))} of {len(kept)} revisions, {allowed:,} answers "
        "yes, 0 different from the oracle"
    )
    assert allowed


def questions(world: Oracle, auth: Authorizer, rng: random.Random) -> Iterator[Check]:
    """Random checks of all names on what exists, on names that do not, and for subjects that do not."""
    there = [fact.removeprefix("add ") for fact in sorted(statements_of(auth)) if fact.startswith("add ")]
    asked = [(type_, name, keys) for type_ in world.types for name, keys in world.names_on(type_)]
    people = [ref for ref in there if ref.partition(":")[0] in world.people] + ["user:missing"]

    def one(type_: str) -> str:
        return rng.choice([ref for ref in there if ref.startswith(f"{type_}:")] or [f"{type_}:missing"])

    for _ in range(CHECKS):
        type_, name, keys = rng.choice(asked)
        second = {key: one(of) for key, of in keys.items()}
        yield Check(subject=rng.choice(people), name=name, object=one(type_), with_=second)


def answers(auth: Authorizer, asked: list[Check], as_of: int | None) -> list[object]:
    """The decisions with their reasons and lists, or the code of the error."""
    found: list[object] = []
    past = None if as_of is None else auth.past(as_of)
    for each in asked:
        type_, second = each.object.partition(":")[0], each.with_
        try:
            decision = auth.check(each.subject, each.name, each.object, with_=second, as_of=past)
            found.append((decision.allowed, decision.because))
            found.append([*auth.who(each.name, each.object, with_=second, as_of=past)])
            found.append([*auth.which(type_, each.subject, each.name, with_=second, as_of=past)])
        except GrantpathError as error:
            found.append(error.code)
    return found


@pytest.mark.usefixtures("large_renames")
@pytest.mark.parametrize("name", others_slow(POLICIES))
def test_past_answers_are_those_of_dumps(
    tenant: Tenants, closing: Closing, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the dumps are drops, loads, loads that replace, upgrades, and deltas in parts."""
    monkeypatch.setattr(delta_records, "SHORT", 6)
    monkeypatch.setattr(delta_records, "PART", 3)
    rng = random.Random(f"dumps {name} {SEED}")
    world, auth = oracle(name, ROOT_NAME), tenant(name, root=ROOT_NAME)
    given = random_world(name, rng, 60)
    auth.given(given)
    for fact in given:
        world.given(fact)
    steps = [*enumerate(random_statements(name, world, rng, CHANGES))]
    kept: dict[int, tuple[Path, str]] = {}
    version = name
    dumped = {*rng.sample(range(len(steps)), min(DUMPS, len(steps)))}
    for at, (statement, by, as_role) in steps:
        with suppress(GrantpathError):
            auth.change(statement, by=by, as_role=as_role)
        if at % 30 == 11:
            tables = some(tables_of(auth), rng)
            importer.load(auth, write_tables(tmp_path / f"replace{at}", tables), replace=True, consent=True)
        if at % 30 == 19:
            upgrade(auth, variant(name, tmp_path) if at % 60 == 19 else policies.load(name))
            auth = reopened(auth)
            version = str(tmp_path / f"{name}.yaml") if at % 60 == 19 else name
        if at % 30 == 26:
            importer.load(auth, write_tables(tmp_path / f"load{at}", some(tables_of(auth), rng)))
        if at in dumped:
            done = dump(auth, tmp_path / f"dump{at}")
            kept[done.revision] = tmp_path / f"dump{at}", version
    compared = 0
    for revision, (folder, version) in kept.items():
        restored = tenant(version, root=ROOT_NAME)
        assert importer.load(restored, folder).revision == revision
        asked = [*questions(world, restored, rng)]
        expected, got = answers(restored, asked, None), answers(auth, asked, revision)
        assert got == expected
        compared += len(expected)
    closing(f"past answers, {name}: {compared:,} at {len(kept)} revisions, 0 different from the dumps kept then")
    assert compared > len(kept)
