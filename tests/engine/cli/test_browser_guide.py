"""The guide that `grantpath browser` serves, in headless Chromium: its style, its cards, and the answers of each."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from grantpath import cypher
from grantpath.cypher.catalogue import catalogue
from grantpath.engine import Authorizer
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.store import Store

from ...support import tiers
from ...support.browser_desk import FLAGS, Desk, patiently, printed
from ...support.named_roots import named_root
from .test_browser import FACTS

pytestmark = pytest.mark.browser

ROOT = "metalake:guide"
CARDS = [*cypher.texts("browser"), *catalogue()]


@pytest.fixture(scope="module")
def graph(store: Store) -> Iterator[Authorizer]:
    with named_root(store, "lakehouse", "guide", [fact.replace("metalake:acme", ROOT) for fact in FACTS]) as made:
        yield made


@pytest.fixture(scope="module")
def page(server: Connection) -> Iterator[Page]:
    """Browser with the guide, as the printed address opens it."""
    at = json.loads(printed("browser", "--root", ROOT, "--json"))
    flags = [flag.replace("EXCLUDE 127.0.0.1", "EXCLUDE 127.0.0.1, EXCLUDE localhost") for flag in FLAGS]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=tiers.chromium(), args=flags)
        context = browser.new_context(
            viewport={"width": 1400, "height": 1000}, permissions=["clipboard-read", "clipboard-write"]
        )
        context.set_default_timeout(60_000)
        expect.set_options(timeout=120_000)
        opened = context.new_page()
        opened.goto(at["guide"])
        opened.get_by_test_id("username").fill(at["user"])
        opened.get_by_test_id("password").fill(Path(at["password_file"]).read_text().strip())
        opened.get_by_test_id("connect").click()
        expect(opened.get_by_text("You are connected as user neo4j")).to_be_visible()
        yield opened
        browser.close()


def test_the_style_is_accepted_and_a_card_fills_the_editor(page: Page, graph: Authorizer) -> None:
    page.get_by_text(":style", exact=True).click()
    style = page.get_by_test_id("frame").first
    expect(style).to_contain_text("relationship.ALLOW")
    assert re.search(r"relationship\.DENY \{\s+color: #c62828;", style.inner_text())
    page.get_by_text("who is in a group", exact=True).click()
    expect(page.get_by_role("heading", name="who is in a group")).to_be_visible()
    boxes = page.locator("pre.runnable:visible")
    expect(boxes).to_have_count(2)
    header, line, query = cypher.load("who_is_in_a_group").text.partition("// :params ")
    assert (header[:3], line) == ("// ", "// :params ")
    assert boxes.nth(1).inner_text().strip() == query.partition("\n")[2].strip()
    editor = expect(page.get_by_test_id("activeEditor"))
    patiently(boxes.nth(0).click, editor.to_contain_text, f":params {{group: 'group:readers', root: '{ROOT}'")
    parameters = expect(page.get_by_test_id("rawParamData").first)
    patiently(page.get_by_test_id("editor-Run").click, parameters.to_contain_text, "group:readers")


def test_a_guide_keeps_its_root_when_another_one_is_written(graph: Authorizer, server: Connection) -> None:
    def written(*arguments: str) -> str:
        """The address of the page."""
        return str(json.loads(printed("browser", "--json", *arguments))["guide"].partition("&arg=")[2])

    def read(address: str) -> str:
        return str(urlopen(address).read().decode())

    mine = written("--root", ROOT)
    other, usual = written("--root", "metalake:other"), written()
    assert ROOT in read(mine)
    assert "metalake:other" in read(other)
    assert "metalake:ml" in read(usual)


@pytest.mark.parametrize("name", tiers.others_slow(CARDS[5:] + CARDS[:5]))
def test_every_card_gives_the_answer_of_the_driver(page: Page, graph: Authorizer, name: str) -> None:
    text = cypher.load(name).text
    line = re.search(r"^// (:params \{.*\})$", text, re.MULTILINE)
    assert line
    words = line[1].replace("'metalake:ml'", f"'{ROOT}'")
    if "root:" not in words:  # by name: the object or type says which root
        words = re.sub(r"((?:object|type): '[^']*)'", rf"\1 in {ROOT}'", words)
    desk = Desk(page)
    desk.clear()
    given: dict[str, Any] = desk.set_parameters(words)
    wanted = list(cypher.load(name).run(graph.store.read, **given))
    frame = desk.run(text)
    table = frame.get_by_test_id("cypherFrameSidebarTable")
    error = frame.get_by_test_id("cypherFrameErrorMessage")
    expect(table.or_(error)).to_be_visible()
    assert not error.is_visible(), f"{name}.cypher: {error.inner_text()}"
    table.click()
    contents = frame.get_by_test_id("frame-loaded-contents")
    expect(contents.locator("tbody tr")).to_have_count(len(wanted))
    shown = " ".join(contents.inner_text().split())
    for row in wanted:
        for value in row.values():
            if isinstance(value, str):
                assert " ".join(value.split()) in shown
