"""Neo4j Browser in headless Chromium: the output of `grantpath params` and the files of cypher/ give Python's answers.

GRANTPATH_SCREENSHOT=docs/browser.png takes the README's picture of the drawn path.
"""

import io
import json
import os
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from grantpath import cypher
from grantpath.engine import Authorizer
from grantpath.engine.cli import main
from grantpath.engine.cli.change_commands import read_statements
from grantpath.engine.tenants import opening, registry
from grantpath.graph.connection import Connection
from grantpath.graph.store import Store

from ..support import tiers
from ..support.named_roots import COMPANY, named_root

pytestmark = pytest.mark.browser

FLAGS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # Browser asks for fonts and reports; not from here
]
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


def printed(*arguments: str) -> str:
    """The output of a command."""
    with redirect_stdout(io.StringIO()) as out:
        assert main.main([*arguments]) == 0
    return out.getvalue()


class Desk:
    """Browser as a person uses it: the person pastes and runs a text, and its frame appears on top."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def log_in(self, at: dict[str, str]) -> None:
        """Opens Browser at the address and with the login that `grantpath browser` prints."""
        self.page.goto(at["browser"])
        address = self.page.get_by_test_id("boltaddress")
        expect(address).to_have_value(at["uri"].removeprefix("bolt://"))
        self.page.get_by_test_id("username").fill(at["user"])
        self.page.get_by_test_id("password").fill(Path(at["password_file"]).read_text().strip())
        self.page.get_by_test_id("connect").click()
        expect(self.page.get_by_text("You are connected as user neo4j")).to_be_visible()
        expect(self.page.get_by_test_id("frame")).to_have_count(2)  # the other welcomes

    def clear(self) -> None:
        """Closes all frames."""
        self._enter(":clear")
        expect(self.page.get_by_test_id("frame")).to_have_count(0)

    def run(self, text: str) -> Locator:
        """Pastes and runs a text; returns its frame."""
        frames = self.page.get_by_test_id("frame")
        count = frames.count()
        self._enter(text)
        expect(frames).to_have_count(count + 1)
        return frames.first

    def _enter(self, text: str) -> None:
        self.page.evaluate("text => navigator.clipboard.writeText(text)", text)
        self.page.get_by_test_id("activeEditor").locator("textarea").first.focus()
        self.page.keyboard.press("Control+V")
        self.page.get_by_test_id("editor-Run").click()

    def set_parameters(self, line: str) -> Any:
        """Runs a :params line; returns the parameters that Browser reports."""
        return read(self.run(line).get_by_test_id("rawParamData").inner_text())

    def ask(self, query: str) -> tuple[Locator, dict[str, str]]:
        """Pastes a file of cypher/; returns its frame and the one row of its table view, by column."""
        frame = self.run(cypher.load(query).text)
        table = frame.get_by_test_id("cypherFrameSidebarTable")
        error = frame.get_by_test_id("cypherFrameErrorMessage")
        expect(table.or_(error)).to_be_visible()
        assert not error.is_visible(), f"{query}.cypher: {error.inner_text()}"
        table.click()
        contents = frame.get_by_test_id("frame-loaded-contents")
        expect(contents.locator("tbody tr")).to_have_count(1)
        columns = [text.strip() for text in contents.locator("th").all_inner_texts() if text.strip()]
        cells = contents.locator("tbody td").all_inner_texts()[-len(columns) :]
        return frame, dict(zip(columns, map(str.strip, cells), strict=True))


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
    expect.set_options(timeout=60_000)
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
    assert set(decision.because) <= {in_words(found["fact"], found["by"], refs) for found in acting["found"]}
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
    if file := os.environ.get("GRANTPATH_SCREENSHOT"):
        take_picture(frame, Path(file))


def read(shown: str) -> Any:
    """The value that Browser shows as JSON, except that it does not escape backslashes."""
    return json.loads(shown.replace("\\", "\\\\"))


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


def drawn(frame: Locator) -> set[str]:
    """The captions of the nodes in the graph view; empty if Browser has nothing to draw."""
    graph = frame.get_by_test_id("cypherFrameSidebarVisualization")
    if not graph.is_visible():
        return set()
    graph.click()
    nodes = frame.locator("g.layer.nodes g.node")
    expect(nodes.first).to_be_visible()
    return {"".join(node.locator("text").all_text_contents()).strip() for node in nodes.all()}


def take_picture(frame: Locator, file: Path) -> None:
    """A picture of the frame with the query's first line, the path and the legend, after the nodes stop moving."""
    frame.page.keyboard.press("Escape")
    frame.get_by_text("Overview").click()
    frame.page.wait_for_timeout(5_000)
    frame.screenshot(path=file)
