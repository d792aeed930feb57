"""Every .cypher file: its header, warnings and example in Neo4j Browser, and that only its comments are not sent."""

import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import neo4j
import pytest

from grantpath import cypher
from grantpath.engine import Authorizer, Refused
from grantpath.graph.client.connection import Connection

from ..conftest import Tenants
from ..support.notices import WARNINGS

FILES = {file.stem: file for file in Path(str(cypher.__file__)).parent.rglob("*.cypher")}
PASTED = ["check", "explain", "privilege", "remedy", "schema", "which", "which_below", "who"]
NAMES = [name for name in cypher.names() if name != "schema"]
README_GRAPH = [
    "add catalog:hr",
    "add schema:hr.public",
    "add table:hr.public.staff",
    "add role:analyst",
    "member user:bob of group:readers",
    "member group:readers of role:analyst",
    "owner user:ann of catalog:hr",
    "allow USE_CATALOG on catalog:hr to role:analyst",
    "allow USE_SCHEMA on schema:hr.public to role:analyst",
    "allow SELECT_TABLE on table:hr.public.staff to role:analyst",
]
# the answers of the examples on that graph
ANSWERS = {
    "who": ["user:bob"],
    "which": ["table:hr.public.staff"],
    "who_by_name": ["user:ann", "user:bob"],
    "which_by_name": ["table:hr.public.staff"],
}


def header(name: str) -> str:
    """The comment at the start of a file, without its slashes."""
    lines = cypher.load(name).text.splitlines()
    return "\n".join(line[3:] for line in lines[: next(i for i, line in enumerate(lines) if line[:2] != "//")])


def example(name: str) -> str:
    """The map after :params; empty for a query without parameters."""
    found = re.search(r"^:params (\{.*\})$", header(name), re.MULTILINE | re.DOTALL)
    assert found or not cypher.load(name).parameters, f"{name}.cypher has parameters and no :params line"
    return found[1] if found else "{}"


def returned(name: str) -> list[str]:
    """The columns that the header promises, without explanations in parentheses."""
    if "\nReturns nothing\n" in f"{header(name)}\n":
        return []
    promise = re.split(r"\n(?:\$|In Neo4j Browser)", header(name).partition("\nReturns ")[2])[0].partition(":")[2]
    while (plain := re.sub(r"\([^()]*\)", "", promise)) != promise:
        promise = plain
    return [column.split()[0] for column in promise.split(",")]


@pytest.fixture(scope="module")
def driver(server: Connection) -> Iterator[neo4j.Driver]:
    """The test's own driver, which receives all notifications of the server."""
    with neo4j.GraphDatabase.driver(server.uri, auth=(server.user, server.password)) as opened:
        yield opened


@pytest.fixture(scope="module")
def graph(module_tenant: Tenants) -> Authorizer:
    """A tenant with an entry of every kind in its history."""
    made = module_tenant("gravitino", README_GRAPH)
    made.change("add user:cas", id="once")
    with pytest.raises(Refused):
        made.change("add catalog:mine", by="user:cas")
    return made


def parameters(driver: neo4j.Driver, graph: Authorizer, name: str) -> dict[str, Any]:
    """The example as parsed by the server, with the test's own tenant."""
    with driver.session(database="neo4j") as session:
        found = session.run(neo4j.Query("RETURN " + example(name) + " AS map")).single(strict=True)["map"]
    if FILES[name].parent.name in ("browser", "questions") and "root" not in found:
        last = list(found)[-1]  # other tests have the same names in roots of theirs
        return {**found, last: f"{found[last]} in {graph.tenant}"}
    return {key: graph.tenant if key == "root" else value for key, value in found.items()}


@pytest.mark.parametrize("name", NAMES)
def test_header_names_the_parameters(name: str) -> None:
    query = cypher.load(name)
    assert header(name).startswith(f"{name}.cypher: ")
    query.check(dict.fromkeys(query.parameters))
    with pytest.raises(TypeError, match="surplus"):
        query.check(dict.fromkeys([*query.parameters, "surplus"]))
    for parameter in query.parameters:
        with pytest.raises(TypeError, match=parameter):
            query.check(dict.fromkeys(query.parameters - {parameter}))


def without_comments(name: str) -> str:
    """The first line of a file, and the lines that are no comments."""
    first, rest = FILES[name].read_text(encoding="utf-8").split("\n", 1)
    return first + "\n" + re.sub(r"(?m)^ *//.*\n", "", rest)


@pytest.mark.parametrize("name", NAMES)
def test_run_sends_exactly_the_text_and_the_parameters(name: str) -> None:
    query, sent = cypher.load(name), list[tuple[str, dict[str, Any]]]()
    given: dict[str, Any] = dict.fromkeys(query.parameters)
    query.run(lambda *words: sent.append(words), **given)
    assert sent == [(without_comments(name), given)]
    with pytest.raises(TypeError, match="surplus"):
        query.run(lambda *words: sent.append(words), **given, surplus=None)
    assert len(sent) == 1


def test_header_with_other_parameters_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bad.cypher").write_text("// bad.cypher: nothing\n// $named  STRING  'a'\nRETURN $used AS used\n")
    monkeypatch.setattr(resources, "files", lambda _: tmp_path)
    with pytest.raises(ValueError, match="named, used"):
        cypher.load("bad")


def test_duplicate_base_name_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("load", "mirror"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.cypher").write_text("// same.cypher: nothing\nRETURN 1 AS one\n")
    monkeypatch.setattr(resources, "files", lambda _: tmp_path)
    with pytest.raises(ValueError, match=r"two files are called same\.cypher"):
        cypher.load("same")


def test_files_are_found_by_base_name_and_pasted_ones_are_at_the_top() -> None:
    assert cypher.names() == sorted(FILES)
    top = Path(str(cypher.__file__)).parent
    assert sorted(name for name, file in FILES.items() if file.parent == top) == PASTED


@pytest.mark.parametrize("name", NAMES)
def test_plan_has_no_warning(driver: neo4j.Driver, graph: Authorizer, name: str) -> None:
    with driver.session(database="neo4j") as session, session.begin_transaction() as tx:
        given = parameters(driver, graph, name)
        summary = tx.run("EXPLAIN " + cypher.load(name).text, given).consume()
        tx.rollback()
    # Browser would show a warning with the answer; graph/test_newest.py asks a database that has only one new root
    assert [each for each in summary.gql_status_objects if each.raw_classification in WARNINGS] == []
    noticed = [each for each in summary.gql_status_objects if each.classification.name == "UNRECOGNIZED"]
    # unknown relationship types are not an error on a new graph; misspelled labels and properties are
    known = (
        "MEMBER_OF",
        "HAS_ROLE",
        "ALLOW",
        "DENY",
        "OWNS",
        "TAGGED",
        "CHILD_OF",
        "Change",
        "Role",
        "builtin",
        "exists",
        "load",
        "as_role",
        "request",
        "chain",
        "DroppedRoot",
    )
    assert [
        each.status_description for each in noticed if not any(word in each.status_description for word in known)
    ] == []


@pytest.mark.parametrize("name", NAMES)
def test_example_runs(driver: neo4j.Driver, graph: Authorizer, name: str) -> None:
    given = parameters(driver, graph, name)
    assert given.keys() == cypher.load(name).parameters
    if name == "create_tenant":
        given["root"] += "-other"
    with driver.session(database="neo4j") as session, session.begin_transaction() as tx:
        result = tx.run(cypher.load(name).text, given)
        columns, rows = list(result.keys()), [record.data() for record in result]
        tx.rollback()
    assert columns == returned(name)
    if "\nReturns one row:" in header(name):
        assert len(rows) == 1
    if name in ANSWERS:
        assert rows[0]["answer"] == ANSWERS[name]
    if name == "check":
        assert [acting["allowed"] for answer in rows[0]["answers"] for acting in answer["acting"]] == [True]
    if name in ("privilege", "check_by_name", "explain_by_name", "remedy_by_name"):
        assert rows[0]["allowed"] is True
    if name == "explain":
        assert [way["members"] for way in rows[0]["paths"]] == [["user:bob", "group:readers", "role:analyst"]]


def test_every_text_that_is_sent_is_a_file(graph: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []

    def noting(run: Any) -> Any:
        def noted(self: Any, query: Any, *rest: Any, **named: Any) -> Any:
            sent.append(getattr(query, "text", query))
            return run(self, query, *rest, **named)

        return noted

    for runner in (neo4j.Session, neo4j.Transaction):
        monkeypatch.setattr(runner, "run", noting(runner.run))
    question = ("user:bob", "SELECT_TABLE", "table:hr.public.staff")
    graph.explain(*question)
    list(graph.who(*question[1:]))
    list(graph.which("table", *question[:2]))
    graph.change("add user:dan")
    for name in ("check", "explain", "who", "which", "preconditions", "add", "audit_write"):
        assert without_comments(name) in sent


def test_rule_has_the_same_text_in_every_query() -> None:
    rule = re.compile(r"any\(clause IN \$?clauses WHERE(.*?none\(fact IN atom\.none WHERE fact IN facts\))", re.DOTALL)
    texts = {name: re.sub(r"\s*//.*", "", cypher.load(name).text) for name in NAMES}
    stated = {name: [" ".join(found.split()) for found in rule.findall(text)] for name, text in texts.items()}
    stated = {name: found for name, found in stated.items() if found}
    assert stated.keys() == {"check", "who", "which", "which_below", "which_by_name"}
    assert stated["check"] == stated["who"]
    assert len(stated["check"]) == 1
    assert stated["which"] == stated["which_below"] == stated["which_by_name"]
    assert all(found.endswith(stated["check"][0]) for found in stated["which"])


def test_queries_by_name_contain_the_rule_of_check_once() -> None:
    rule = "any(fact IN atom.any WHERE fact IN facts) AND none(fact IN atom.none WHERE fact IN facts)"
    assert rule in cypher.load("check").text
    by_name = [name for name in NAMES if FILES[name].parent.name == "browser"]
    assert by_name == [f"{name}_by_name" for name in ("check", "explain", "remedy", "which", "who")]
    assert [cypher.load(name).text.count(rule) for name in by_name] == [1] * 5


def test_queries_by_name_share_the_same_text() -> None:
    """Shared parts are the same text, so that a correction must be made in all of them."""
    check, explain, remedy = (cypher.load(f"{name}_by_name").text for name in ("check", "explain", "remedy"))
    shared = check[
        check.index("// 1 the first word") : check.index("WITH *, CASE WHEN problem IS NULL THEN coalesce(verdict")
    ]
    assert len(shared.splitlines()) > 100
    assert shared in explain
    assert shared in remedy
    policy = check[check.index("// 3 its policy") : check.index("// 4 the existing names")]
    facts = _unindented(check[check.index("// 6 the facts of the rule") : check.index("  ORDER BY coalesce(size")])
    for name in ("who_by_name", "which_by_name"):
        assert policy in cypher.load(name).text
    assert facts in _unindented(cypher.load("who_by_name").text)  # which_by_name decides for all objects, as which does


def _unindented(text: str) -> str:
    """Without indents, and without the numbers of the comments."""
    return re.sub(r"^ *(// \d+ )?", "", text, flags=re.MULTILINE)


def test_schema_can_run_repeatedly(driver: neo4j.Driver) -> None:
    with driver.session(database="neo4j") as session:
        for statement in [*cypher.statements("schema"), *cypher.statements("schema")]:
            session.run(statement).consume()
