"""The report in headless Chromium: it sorts and searches, fits its width, requests nothing and runs no other code."""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from grantpath.spark_sync.reporting.report_page import report

from ..oracle import oracle
from ..support import tiers
from ..support.browser_desk import FLAGS
from ..support.plain_access import write_access, write_snapshot

pytestmark = pytest.mark.browser
LONG = "table:hr.public." + "very_long_name_" * 15
FACTS = [
    "add catalog:hr",
    "add catalog:shop",
    "add schema:hr.public",
    *(f"add table:hr.public.t{number}" for number in (1, 2, 10)),
    f"add {LONG}",
    "add role:reader",
    "add role:ghost",
    *(f"add user:{name}" for name in ("ann", "bob", "`<script>document.title = 'owned'</script>`", "`\u202etxt.ann`")),
    "owner user:ann of metalake:main",
    "member user:bob of role:reader",
    "allow USE_CATALOG on catalog:hr to role:reader",
    "allow USE_SCHEMA on catalog:hr to role:reader",
    "allow SELECT_TABLE on table:hr.public.t2 to role:reader",
    "allow SELECT_TABLE on catalog:shop to role:ghost",
]


SINCE = FACTS.index("owner user:ann of metalake:main")  # the page shows what changed by the facts from here on


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "snapshot"
    older = folder.with_name("older")
    made = oracle("gravitino", "main")
    for fact in FACTS[:SINCE]:
        assert made.given(fact) == "done", fact
    write_snapshot(made, older, 4)
    for fact in FACTS[SINCE:]:
        assert made.given(fact) == "done", fact
    return report(write_access(write_snapshot(made, folder)), folder.with_suffix(".html"), since=older).file


@pytest.fixture(scope="module")
def without_changes(file: Path) -> Path:
    """The report of the same snapshot alone."""
    return report(file.with_suffix(""), file.with_name("alone.html")).file


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=tiers.chromium(), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium: Browser, file: Path) -> Iterator[Callable[..., Page]]:
    """Opens the report; at the end nothing but the file was requested, and no message was logged."""
    requests: list[str] = []
    messages: list[str] = []
    contexts = []

    def open_(width: int = 1280, scheme: str = "light") -> Page:
        context = chromium.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
        )
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.goto(file.as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()
    assert set(requests) == {file.as_uri()}
    assert messages == []


def column(page: Page, table: str, at: int) -> list[str]:
    """The shown texts of a column."""
    cells: Locator = page.locator(f"#{table} tbody tr:not([hidden]) td:nth-child({at})")
    return [text.strip() for text in cells.all_inner_texts()]


def test_tables_are_sorted_and_searched_by_the_keyboard(opened: Callable[..., Page]) -> None:
    page = opened()
    search = page.get_by_label("Search: Most exposed objects")
    search.focus()
    page.keyboard.type("TABLE:HR l")
    shown = column(page, "exposed-objects", 1)
    assert sorted(shown) == sorted(["table:hr.public.t1", "table:hr.public.t10", "table:hr.public.t2", LONG])
    assert page.locator("#exposed-objects [role=status]").inner_text().startswith("4 of ")
    page.keyboard.press("Tab")  # from the search field to the first heading
    page.keyboard.press("Enter")
    assert column(page, "exposed-objects", 1) == [*(f"table:hr.public.t{n}" for n in (1, 2, 10)), LONG]
    page.keyboard.press("Enter")
    assert column(page, "exposed-objects", 1) == [LONG, *(f"table:hr.public.t{n}" for n in (10, 2, 1))]
    head = page.locator("#exposed-objects th").first
    assert head.get_attribute("aria-sort") == "descending"
    page.locator("#exposed-objects th button", has_text="Of all users").click()
    shares = column(page, "exposed-objects", 4)
    assert shares == sorted(shares, key=lambda text: -float(text.rstrip("%")))
    assert head.get_attribute("aria-sort") is None


def test_long_tables_are_shortened_but_searched_and_sorted_as_a_whole(opened: Callable[..., Page]) -> None:
    page = opened()
    rows = page.locator("#by-name tbody tr")
    seen = "rows => rows.filter(row => row.checkVisibility()).map(row => row.cells[0].textContent)"
    total, first = rows.count(), rows.evaluate_all(seen)
    assert total > 20 and len(first) == 15
    hidden = rows.last.locator("td").first.text_content()
    assert hidden is not None and hidden not in first
    page.get_by_label("Search: Figures by name").fill(hidden)
    assert hidden in rows.evaluate_all(seen)
    page.get_by_label("Search: Figures by name").fill("")
    assert rows.evaluate_all(seen) == first
    page.locator("#by-name th button").first.click()
    assert sorted(rows.evaluate_all(seen)) != sorted(first) and len(rows.evaluate_all(seen)) == 15
    page.locator("#by-name").get_by_role("button", name=f"Show all {total} rows").click()
    assert len(rows.evaluate_all(seen)) == total


def test_link_saves_a_table_as_a_file(opened: Callable[..., Page], tmp_path: Path) -> None:
    page = opened()
    with page.expect_download() as saved:
        page.get_by_role("link", name="Save as CSV: Widest users").click()
    assert saved.value.suggested_filename == "widest-users.csv"
    saved.value.save_as(tmp_path / "users.csv")
    with (tmp_path / "users.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0][:2] == ["User", "Groups and roles"] and len(rows) == page.locator("#widest-users tr").count()
    assert {"user:bob", "user:\u202etxt.ann"} <= {row[0] for row in rows}


def test_printed_page_has_all_rows(opened: Callable[..., Page]) -> None:
    page = opened()
    page.emulate_media(media="print")
    rows = page.locator("#by-name tbody tr")
    assert rows.count() > 20 and rows.evaluate_all("rows => rows.every(row => row.checkVisibility())")


def test_narrow_page_is_not_endless(opened: Callable[..., Page], chromium: Browser, without_changes: Path) -> None:
    assert opened(420).evaluate("document.documentElement.scrollHeight") < 20_000
    page = chromium.new_page(viewport={"width": 420, "height": 900})
    page.goto(without_changes.as_uri())
    assert page.evaluate("document.documentElement.scrollHeight") < 16_000
    page.close()


def test_hostile_names_are_text_in_the_browser(opened: Callable[..., Page]) -> None:
    page = opened()
    page.get_by_label("Search: Widest users").fill("script")
    assert column(page, "widest-users", 1) == ["user:`<script>document.title = 'owned'</script>`"]
    assert page.title() == "Access report: metalake:main, revision 5"
    page.get_by_label("Search: Widest users").fill("txt")
    assert column(page, "widest-users", 1) == ["$'user:\\u202etxt.ann'"]


def test_policy_of_the_page_stops_other_code_and_requests(chromium: Browser, file: Path) -> None:
    page = chromium.new_page()
    stopped: list[str] = []
    page.on("console", lambda message: stopped.append(message.text))
    page.goto(file.as_uri())
    page.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<img src=\"https://example.com/a.png\" onerror=\"x\">')"
    )
    added = "const s = document.createElement('script'); s.textContent = 'document.title = 1'; document.body.append(s)"
    page.evaluate(added)
    assert page.title() == "Access report: metalake:main, revision 5"
    assert all("Content Security Policy" in text for text in stopped) and len(stopped) >= 2
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 910, 420])
def test_page_fits_its_width(opened: Callable[..., Page], width: int, scheme: str) -> None:
    page = opened(width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    own = "" if width == 910 else ", .listing"  # in between, wide tables scroll in their section
    wider = "nodes => nodes.filter(node => node.scrollWidth > node.clientWidth + 1).map(node => node.textContent)"
    assert page.locator(f"section, td, h2, h3, p, dd, dt, figcaption, th button{own}").evaluate_all(wider) == []
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 28)"
    assert dark is (scheme == "dark")
