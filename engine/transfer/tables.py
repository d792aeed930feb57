"""The tables of a bulk import in memory, and the problems of their rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from grantpath.engine.transfer.table_formats import Format
from grantpath.graph.errors import InvalidInput
from grantpath.graph.messages import counted, short

Ints = npt.NDArray[np.int64]
TABLES: Mapping[str, Sequence[str]] = {
    "subjects": ("ref",),
    "objects": ("ref",),
    "members": ("member", "of"),
    "owners": ("object", "owner"),
    "tags": ("object", "tag"),
    "grants": ("effect", "privilege", "object", "subject"),
}
ENDS: Mapping[str, Sequence[str]] = {"members": ("until",), "grants": ("until",)}  # columns that may be missing
# The statement for a row of each table, without its end.
SAY: Mapping[str, str] = {
    "subjects": "add {0}",
    "objects": "add {0}",
    "members": "member {0} of {1}",
    "owners": "owner {1} of {0}",
    "tags": "tag {0} with {1}",
    "grants": "{0} {1} on {2} to {3}",
}
SHOWN = 20  # problems and facts in a message
DESCRIBED = 1_000  # rows whose problems are compared, to show equal problems once
MAX_ROWS = 20_000_000  # of one table
MAX_LINE_BYTES = 1_000_000  # of a row of a text table, or a value in Parquet
_PART = 2**40  # more than the lines of a file


def said(table: str, row: Sequence[str]) -> str:
    """The statement for a row of a table, with its end if it has one."""
    until = "".join(row[len(TABLES[table]) :])
    return SAY[table].format(*row) + (f" until {until}" if until else "")


@dataclass(frozen=True)
class Column:
    """A column as a dictionary: the distinct values, and for each row the index of its value."""

    codes: Ints
    values: Sequence[str]


@dataclass(frozen=True)
class Source:
    """The file of a table, or the part files in its folder, in the order of their names.

    A row has a number that stands for its part file and its line there (in Parquet, its row).
    """

    table: str
    path: Path
    parts: tuple[Path, ...]
    format: Format

    def number(self, part: int, line: int) -> int:
        """The number of a row."""
        return part * _PART + line

    def place(self, number: int) -> str:
        """The file and the line of a row, as messages name them."""
        part, line = divmod(number, _PART)
        return f"{self.parts[part]}: row {line}" if self.format == "parquet" else f"{self.parts[part]}:{line}"


@dataclass(frozen=True)
class Table:
    """One table: its source (None if it has none), its columns, and the number of each row in the source."""

    name: str
    source: Source | None
    columns: Mapping[str, Column]
    rows: Ints

    def __len__(self) -> int:
        return len(self.rows)


@dataclass
class Problems:
    """The problems of an import, by table and row. Texts are computed only for the problems that may be shown."""

    _found: list[tuple[Source, Ints, Callable[[int], str]]] = field(default_factory=list)

    def row(self, source: Source, number: int, text: str) -> None:
        """Adds the problem of one row, by its number in the source."""
        self._found.append((source, np.array([number], dtype=np.int64), lambda _: text))

    def rows(self, table: Table, rows: Ints, describe: Callable[[int], str]) -> None:
        """Adds rows of a table that break a rule; `describe(row)` returns the text."""
        if table.source and len(rows):
            by_number = dict(zip(table.rows[rows].tolist(), rows.tolist(), strict=True))
            self._found.append((table.source, table.rows[rows], lambda number: describe(by_number[number])))

    def raise_any(self) -> None:
        """Raises InvalidInput if there are problems, with their number and the first of them."""
        bad = sorted({(list(TABLES).index(source.table), int(row)) for source, rows, _ in self._found for row in rows})
        if not bad:
            return
        folded = self._folded(bad)
        texts = [
            f"{place}: {text}" + (f" (and {counted(count - 1, 'other rows')})" if count > 1 else "")
            for (_, text), (place, count) in folded.items()
        ]
        if more := len(bad) - sum(count for _, count in folded.values()):
            texts.append(f"... and {more:,} more")
        raise InvalidInput(f"nothing is loaded, {counted(len(bad), 'bad rows')}:", *texts)

    def _folded(self, bad: Sequence[tuple[int, int]]) -> dict[tuple[int, str], tuple[str, int]]:
        """The first SHOWN texts of these rows, by table and text: the place of the first row, and the number of rows
        with the same text."""
        folded: dict[tuple[int, str], tuple[str, int]] = {}
        for table, row in bad[:DESCRIBED]:
            source, describe = next(
                (source, describe)
                for source, rows, describe in self._found
                if source.table == list(TABLES)[table] and row in rows
            )
            key = (table, describe(row))
            if key in folded:
                place, count = folded[key]
                folded[key] = place, count + 1
            elif len(folded) < SHOWN:
                folded[key] = source.place(row), 1
        return folded


def check_columns(where: str, found: Sequence[str], wanted: Sequence[str], optional: Sequence[str] = ()) -> None:
    """Raises InvalidInput, which begins with `where`, unless these are the columns of a table, in any order."""
    names = ", ".join([*wanted, *(f"{each} (if needed)" for each in optional)])
    for name in found:
        if name not in (*wanted, *optional):
            apart = [each for each in ";\t|" if name.split(each)[0] in wanted]
            hint = f"; separate them by commas, not by {apart[0]!r}" if apart else ""
            raise InvalidInput(f"{where}: the column {short(name)!r} is unknown; the columns are {names}{hint}")
    for name in (*wanted, *(each for each in optional if each in found)):
        if found.count(name) != 1:
            what = "missing" if name not in found else "duplicated"
            raise InvalidInput(f"{where}: the column {name!r} is {what}; the columns are {names}")
