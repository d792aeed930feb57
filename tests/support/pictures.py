"""Takes the pictures of the README and the docs, in headless Chromium: python -m tests.support.pictures

It starts the embedded server if necessary, and needs Chromium. It creates the root metalake:ml with the company of
docs/examples, and removes it at the end; it does not replace a root of this name.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from grantpath import cypher
from grantpath.engine import Authorizer
from grantpath.engine.cli.change.change_commands import read_statements
from grantpath.engine.tenants import registry

from . import tiers
from .browser_desk import FLAGS, Desk, drawn, printed
from .named_roots import COMPANY, COMPANY_ROOT

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
DENIED = "deny SELECT_TABLE on catalog:hr to role:analyst"
CHECK = ":params {subject: 'user:bob', operation: 'load_table', object: 'table:hr.public.staff'}"
EVERYTHING = """// the whole company: the object tree, ownership, memberships, grants
MATCH path = (one:Entity {root: 'metalake:ml'})-[:CHILD_OF|OWNS|MEMBER_OF|HAS_ROLE|ALLOW|DENY]->(other)
WHERE one.builtin IS NULL
RETURN path
"""
MOVING = 3_000  # milliseconds until the nodes rest
PLACES = {  # in pixels of the drawing
    "bob": (130, 70),
    "analyst": (480, 70),
    "ann": (910, 70),
    "staff": (130, 330),
    "public": (390, 330),
    "hr": (650, 330),
    "ml": (910, 330),
}


@dataclass(frozen=True)
class Picture:
    """A query, after these changes."""

    name: str
    changes: tuple[str, ...]
    query: str


EXPLAIN = cypher.load("explain_by_name").text
PICTURES = [
    Picture("allowed", (), EXPLAIN),
    Picture("denied", (DENIED,), EXPLAIN),
    Picture("company", (), EVERYTHING),
]


def main() -> None:
    at = json.loads(printed("browser", "--json"))
    FOLDER.mkdir(exist_ok=True)
    flags = [flag.replace("EXCLUDE 127.0.0.1", "EXCLUDE 127.0.0.1, EXCLUDE localhost") for flag in FLAGS]
    with sync_playwright() as playwright, Authorizer.open(COMPANY_ROOT, "gravitino", create=True) as auth:
        try:
            auth.change_all([text for _, text in read_statements(str(COMPANY))])
            browser = playwright.chromium.launch(executable_path=tiers.chromium(), args=flags)
            page = opened(browser, at)
            for picture in PICTURES:
                auth.change_all(picture.changes)
                take(Desk(page), picture)
        finally:
            registry.remove(auth.store, auth.tenant)


def opened(browser: Browser, at: dict[str, str]) -> Page:
    """Browser with the style, at the address of the guide."""
    context = browser.new_context(
        viewport={"width": 1640, "height": 1000},
        device_scale_factor=1.5,
        permissions=["clipboard-read", "clipboard-write"],
    )
    expect.set_options(timeout=120_000)
    page = context.new_page()
    page.goto(at["guide"])
    page.get_by_test_id("username").fill(at["user"])
    page.get_by_test_id("password").fill(Path(at["password_file"]).read_text().strip())
    page.get_by_test_id("connect").click()
    expect(page.get_by_text("You are connected as user neo4j")).to_be_visible()
    page.get_by_text(":style", exact=True).click()
    expect(page.get_by_test_id("frame").first).to_contain_text("relationship.ALLOW")
    desk = Desk(page)
    desk.run(":config autoComplete: false")  # draw the paths of the query, and no further relationships
    return page


def take(desk: Desk, picture: Picture) -> None:
    """Runs the query, puts each node in its place, and takes the picture of the frame."""
    desk.clear()
    desk.set_parameters(CHECK)
    frame = desk.run(picture.query)
    expect(frame.get_by_test_id("cypherFrameSidebarVisualization")).to_be_visible()
    names = drawn(frame)
    frame.get_by_label("Collapse the node properties display").click()
    assert names <= set(PLACES), names
    desk.page.wait_for_timeout(MOVING)
    area = frame.locator("svg.neod3viz").bounding_box()
    assert area
    mouse = desk.page.mouse
    for node in frame.locator("g.layer.nodes g.node").all():
        x, y = PLACES["".join(node.locator("text").all_text_contents()).strip()]
        box = node.bounding_box()
        assert box
        mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 4)
        mouse.down()
        mouse.move(area["x"] + x, area["y"] + y - box["height"] / 4, steps=10)
        mouse.up()
    mouse.move(area["x"] + 5, area["y"] + 5)
    desk.page.evaluate("window.getSelection().removeAllRanges()")
    desk.page.wait_for_timeout(MOVING)
    frame.screenshot(path=FOLDER / f"{picture.name}.png")


if __name__ == "__main__":
    main()
