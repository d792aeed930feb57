"""What one version of the facts takes over from another one is what it would find by itself."""

import random

import numpy as np
import pytest

from grantpath.engine.facts.compare import equal_rows
from grantpath.engine.facts.compare.equal_rows import kinds_of
from grantpath.engine.facts.set import layered_map
from grantpath.engine.facts.set.fact_version import EntityNumbers
from grantpath.engine.facts.set.layered_map import LayeredMap
from grantpath.engine.policy import policy as policies


def test_changed_keys_contain_all_that_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layered_map, "MOST", 8)
    rng, versions = random.Random(1), [LayeredMap[int, str](dict.fromkeys(range(10), "a"))]
    for _ in range(60):
        versions.append(versions[-1].changed({rng.randrange(15): rng.choice(["a", "b", None])}))
    told = 0
    for one, other in ((rng.choice(versions), rng.choice(versions)) for _ in range(300)):
        changed = one.changed_since(other)
        told += changed is not None
        assert changed is None or {key for key in range(15) if one.get(key) != other.get(key)} <= changed
    assert 50 < told < 300


def test_users_of_a_version_are_those_that_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, rng = EntityNumbers(policies.load("gravitino")), random.Random(2)
    entities = [numbers.of(f"user:u{at}" if at % 3 else f"role:r{at}") for at in range(30)]
    existing, hidden = LayeredMap[int, bool]({}), ["user:u4"]
    for _ in range(200):
        before = existing, numbers.users_of(existing, hidden)
        existing = existing.changed({rng.choice(entities): rng.choice([True, None])})
        found = numbers.users_of(existing, hidden)
        expected = [at for at in entities if existing.get(at) and at in numbers.users and at != entities[4]]
        assert found.tolist() == expected
        assert (found is before[1]) == (expected == before[1].tolist())


@pytest.mark.parametrize("sparse", [0, 1_000])
def test_equal_rows_have_one_kind(monkeypatch: pytest.MonkeyPatch, sparse: int) -> None:
    """By a table and by sorting."""
    monkeypatch.setattr(equal_rows, "SPARSE", sparse)
    rng = np.random.default_rng(3)
    for size in (0, 1, 500):
        columns = [rng.integers(-1, 4, size), rng.integers(-1, 3, size)]
        first, kinds = kinds_of(columns)
        rows = [*zip(*(each.tolist() for each in columns), strict=True)]
        assert [rows[at] for at in first[kinds].tolist()] == rows
        assert len({rows[at] for at in first.tolist()}) == len(first) == len(set(rows))
        assert all(rows.index(rows[at]) == at for at in first.tolist())
