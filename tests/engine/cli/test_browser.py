"""Neo4j Browser in headless Chromium: `grantpath params` and the files of cypher/ answer as Python does."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from grantpath.engine import Authorizer
from grantpath.engine.cli.change.change_commands import read_statements
from grantpath.engine.tenants import opening, registry
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.store import Store

from ...support import tiers
from ...support.browser_desk import FLAGS, Desk, drawn, printed, read
from ...support.named_roots import COMPANY, named_root

pytestmark = pytest.mark.browser

ODD = "user:`o' \\``\u200f😀`"
FACTS = [
    "add catalog:hr",
    "add schema:hr.public",
    "add table:hr.public.staff",
    "add table:hr.public.salaries",
    "add role:analyst",
    "add role:auditor",
    "member user:bob of group:readers",
    "member group:readers of role:analyst",
    f"member {ODD} of role:analyst",
    "member user:eve of role:analyst",
    "member user:eve of role:auditor",
    "add user:stranger",
    "owner user:ann of catalog:hr",
    "allow USE_CATALOG on metalake:acme to role:analyst",
    "allow USE_SCHEMA on catalog:hr to role:analyst",
    "allow SELECT_TABLE on schema:hr.public to role:analyst",
    "deny SELECT_TABLE on table:hr.public.salaries to role:auditor",
]
ALLOWED = ("user:bob", "load_table", "table:hr.public.staff")
QUESTIONS = [
    ALLOWED,
    ("user:eve", "load_table", "table:hr.public.salaries"),
    ("user:stranger", "SELECT_TABLE", "table:hr.public.staff"),
    ("user:ann", "load_table", "table:hr.public.salaries"),
    (ODD, "load_table", "table:hr.public.salaries"),
]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=tiers.chromium(), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def desk(chromium: Browser, server: Connection) -> Desk:
    context = chromium.new_context(
        viewport={"width": 1120, "height": 1000},
        device_scale_factor=2,  # a picture that is sharp on every screen
        permissions=["clipboard-read", "clipboard-write"],
    )
    context.set_default_timeout(60_000)
    expect.set_options(timeout=120_000)
    desk = Desk(context.new_page())
    desk.log_in(json.loads(printed("browser", "--json")))
    return desk


@pytest.fixture(scope="module")
def graph(store: Store) -> Iterator[Authorizer]:
    with named_root(store, "gravitino", "acme", FACTS) as made:
        yield made


def line_for(graph: Authorizer, question: tuple[str, ...], query: str = "check-and-explain") -> tuple[str, Any]:
    """The :params line for a question, and its parameters."""
    arguments = ["params", *question, "--for", query, "--root", graph.tenant]
    return printed(*arguments).rstrip("\n"), json.loads(printed(*arguments, "--json"))["params"]


@pytest.mark.parametrize(
    "question",
    [QUESTIONS[0], *(pytest.param(question, marks=pytest.mark.slow) for question in QUESTIONS[1:])],
    ids=[f"{question[0][5:8]} {question[2]}" for question in QUESTIONS],
)
def test_check_and_explain_agree_with_python(desk: Desk, graph: Authorizer, question: tuple[str, ...]) -> None:
    subject, name, object_ = question
    explanation = graph.explain(subject, name, object_)
    decision = explanation.decision
    line, meant = line_for(graph, question)
    desk.clear()
    assert desk.set_parameters(line) == meant

    _, row = desk.ask("check")
    [acting] = read(row["answers"])[0]["acting"]
    assert acting["allowed"] is decision.allowed
    assert {row[mark] for mark in ("revision", "begun", "revision_after", "begun_after")} == {str(decision.revision)}
    refs = {place["at"]: place["ref"] for place in meant["places"]}
    assert set(decision.because) <= {
        in_words(found["fact"], by, refs) for found in acting["found"] for by in found["by"] or [None]
    }
    for denial in (word for word in decision.missing if word.startswith("DENY")):
        assert any(denial.startswith(in_words(found["fact"], None, refs)) for found in acting["found"])

    frame, row = desk.ask("explain")
    paths = read(row["paths"])
    assert sorted(map(as_path, paths)) == explanation.paths
    assert drawn(frame) == {name for row in paths for path in row["path"] for name in names_on(path)}


@pytest.mark.slow
@pytest.mark.parametrize("query", ["who", "which"])
def test_lists_agree_with_python(desk: Desk, graph: Authorizer, query: str) -> None:
    subject, name, object_ = ALLOWED
    answers = {"who": list(graph.who(name, object_)), "which": list(graph.which("table", subject, name))}
    line, meant = line_for(graph, ALLOWED, query)
    desk.clear()
    assert desk.set_parameters(line) == meant
    assert answers[query]
    assert desk.ask(query)[1]["answer"] == "[" + ", ".join(f'"{ref}"' for ref in answers[query]) + "]"


@pytest.fixture(scope="module")
def company(store: Store) -> Iterator[Authorizer]:
    """The company of the README's examples."""
    registry.remove(store, "metalake:ml")
    made = Authorizer(store, *opening.open_root(store, "metalake:ml", "gravitino", may_create=True))
    made.change_all([text for _, text in read_statements(str(COMPANY))])
    yield made
    registry.remove(store, made.tenant)


@pytest.mark.slow
def test_the_picture_shows_the_path(desk: Desk, company: Authorizer) -> None:
    desk.clear()
    desk.set_parameters(line_for(company, ALLOWED)[0])
    frame, _ = desk.ask("explain")
    assert drawn(frame) == {"bob", "analyst", "ml", "hr", "public", "staff"}
    # captions as a person sets them: a click on the type, a click on the property
    frame.get_by_test_id("property-details-overview-relationship-type-ALLOW").click()
    desk.page.get_by_text("privilege", exact=True).click()
    captions = frame.locator("g.relationship text").all_text_contents()
    for caption in ("HAS_ROLE", "USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE", "CHILD_OF"):
        assert caption in captions


def in_words(fact: str, by: str | None, refs: dict[str, str]) -> str:
    """A fact of check.cypher in the notation of Decision.because, or of .missing if it names no principal."""
    *edge, at = fact.split(" ")
    if edge == ["OWNS"]:
        return f"{by} owns {refs[at]}"
    return f"{by} has {' '.join(edge)} on {refs[at]}" if by else f"{' '.join(edge)} on {refs[at]} to "


def as_path(way: dict[str, Any]) -> str:
    """A path of explain.cypher in the notation of Explanation.paths, derived from the paths that Browser draws."""
    *held, granted, tree = way["path"]
    [grant] = granted["segments"]
    privilege = grant["relationship"]["properties"].get("privilege")
    words = [held[0]["start"]["properties"]["ref"]]
    for step in [step for path in held for step in path["segments"]]:
        words += [f"-{step['relationship']['type']}->", step["end"]["properties"]["ref"]]
    edge = " ".join(filter(None, [grant["relationship"]["type"], privilege]))
    words += [f"-{edge}->", grant["end"]["properties"]["ref"]]
    for step in reversed(tree["segments"]):
        words += ["<-CHILD_OF-", step["start"]["properties"]["ref"]]
    return " ".join(words)


def names_on(path: dict[str, Any]) -> set[str]:
    """The names of a path's nodes."""
    return {node["properties"]["name"] for step in path["segments"] for node in (step["start"], step["end"])}
