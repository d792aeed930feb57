"""`ask`, which reads only the part of a snapshot that a question needs, agrees with the oracle."""

import random
from pathlib import Path
from typing import Any

import pytest

from grantpath.engine.facts.snapshot.snapshot_questions import ask

from ..oracle import Oracle, oracle
from ..support.plain_access import write_snapshot
from ..support.random_world import ROOT_NAME, random_checks, random_world
from ..support.sizes import say, size
from ..support.tiers import others_slow

pytestmark = [pytest.mark.spark, pytest.mark.trust]

POLICIES = ["gravitino", "lakehouse", "deltastream", "onehouse", "cdap", "cdap_design"]
SEED = 313
CHECKS = size(full=2_000, short=150)
LISTS = size(full=600, short=40)


@pytest.mark.parametrize("policy", others_slow(POLICIES))
def test_asked_snapshot_agrees_with_the_oracle(policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng, world = random.Random(f"{policy} {SEED}"), oracle(policy, ROOT_NAME)
    for fact in random_world(policy, rng, 150):
        world.given(fact)
    out = write_snapshot(world, tmp_path / "snapshot")
    compared = allowed = 0
    for subject, name, on, with_, role in random_checks(world, rng, CHECKS):
        wanted = world.check(subject, name, on, with_, role)
        assert ask(out, f"{_acting(subject, role)} can {name} on {on}{_with(with_)}").answer is wanted
        compared, allowed = compared + 1, allowed + wanted
    for question, listed in _lists(world, rng):
        assert ask(out, question).answer == listed, question
        compared, allowed = compared + 1, allowed + len(listed)
    say(capsys, f"asked snapshot, {policy}: {compared:,} questions, {allowed:,} answers yes, 0 different")


def _lists(world: Oracle, rng: random.Random) -> list[tuple[str, list[str]]]:
    """Questions with `who` and `which`, and the oracle's answers."""
    names = [(type_, *named) for type_ in world.types if world.objects(type_) for named in world.names_on(type_)]
    people = [str(ref) for ref in sorted(world.existing) if ref.type in world.people]
    roles = [ref for ref in world.subjects() if ref.startswith("role:")]
    found: list[tuple[str, list[str]]] = []
    for type_, name, keys in rng.choices(names, k=LISTS):
        if not all(world.objects(other) for other in keys.values()):
            continue
        second = {key: rng.choice(world.objects(other)) for key, other in keys.items()}
        on, user = rng.choice(world.objects(type_)), rng.choice(people)
        role = rng.choice(roles) if world.active_roles and rng.random() < 0.3 else None
        who, which = world.who(name, on, second), world.which(type_, user, name, second, role)
        found.append((f"who can {name} on {on}{_with(second)}", sorted(who, key=str.encode)))
        found.append((f"which {type_} can {_acting(user, role)} {name}{_with(second)}", sorted(which, key=str.encode)))
    return found


def _acting(subject: str, role: str | None) -> str:
    return subject if role is None else f"{subject} as {role}"


def _with(second: dict[str, Any]) -> str:
    pairs = ", ".join(f"{key}={ref}" for key, ref in second.items())
    return f" with {pairs}" if pairs else ""
