"""The oracle itself: it must answer every scenario as written, and parse references by the format's grammar."""

from pathlib import Path
from typing import Any

import pytest

from ..oracle import POLICIES, OracleError, oracle
from ..oracle.notation import Malformed, read_reference, read_statement
from ..oracle.scenario import read_scenarios, run_scenario

SCENARIOS = Path(__file__).parents[1] / "scenarios"
DOCUMENTS = [
    pytest.param(document, id=f"{path.parent.name}/{path.stem}: {document['scenario']}")
    for path in sorted(SCENARIOS.glob("*/*.yaml"))
    for document in read_scenarios(path)
]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_oracle_answers_every_scenario_line_as_written(document: dict[str, Any]) -> None:
    assert run_scenario(document) == []


def test_scenarios_were_found() -> None:
    assert len(DOCUMENTS) >= 58


def test_wrong_scenario_line_fails() -> None:
    document = {
        "policy": "gravitino",
        "root": "ml",
        "given": ["owner user:ann of metalake:ml", "add catalog:hr"],
        "then": [
            "user:ann cannot load_catalog on catalog:hr",
            {"do": "add user:bob", "by": "user:ann", "refused": "true"},
            {"ask": "who can load_catalog on catalog:hr", "answer": ["user:bob"]},
            {"check": "user:ann can load_catalog on catalog:hr", "error": "true"},
            {"check": "user:ann can fly on catalog:hr", "error": "true"},
        ],
    }
    assert len(run_scenario(document)) == 4


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("table:hr.public.staff", "table:hr.public.staff"),
        ("topic:kafka.`clicks.v1`", "topic:kafka.`clicks.v1`"),
        ("topic:`kafka`.x", "topic:kafka.x"),
        ("catalog:`a``b`", "catalog:`a``b`"),
        ("catalog:`é`", "catalog:`é`"),
        ("user:ann.lee@corp.example", "user:ann.lee@corp.example"),
        ("user:`ann.lee`", "user:ann.lee"),
        ("user:`ann lee`", "user:`ann lee`"),
        ("group:`a,b`", "group:`a,b`"),
        ("role:é:x", "role:é:x"),
    ],
)
def test_references_are_printed_with_the_quotes_they_need(written: str, printed: str) -> None:
    assert str(read_reference(written)) == printed
    assert read_reference(printed) == read_reference(written)


@pytest.mark.parametrize(
    "written",
    [
        "catalog",
        "catalog:",
        "catalog:a..b",
        "catalog:a.",
        "catalog:a b",
        "catalog:é",
        "catalog:`a",
        "catalog:`a`b",
        "catalog:``",
        "user:a`b",
        "user:`a`.`b`",
        "Catalog:a",
        "user:" + "é" * 128,
    ],
)
def test_malformed_references_are_rejected(written: str) -> None:
    with pytest.raises(Malformed):
        read_reference(written)


def test_second_objects_are_read_between_quotes() -> None:
    statement = read_statement("add job:p.j with cluster=cluster:`p, q`.c, database=database:p.`l=m`.d")
    assert statement.with_ == {"cluster": "cluster:`p, q`.c", "database": "database:p.`l=m`.d"}


@pytest.mark.parametrize("policy", POLICIES)
def test_unknown_names_objects_and_second_objects_are_errors(policy: str) -> None:
    world = oracle(policy, "main")
    root = world.objects(world.root_type)[0]
    world.given("add user:ann")
    name, with_ = next(entry for entry in world.names_on(world.root_type) if not entry[1])
    assert world.check("user:ann", name, root) in (True, False)
    assert world.check("user:nobody", name, root) is False
    for subject, asked, target, second, role in [
        ("user:ann", "fly", root, with_, None),
        ("user:ann", "FLY", root, with_, None),
        ("user:ann", name, f"{world.root_type}:other", with_, None),
        ("user:ann", name, "spaceship:x", with_, None),
        ("user:ann", name, root, {"surplus": root}, None),
        ("user:ann", name, root, with_, "role:nobody"),
        ("planet:ann", name, root, with_, None),
    ]:
        with pytest.raises(OracleError):
            world.check(subject, asked, target, second, role)


@pytest.mark.parametrize("policy", POLICIES)
def test_clone_is_independent_of_its_original(policy: str) -> None:
    world = oracle(policy, "main")
    before = world.objects()
    other = world.clone()
    assert other.given("add user:ann") == "done"
    assert world.objects() == before
    assert other.objects("user") == ["user:ann"]


def test_given_adds_mentioned_entities_once() -> None:
    world = oracle("gravitino", "main")
    assert world.given("member user:ann of group:blue") == "done"
    assert world.given("add user:ann") == "done"
    assert world.given("add user:ann") == "invalid"
    assert world.given("member user:bob of role:missing") == "invalid"
    assert world.subjects() == ["group:blue", "user:ann"]
    assert world.do("member user:bob of group:blue") == "invalid"
    assert world.do("add group:blue") == "invalid"
