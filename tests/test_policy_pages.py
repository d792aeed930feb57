"""The policies' pages and examples: their tables follow from the YAML, and their examples answer as written."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from grantpath.engine.policy import load

from .oracle.scenario import run_scenario
from .policy_pages import PAGES, markdown, tables, tables_in

NAMES = ["gravitino", "lakehouse", "deltastream", "onehouse", "cdap", "cdap_design"]
EXAMPLE = re.compile(r"```yaml\n(scenario: .*?)```", re.DOTALL)


def example_in(page: Path) -> dict[str, Any]:
    """The scenario in a page."""
    found = EXAMPLE.findall(page.read_text(encoding="utf-8"))
    assert len(found) == 1
    document = yaml.load(found[0], yaml.BaseLoader)
    assert isinstance(document, dict)
    return document


def test_every_system_has_its_page() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_tables_of_the_page_follow_from_the_yaml(name: str) -> None:
    made = {table: markdown(rows) for table, rows in tables(load(name)).items()}
    assert tables_in(PAGES / f"{name}.md") == made, "bring the page up to date: python -m tests.policy_pages"


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_the_page_is_answered_as_written(name: str) -> None:
    document = example_in(PAGES / f"{name}.md")
    assert document["policy"] == name
    assert run_scenario(document) == []


@pytest.mark.parametrize("name", [name for name in NAMES if name != "lakehouse"])
def test_the_page_says_what_was_decided_where_the_document_was_silent(name: str) -> None:
    _, _, decided = (PAGES / f"{name}.md").read_text(encoding="utf-8").partition("## Where the document was silent")
    rows = [line for line in decided.splitlines() if line.startswith("| ")]
    assert len(rows) > 12
    assert all(line.count(" | ") == 2 for line in rows)
