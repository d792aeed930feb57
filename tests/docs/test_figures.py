"""The pages show the measured figures of docs/figures.yaml, and no other ones."""

import re
from pathlib import Path

import pytest

from .figures import DOCS, MARKED, PAGES, blocks, marked_in

MEASURED = re.compile(r"\d (?:ms|µs|MiB)\b|\d s\b|times a bare|times as long|(?:checks|rows|changes) a second")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_page_shows_the_figures_of_the_file(page: Path) -> None:
    shown, made = marked_in(page), blocks(page)
    assert shown, "the page has no figures between marks"
    assert shown == {name: made[name] for name in shown}, "bring the page up to date: python -m tests.docs.figures"


def test_every_figure_of_the_file_is_shown() -> None:
    assert {name for page in PAGES for name in marked_in(page)} == {*blocks(DOCS / "index.md")}


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_no_figure_stands_outside_of_the_marks(page: str) -> None:
    text = MARKED.sub("", (DOCS.parent / page).read_text(encoding="utf-8"))
    assert MEASURED.findall(text) == []
