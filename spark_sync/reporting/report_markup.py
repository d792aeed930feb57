"""Builds HTML and SVG. `element` escapes every value that is not markup already."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from grantpath.graph.messages import as_html

_VOID = ("meta", "input", "wbr")  # elements without content


class Markup(str):
    """Markup that `element` built. Any other text is escaped when it becomes part of an element."""

    __slots__ = ()


def element(tag: str, *children: object, **attributes: object) -> Markup:
    """An element. Children and values of attributes are escaped, with control characters shown, unless they are Markup.

    In the name of an attribute, `_` at the end is ignored (for words that Python reserves), and `_` between words means
    `-`. An attribute or child that is None is omitted.
    """
    words = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{as_html(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    if tag in _VOID:
        return Markup(f"<{tag}{words}>")
    return Markup(f"<{tag}{words}>{joined(*children)}</{tag}>")


def joined(*children: object) -> Markup:
    """The children one after the other, escaped as in `element`."""
    return Markup("".join(each if isinstance(each, Markup) else as_html(each) for each in children))


def name(text: str) -> Markup:
    """A reference or another name. It is isolated, so that right-to-left letters in it do not move the text around
    it."""
    return element("bdi", text, class_="name")


class Cell(NamedTuple):
    """A cell of a table: its content, and the number by which it is sorted. Without a number it is sorted by its
    text."""

    content: object
    key: float | None = None


def number(value: int) -> Cell:
    """A cell with a whole number."""
    return Cell(f"{value:,}", value)


def decimal(value: float | None) -> Cell:
    """A cell with a mean; empty for None."""
    return Cell("", -1) if value is None else Cell(f"{value:,.1f}", value)


def percent(share: float) -> str:
    """A share from 0 to 1 as text. Only exactly 0 and 1 are shown as 0% and 100%."""
    if share in (0, 1):
        return f"{share:.0%}"
    if share < 0.0005:
        return "<0.1%"
    return ">99.9%" if share >= 0.9995 else f"{share:.1%}"


def bar(share: float) -> Cell:
    """A cell with a bar for a share from 0 to 1."""
    width = round(max(share * 100, 0.8), 2) if share else 0
    drawn = element(
        "svg",
        element("rect", class_="track", width=100, height=8),
        element("rect", class_="fill", width=width, height=8),
        class_="bar",
        viewBox="0 0 100 8",
        preserveAspectRatio="none",
        aria_hidden="true",
    )
    return Cell(joined(drawn, element("span", percent(share))), share)


def _breakable(title: str) -> list[object]:
    """A heading with places where a long name can be broken."""
    first, *rest = title.split("_")
    return [first, *(joined("_", element("wbr"), part) for part in rest)]


@dataclass(frozen=True)
class ReportTable:
    """A table of a report. `rows` are the rows to show; `total` is the number of rows without the limit of the
    report."""

    key: str  # its id in the page
    label: str  # the content of the table, for screen readers
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    total: int
    order: str  # the order that decides which rows are shown

    def markup(self) -> Markup:
        """The table with its search field. The script of the page sorts and searches the table."""
        if not self.rows:
            return element("p", "None.", class_="none")
        numeric = [any(row[at].key is not None for row in self.rows) for at in range(len(self.columns))]
        head = [
            element(
                "th",
                element("button", *_breakable(title), type="button"),
                scope="col",
                class_="n" if of_numbers else None,
            )
            for title, of_numbers in zip(self.columns, numeric, strict=True)
        ]
        body = [element("tr", *(self._cell(at, cell) for at, cell in enumerate(row))) for row in self.rows]
        cut = f"{len(self.rows):,} of {self.total:,} rows, {self.order}" if self.total > len(self.rows) else ""
        search = element("input", type="search", placeholder="Search", aria_label=f"Search: {self.label}", hidden="")
        return element(
            "div",
            element("div", search, element("span", cut, class_="cut"), element("span", role="status"), class_="tools"),
            element(
                "table",
                element("caption", self.label),
                element("thead", element("tr", *head)),
                element("tbody", *body),
            ),
            class_="listing",
            id=self.key,
        )

    def _cell(self, at: int, cell: Cell) -> Markup:
        numeric = cell.key is not None
        return element(
            "td",
            cell.content,
            data_label=self.columns[at],
            data_key=f"{cell.key:.6g}" if isinstance(cell.key, float) else cell.key,
            class_="n" if numeric else None,
        )
