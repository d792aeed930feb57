"""docs/reference/json.md and the schemas beside it describe the answers of the code."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, validate

from grantpath.engine import Authorizer, GrantpathError, GraphPath
from grantpath.graph.errors import CODES

from ..conftest import Tenants
from .answer_schemas import schemas, write_schemas

PAGES = Path(__file__).parents[2] / "docs" / "reference"
WRITE = "write them with: python -m tests.docs.answer_schemas"


def page() -> str:
    return (PAGES / "json.md").read_text(encoding="utf-8")


def test_schema_files_are_those_of_the_code(tmp_path: Path) -> None:
    write_schemas(tmp_path)
    written = {file.name: file.read_text(encoding="utf-8") for file in tmp_path.iterdir()}
    stored = {file.name: file.read_text(encoding="utf-8") for file in (PAGES / "schemas").iterdir()}
    assert len(stored) > 10
    assert stored == written, WRITE


@pytest.mark.parametrize("name", sorted(schemas()))
def test_page_lists_every_answer_with_its_keys(name: str) -> None:
    [row] = [line for line in page().splitlines() if line.startswith(f"| `{name}` |")]
    keys = set(re.findall(r"`(\w+)`", row.split(" | ")[2]))
    existing = set(schemas()[name]["properties"])
    assert f"(schemas/{name}.json)" in row
    if name not in ("Explanation", "EntityPage", "EndingPage", "GrantPage", "MembershipPage", "EntityView"):
        assert keys == existing
    assert keys <= existing


def test_example_of_a_path_is_one() -> None:
    [example] = re.findall(r'```json title="path.json"\n(.*?)```', page(), re.DOTALL)
    path = GraphPath.model_validate_json(example)
    assert path.model_dump(mode="json") == json.loads(example)
    assert (
        str(path)
        == "user:bob -HAS_ROLE-> role:analyst -ALLOW SELECT_TABLE until 2026-12-31T00:00:00Z-> table:hr.public.staff"
    )


@pytest.fixture(scope="module")
def answers(module_tenant: Tenants) -> dict[str, Any]:
    """An answer of each class, as JSON."""
    auth: Authorizer = module_tenant("gravitino", ["add catalog:c", "owner user:ann of catalog:c", "add role:r"])
    question = ("user:ann", "load_catalog", "catalog:c")
    plan = auth.plan(["add user:cas", "owner user:cas of catalog:c"])
    models = [
        plan,
        plan.effects,
        auth.check(*question),
        auth.explain(*question),
        auth.revocation(*question),
        auth.since(*question),
        auth.who("load_catalog", "catalog:c").read(),
        auth.list("catalog"),
        auth.grants(),
        auth.ending(),
        auth.members("role:r"),
        auth.can("user:ann", "catalog:c"),
        auth.question("recent_changes"),
        auth.show("catalog:c"),
        auth.plan(["add user:bob"]),
        auth.plan(["add user:bob"]).effects,
        auth.change("add user:bob"),
        auth.log()[-1],
        auth.log().read(),
    ]
    found = {type(model).__name__: json.loads(model.model_dump_json()) for model in models}
    with pytest.raises(GrantpathError) as error:
        auth.check("user:ann", "load_catalog", "catalog:none")
    return {**found, "GrantpathError": error.value.as_dict()}


@pytest.mark.parametrize("name", sorted(schemas()))
def test_answer_fits_its_schema(answers: dict[str, Any], name: str) -> None:
    schema = schemas()[name]
    Draft202012Validator.check_schema(schema)
    validate(answers[name], schema)


def test_schema_of_errors_has_every_code() -> None:
    assert schemas()["GrantpathError"]["properties"]["code"]["enum"] == [*CODES]
