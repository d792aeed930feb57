"""The estates of the demo and the generator: the promised shape, only valid rows, the same for the same seed."""

import importlib.util
import json
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pyarrow.parquet as pq
import pytest

from grantpath.engine.cli.admin.demo_data import (
    CATALOGS,
    ROLES,
    ROOT,
    STORIES,
    STORYTELLERS,
    TPC_DS,
    TPC_H,
    DemoData,
    estate,
    write_estate,
)

from ..oracle import Oracle, oracle

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
COLUMNS = {
    "subjects": {"ref"},
    "objects": {"ref"},
    "members": {"member", "of"},
    "owners": {"object", "owner"},
    "grants": {"effect", "privilege", "object", "subject"},
}


def statements(tables: DemoData) -> list[str]:
    """The rows as statements, in an order in which each is valid."""
    return [
        *(f"add {row['ref']}" for row in tables["subjects"]),
        *(f"add {row['ref']}" for row in tables["objects"]),
        *(f"member {row['member']} of {row['of']}" for row in tables["members"]),
        *(f"owner {row['owner']} of {row['object']}" for row in tables["owners"]),
        *(f"{row['effect']} {row['privilege']} on {row['object']} to {row['subject']}" for row in tables["grants"]),
    ]


def oracle_of(tables: DemoData, policy: str, root: str) -> Oracle:
    """An oracle that contains every row."""
    world = oracle(policy, root)
    answers = [(statement, world.given(statement)) for statement in statements(tables)]
    assert [answer for answer in answers if answer[1] != "done"] == []
    return world


@pytest.fixture(scope="module", params=[7, 8])
def world(request: pytest.FixtureRequest) -> Oracle:
    return oracle_of(estate(request.param), "gravitino", "tpc")


def test_demo_has_every_tpc_table_in_its_own_catalog() -> None:
    assert len({table for tables in TPC_DS.values() for table in tables}) == 24
    assert sum(map(len, TPC_DS.values())) == 24
    assert sum(map(len, TPC_H.values())) == len({table for tables in TPC_H.values() for table in tables}) == 8
    standard = {table for schemas in (TPC_DS, TPC_H) for tables in schemas.values() for table in tables}
    assert {table for tables in CATALOGS["lab"].values() for table in tables} <= standard


def test_demo_has_the_shape_of_an_import() -> None:
    tables = estate()
    assert {name: set(row) for name, rows in tables.items() for row in rows} == COLUMNS
    assert {name for name, rows in tables.items() if any(set(row) != COLUMNS[name] for row in rows)} == set()
    kinds = Counter(row["ref"].split(":")[0] for row in tables["subjects"] + tables["objects"])
    assert 300 <= kinds["user"] <= 400
    assert 38 <= kinds["role"] <= 44
    assert (kinds["catalog"], kinds["schema"], kinds["group"]) == (3, 6 + 3 + 8, 12)
    for effect in ("allow", "deny"):
        levels = {row["object"].split(":")[0] for row in tables["grants"] if row["effect"] == effect}
        assert levels == {"metalake", "catalog", "schema", "table"}
    owned = {row["object"].split(":")[0] for row in tables["owners"]}
    assert owned == {"metalake", "catalog", "schema", "table", "role"}
    for rows in tables.values():
        assert len({tuple(row.items()) for row in rows}) == len(rows)


def test_demo_is_reproducible_by_its_seed() -> None:
    assert estate(7) == estate(7)
    assert estate(7) != estate(8)
    assert ROOT not in {row["ref"] for row in estate()["objects"]}


def test_written_estate_reads_back(tmp_path: Path) -> None:
    write_estate(tmp_path, seed=3)
    found = {
        file.stem: [json.loads(line) for line in file.read_text("utf-8").splitlines()] for file in tmp_path.iterdir()
    }
    assert found == estate(3)


def test_demo_stories_get_their_decisions(world: Oracle) -> None:
    assert world.check(*STORIES["allowed"])
    assert not world.check(*STORIES["denied_by_deny"])
    assert not world.check(*STORIES["denied_missing"])


def without(tables: DemoData, effect: str) -> DemoData:
    return {**tables, "grants": [row for row in tables["grants"] if row["effect"] != effect]}


def test_allowed_story_depends_on_a_grant_on_the_catalog(world: Oracle) -> None:
    subject, _, table = STORIES["allowed"]
    assert world.check(subject, "SELECT_TABLE", "catalog:retail")
    assert not any(row["member"] == subject and row["of"].startswith("role:") for row in estate()["members"])
    catalog = table.removeprefix("table:").split(".")[0]
    assert ("allow", "USE_CATALOG USE_SCHEMA SELECT_TABLE", [f"catalog:{catalog}"]) in ROLES["retail_reader"]


def test_denied_story_depends_only_on_the_deny(world: Oracle) -> None:
    subject, _, table = STORIES["denied_by_deny"]
    assert oracle_of(without(estate(), "deny"), "gravitino", "tpc").check(*STORIES["denied_by_deny"])
    assert world.check(subject, "load_schema", "schema:retail.customer")
    assert not world.check(subject, "SELECT_TABLE", table)


def test_missing_story_lacks_only_use_schema() -> None:
    world = oracle_of(estate(), "gravitino", "tpc")
    subject, _, table = STORIES["denied_missing"]
    assert world.check(subject, "SELECT_TABLE", table)
    assert world.check(subject, "USE_CATALOG", "catalog:wholesale")
    assert not world.check(subject, "USE_SCHEMA", "schema:wholesale.sales")
    world.given("allow USE_SCHEMA on schema:wholesale.sales to role:order_lookup")
    assert world.check(*STORIES["denied_missing"])


def test_demo_questions_have_readable_answers(world: Oracle) -> None:
    users = [row["ref"] for row in estate()["subjects"] if row["ref"].startswith("user:")]
    readers = world.who(*STORIES["who"])
    assert 0 < len(readers) < len(users)
    assert STORIES["denied_by_deny"][0] not in readers
    tables = world.which(*STORIES["which"])
    assert 0 < len(tables) < sum(row["ref"].startswith("table:") for row in estate()["objects"])


def test_story_users_own_nothing() -> None:
    for seed in range(20):
        assert STORYTELLERS.isdisjoint(row["owner"] for row in estate(seed)["owners"])


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    return loaded("generate")


def loaded(name: str) -> ModuleType:
    """A module of benchmarks/, a folder of programs that is not a package."""
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", BENCHMARKS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


SMALL = {"users": 300, "groups": 60, "roles": 60, "catalogs": 3, "schemas": 4, "tables": 5, "grants": 1000}


def read(directory: Path) -> DemoData:
    return {name: pq.read_table(directory / f"{name}.parquet").to_pylist() for name in COLUMNS}


@pytest.mark.parametrize("options", [{}, {"policy": "lakehouse"}, {"policy": "lakehouse", "nested": True}])
def test_every_generated_row_is_valid(generator: ModuleType, tmp_path: Path, options: dict[str, object]) -> None:
    size = generator.Size(**SMALL, **options, root="acme")
    counts = generator.generate(tmp_path, size, seed=5)
    tables = read(tmp_path)
    assert counts == {name: len(rows) for name, rows in tables.items()}
    oracle_of(tables, size.policy, "acme")  # it refuses cycles, wrong types and missing parents
    kinds = Counter(row["ref"].split(":")[0] for row in tables["subjects"] + tables["objects"])
    assert kinds == {"user": 300, "group": 60, "role": 60, "catalog": 3, "schema": 12, "table": 60}
    assert Counter(row["effect"] for row in tables["grants"]) == {"allow": 950, "deny": 50}
    granted_to = {row["subject"].split(":")[0] for row in tables["grants"]}
    assert granted_to == ({"role"} if size.policy == "gravitino" else {"role", "group", "user"})
    assert any(row["object"] == "metalake:acme" for row in tables["owners"])


def test_nested_groups_are_four_deep(generator: ModuleType, tmp_path: Path) -> None:
    size = generator.Size(**{**SMALL, "groups": 200}, policy="lakehouse", nested=True)
    generator.generate(tmp_path, size, seed=5)
    above: dict[str, list[str]] = {}
    for row in read(tmp_path)["members"]:
        if row["of"].startswith("group:"):
            above.setdefault(row["member"], []).append(row["of"])

    def depth(subject: str) -> int:
        return max((1 + depth(group) for group in above.get(subject, ())), default=0)

    assert max(depth(subject) for subject in above) == 4


def test_generated_estates_are_skewed(generator: ModuleType, tmp_path: Path) -> None:
    size = generator.Size(users=5000, groups=250, roles=500, catalogs=5, schemas=10, tables=20, grants=10_000)
    generator.generate(tmp_path, size, seed=5)
    tables = read(tmp_path)
    for rows, column in (("members", "of"), ("grants", "subject"), ("grants", "object")):
        amounts = sorted(Counter(row[column] for row in tables[rows]).values(), reverse=True)
        assert amounts[0] > 8 * sum(amounts) / len(amounts)


def test_generated_estates_are_reproducible_by_their_seed(generator: ModuleType, tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        generator.generate(tmp_path / name, generator.Size(**SMALL), seed=seed)
    assert read(tmp_path / "one") == read(tmp_path / "again")
    assert read(tmp_path / "one") != read(tmp_path / "other")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"users": 0}, "users=0"),
        ({"nested": True}, "lakehouse"),
        ({"roles": 1, "grants": 100_000, "catalogs": 1, "schemas": 1, "tables": 1}, "ask for fewer"),
    ],
)
def test_impossible_sizes_are_refused_by_name(
    generator: ModuleType, tmp_path: Path, options: dict[str, object], text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        generator.generate(tmp_path, generator.Size(**options), seed=1)


def test_sampled_questions_have_both_answers(generator: ModuleType, tmp_path: Path) -> None:
    generator.generate(tmp_path, generator.Size(**SMALL), seed=5)
    sample = loaded("questions").sample_questions
    questions = sample(tmp_path, 400, 9)
    assert questions == sample(tmp_path, 400, 9) != sample(tmp_path, 400, 10)
    assert {operation for _, operation, _ in questions} == {"load_table", "alter_table", "create_table", "drop_table"}
    world = oracle_of(read(tmp_path), "gravitino", "ml")
    yes = sum(world.check(*question) for question in questions)  # raises for unknown names
    assert 40 < yes < 360
