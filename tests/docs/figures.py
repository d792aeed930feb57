"""Writes the measured figures of docs/figures.yaml into the pages. Run it as a module to update the pages.

In a page, each table or paragraph is between `<!-- figures: NAME -->` and `<!-- end -->`.
"""

import re
import textwrap
from pathlib import Path
from typing import Any

import yaml

from .policy_pages import markdown

DOCS = Path(__file__).parents[2] / "docs"
SOURCE = DOCS / "figures.yaml"
PAGES = [DOCS.parent / "README.md", DOCS / "index.md", DOCS / "peers.md", DOCS / "performance.md"]
MARKED = re.compile(r"(<!-- figures: ([a-z ]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def blocks(page: Path) -> dict[str, str]:
    """The Markdown of each table and paragraph, by name, for a page."""
    source: dict[str, Any] = yaml.safe_load(SOURCE.read_text(encoding="utf-8"))
    values = {**source["values"], "docs": "" if page.parent == DOCS else "docs/"}
    texts = {name: _wrapped(text.format(**values)) for name, text in source["texts"].items()}
    tables = {name: markdown([_filled(row, values) for row in rows]) for name, rows in source["tables"].items()}
    return texts | tables


def marked_in(page: Path) -> dict[str, str]:
    """The tables and paragraphs that a page shows, by name."""
    return {name: shown for _, name, shown, _ in MARKED.findall(page.read_text(encoding="utf-8"))}


def update(page: Path) -> None:
    """Writes the figures into a page."""
    made, text = blocks(page), page.read_text(encoding="utf-8")
    page.write_text(MARKED.sub(lambda found: found[1] + made[found[2]] + found[4], text), encoding="utf-8")


def _filled(row: list[str], values: dict[str, Any]) -> tuple[str, ...]:
    return tuple(cell.format(**values) for cell in row)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False) + "\n"


if __name__ == "__main__":
    for each in PAGES:
        update(each)
