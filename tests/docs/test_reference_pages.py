"""The pages of docs/reference say what the code accepts: references, statements, scenarios, the graph, variables."""

import inspect
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.main import get_command

from grantpath import cypher, reference
from grantpath.engine.cli.ask.check_file import check_from_json
from grantpath.engine.cli.config_file import Profile, read_config
from grantpath.engine.cli.main import app
from grantpath.engine.cli.settings import KEYS
from grantpath.engine.policy.policy import load
from grantpath.engine.scenarios.scenario_file import read_scenarios
from grantpath.graph.language.statement import Kind, parse_asked, parse_check, parse_question, parse_statement

HOUSE = Path(__file__).parents[2]
PAGES = HOUSE / "docs" / "reference"
CODE = re.compile(r"``(?: (?=`))?(.*?)(?: (?=``))?``|`([^`]+)`")
BLOCK = re.compile(r"```.*?```", re.DOTALL)
VARIABLE = re.compile(r"(?:GRANTPATH|NEO4J)_[A-Z0-9_]+")
MADE_FROM_A_NAME = re.compile(r'reference\("(\w+)", (.*?)\) == "(.*?)"')


def page(name: str) -> str:
    return (PAGES / name).read_text(encoding="utf-8")


def codes(text: str) -> list[str]:
    """The code spans of a Markdown text."""
    return [(found[1] or found[2]).strip() for found in CODE.finditer(BLOCK.sub("", text))]


def rows(text: str, header: str) -> list[list[str]]:
    """The cells of every table whose header begins so."""
    found = []
    for table in re.findall(rf"^\| {re.escape(header)} .*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE):
        found += [[cell.strip() for cell in line.strip("|\n").split(" | ")] for line in table.splitlines()]
    return found


def test_every_reference_is_read_and_printed_as_the_table_says() -> None:
    policy = load("lakehouse")
    listed = rows(page("references.md"), "written")
    for written, type_, segments, printed in listed:
        found = policy.reference(codes(written)[0], policy.root("ml"))
        assert [found.type] == codes(type_)
        assert [*found.segments] == codes(segments)
        assert [found.text] == codes(printed)
    assert len(listed) >= 10


def test_the_example_with_raw_names_is_true() -> None:
    examples = MADE_FROM_A_NAME.findall(page("references.md"))
    for type_, names, expected in examples:
        assert reference(type_, *(name.strip(' "') for name in names.split(","))) == expected
    assert len(examples) == 3


@pytest.mark.parametrize(
    ("header", "parse", "least"),
    [("statement", parse_statement, 10), ("check", parse_check, 4), ("question", parse_question, 2)],
)
def test_every_line_is_accepted(header: str, parse: object, least: int) -> None:
    listed = [codes(row[0])[0] for row in rows(page("statements.md"), header)]
    assert len(listed) >= least and callable(parse)
    for line in listed:
        parse(line)


def test_every_line_of_a_file_of_checks_is_accepted() -> None:
    lines = [codes(row[0])[0] for row in rows(page("statements.md"), "line")]
    for line in lines:
        assert (check_from_json if line.startswith("{") else parse_asked)(line).object
    assert len(lines) == 4


def test_every_form_of_statement_has_a_row() -> None:
    kinds = {parse_statement(codes(row[0])[0]).kind for row in rows(page("statements.md"), "statement")}
    assert kinds == {*get_args(Kind)}


def test_the_scenario_is_read_and_its_keys_are_listed(tmp_path: Path) -> None:
    [example] = re.findall(r"```yaml\n(.*?)```", page("scenarios.md"), re.DOTALL)
    (tmp_path / "example.yaml").write_text(example, encoding="utf-8")
    [scenario] = read_scenarios(tmp_path / "example.yaml")
    assert len(scenario.then) == 6
    listed = {codes(row[0])[0] for row in rows(page("scenarios.md"), "key")}
    assert listed == {"scenario", "policy", "root", "source", "absent", "given", "then"}


def test_every_label_and_relationship_of_the_queries_is_listed() -> None:
    text = page("graph.md")
    listed = {name for code in codes(text) for name in re.findall(r":?([A-Z]\w+)", code)}
    used = set()
    for name in cypher.names():
        lines = cypher.load(name).text.splitlines() if name != "schema" else cypher.statements("schema")
        code = "\n".join(line for line in lines if not line.lstrip().startswith("//"))
        code = re.sub(r"'[^']*'", "''", code)
        used |= set(re.findall(r"[(\w]:([A-Z][a-z]\w*)", code))
        used |= {kind for found in re.findall(r"\[\w*:([A-Z_|]+)\b", code) for kind in found.split("|")}
    assert len(used) > 20
    assert sorted(used - listed) == []


def test_every_variable_is_in_the_table() -> None:
    tables = [*rows(page("configuration.md"), "key"), *rows(page("configuration.md"), "variable")]
    listed = {name for row in tables for name in codes(" ".join(row)) if VARIABLE.fullmatch(name)}
    used = set()
    for room in ("graph", "engine", "spark_sync"):
        for file in (HOUSE / room).rglob("*.py"):
            used |= set(re.findall(r"\"((?:GRANTPATH|NEO4J)_[A-Z0-9_]+)\"", file.read_text(encoding="utf-8")))
    assert len(used) > 15
    assert listed == used


def test_every_key_of_the_configuration_file_is_in_the_table_with_its_variable() -> None:
    listed: dict[str, str] = {}
    for row in rows(page("configuration.md"), "key"):
        keys, variables = codes(row[0]), codes(row[1])
        assert len(variables) >= len(keys)
        listed |= dict(zip(keys, variables, strict=False))
        for key in (key for key in keys if KEYS[key].is_option):
            assert f"--{key}" in codes(row[2])
    assert listed == {key: each.variable for key, each in KEYS.items()}
    assert set(Profile.model_fields) == set(KEYS)


def test_the_configuration_file_of_the_page_is_valid(tmp_path: Path) -> None:
    [example] = re.findall(r"```toml [^\n]*\n(.*?)```", page("configuration.md"), re.DOTALL)
    (tmp_path / "config.toml").write_text(example, encoding="utf-8")
    found = read_config(tmp_path / "config.toml")
    assert found.model_dump()["default"]["root"] and set(found.profile) == {"production", "laptop"}


def test_commands_that_end_with_1_are_in_the_table_of_exit_codes() -> None:
    listed = {re.sub(r" --.*", "", name) for row in rows(page("commands.md"), "command") for name in codes(row[0])}
    answering = set()

    def look(command: Any, words: list[str]) -> None:
        for name, inner in getattr(command, "commands", {}).items():
            look(inner, [*words, name])
        if inspect.unwrap(command.callback).__annotations__.get("return") is int:
            answering.add(" ".join(words))

    look(get_command(app), [])
    assert len(answering) > 5
    # `change` and `apply` raise their refusals; `policy upgrade` ends with 2 if facts violate the policy
    assert listed == {*answering, "change", "apply"} - {"policy upgrade"}
