"""Neo4j Browser in headless Chromium, as a person uses it."""

import io
import json
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

from grantpath import cypher
from grantpath.engine.cli import main

FLAGS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # Browser asks for fonts and reports; not from here
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
        patiently(lambda: self._enter(":clear"), expect(self.page.get_by_test_id("frame")).to_have_count, 0)

    def run(self, text: str) -> Locator:
        """Pastes and runs a text; returns its frame."""
        frames = self.page.get_by_test_id("frame")
        patiently(lambda: self._enter(text), expect(frames).to_have_count, frames.count() + 1)
        return frames.first

    def _enter(self, text: str) -> None:
        self.page.evaluate("text => navigator.clipboard.writeText(text)", text)
        self.page.get_by_test_id("activeEditor").locator("textarea").first.focus()
        self.page.keyboard.press("Control+A")
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


def patiently(act: Callable[[], object], expected: Callable[..., None], value: Any) -> None:
    """Acts until the page is as expected, three times at most: on a busy machine Browser loses keys and clicks."""
    for _ in range(2):
        act()
        with suppress(AssertionError):
            expected(value, timeout=120_000)
            return
    act()
    expected(value)


def read(shown: str) -> Any:
    """The value that Browser shows as JSON, except that it does not escape backslashes."""
    return json.loads(shown.replace("\\", "\\\\"))


def drawn(frame: Locator) -> set[str]:
    """The captions of the nodes in the graph view; empty if Browser has nothing to draw."""
    graph = frame.get_by_test_id("cypherFrameSidebarVisualization")
    if not graph.is_visible():
        return set()
    graph.click()
    nodes = frame.locator("g.layer.nodes g.node")
    expect(nodes.first).to_be_visible()
    return {"".join(node.locator("text").all_text_contents()).strip() for node in nodes.all()}
