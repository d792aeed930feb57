"""What the templates draw: tables, bars that are parts of a whole, and histograms. They hold plain values."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from grantpath.graph.files.csv_text import write_csv
from grantpath.graph.messages import counted
from grantpath.spark_sync.reporting.report_figures import Histogram

Value = str | float | None  # of a cell; None: the cell is empty
Kind = Literal["text", "name", "number", "mean", "share"]


@dataclass(frozen=True)
class Column:
    """A column of a table. `most`: the value of a full bar; without it, the column has no bars."""

    title: str
    kind: Kind = "text"
    most: float | None = None

    @property
    def numeric(self) -> bool:
        """Whether the column is sorted by number."""
        return self.kind not in ("text", "name")


@dataclass(frozen=True)
class Table:
    """A table. `rows` are the rows to show; `total` is their number without the limit of the report."""

    key: str  # its id in the page
    label: str  # its content, for screen readers
    columns: Sequence[Column]
    rows: Sequence[Sequence[Value]]
    total: int
    order: str  # the order that decides which rows are shown

    @property
    def csv(self) -> str:
        """The rows as CSV. Shares are numbers from 0 to 1."""
        return _csv([column.title for column in self.columns], self.rows)


@dataclass(frozen=True)
class Part:
    """A part of a whole."""

    label: str
    count: int


@dataclass(frozen=True)
class Parts:
    """A whole and its parts."""

    key: str  # its id in the page
    label: str
    parts: Sequence[Part]

    @property
    def total(self) -> int:
        return sum(part.count for part in self.parts)

    @property
    def csv(self) -> str:
        """The parts as CSV."""
        return _csv([self.label, "Count"], [[part.label, part.count] for part in self.parts])


class Bar(NamedTuple):
    """A bar of a histogram: `users` have `range` objects, at most `high`."""

    users: int
    high: int
    range: str


@dataclass(frozen=True)
class Plot:
    """A histogram with its words. `objects`: the plural of the type; `existing`: the number of all of them."""

    title: str
    objects: str
    existing: int
    histogram: Histogram

    def bars(self) -> Iterator[Bar]:
        found = self.histogram
        for low, high, users in zip(found.low, found.high, found.users, strict=True):
            one = counted(high, self.objects)
            yield Bar(users, high, one if low >= high else f"{low:,} to {high:,} {self.objects}")


def _csv(heads: Sequence[str], rows: Sequence[Sequence[Value]]) -> str:
    file = io.StringIO(newline="")
    write_csv(file, heads, rows)
    return file.getvalue()
