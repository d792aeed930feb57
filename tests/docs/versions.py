"""Writes the table of docs/versions.yaml into docs/reference/versions.md. Run it as a module to update the page."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import yaml

from .policy_pages import Rows, markdown

DOCS = Path(__file__).parents[2] / "docs"
SOURCE = DOCS / "versions.yaml"
PAGE = DOCS / "reference" / "versions.md"
MARKED = re.compile(r"(<!-- versions -->\n)(.*?)(<!-- end -->)", re.DOTALL)
NOTICE = timedelta(days=60)


@dataclass(frozen=True)
class Version:
    """A version of a product; see docs/versions.yaml."""

    product: str
    remedy: str
    version: str
    part: str
    tests: str
    package: str | None = None
    release: str | None = None
    ends: date | None = None
    until: str | None = None
    kept: str | None = None
    source: str | None = None


def versions(source: str) -> list[Version]:
    """The versions of a file like docs/versions.yaml. Raises TypeError for a key that is missing or unknown."""
    file: dict[str, Any] = yaml.safe_load(source)
    return [
        Version(name, product["remedy"], package=product.get("package"), **each)
        for name, product in file.items()
        for each in product["versions"]
    ]


def problems(listed: list[Version], today: date) -> Iterator[str]:
    """What someone has to do about these versions on this day."""
    for each in listed:
        name = f"{each.product} {each.version}"
        if (each.ends is None) == (each.until is None):
            yield f"{name}: write either `ends` or `until`"
        elif each.ends is None:
            if each.kept is not None:
                yield f"{name}: `kept` is for a version whose support ends on a known day"
        elif each.source is None:
            yield f"{name}: name the source of the day"
        elif each.ends - today < NOTICE and each.kept is None:
            yield (
                f"{name}: its support ends on {each.ends}; {each.remedy}, and take the row out of docs/versions.yaml, "
                "or say there why it is `kept`"
            )
        elif each.ends - today >= NOTICE and each.kept is not None:
            yield f"{name}: its support ends only on {each.ends}; take out `kept`"


def table(listed: list[Version]) -> str:
    """The table of the page."""
    rows: Rows = [("", "version", "", "tests that run with it", "support ends")]
    before = ""
    for each in listed:
        shown = each.version if each.release is None else f"{each.version} ({each.release})"
        name, before = ("" if each.product == before else each.product), each.product
        rows.append((name, shown, each.part, each.tests, _end(each)))
    return markdown(rows)


def shown_in(page: str) -> str:
    """The table that a page has between the marks."""
    found = MARKED.search(page)
    assert found, f"{PAGE} has no marks"
    return found[2]


def _end(version: Version) -> str:
    text = version.until if version.ends is None else str(version.ends)
    linked = f"[{text}]({version.source})" if version.source else str(text)
    return linked if version.kept is None else f"**{linked}**; kept: {version.kept}"


if __name__ == "__main__":
    made = table(versions(SOURCE.read_text(encoding="utf-8")))
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(MARKED.sub(lambda found: found[1] + made + found[3], text), encoding="utf-8")
