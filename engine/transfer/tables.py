"""The tables of a bulk import in memory, and the problems of their rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from grantpath.graph.errors import InvalidInput

Ints = npt.NDArray[np.int64]
TABLES: Mapping[str, Sequence[str]] = {
    "subjects": ("ref",),
    "objects": ("ref",),
    "members": ("member", "of"),
    "owners": ("object", "owner"),
    "grants": ("effect", "privilege", "object", "subject"),
}
# The statement for a row of each table.
SAY: Mapping[str, str] = {
    "subjects": "add {0}",
    "objects": "add {0}",
    "members": "member {0} of {1}",
    "owners": "owner {1} of {0}",
    "grants": "{0} {1} on {2} to {3}",
}
SHOWN = 20
MAX_ROWS = 20_000_000  # of one table
MAX_LINE_BYTES = 1_000_000  # of a line of a text table, or a value in Parquet


@dataclass(frozen=True)
class Column:
    """A column as a dictionary: the distinct values, and for each row the index of its value."""

    codes: Ints
    values: Sequence[str]


@dataclass(frozen=True)
class Table:
    """One table: its columns, and for each row its line in the file (in Parquet, its row number)."""

    name: str
    file: Path | None
    columns: Mapping[str, Column]
    lines: Ints

    def __len__(self) -> int:
        return len(self.lines)


def place(file: Path, line: int) -> str:
    """A line of a file, as messages name it."""
    return f"{file}: row {line}" if file.suffix == ".parquet" else f"{file}:{line}"


@dataclass
class Problems:
    """The problems of an import, by table and line. Texts are computed only for the problems that are shown."""

    _found: list[tuple[Path, Ints, Callable[[int], str]]] = field(default_factory=list)

    def line(self, file: Path, line: int, text: str) -> None:
        """Adds the problem of one line."""
        self._found.append((file, np.array([line], dtype=np.int64), lambda _: text))

    def rows(self, table: Table, rows: Ints, describe: Callable[[int], str]) -> None:
        """Adds rows of a table that break a rule; `describe(row)` returns the text."""
        if table.file and len(rows):
            by_line = dict(zip(table.lines[rows].tolist(), rows.tolist(), strict=True))
            self._found.append((table.file, table.lines[rows], lambda line: describe(by_line[line])))

    def raise_any(self) -> None:
        """Raises InvalidInput if there are problems, with their number and the first of them."""
        lines = {(list(TABLES).index(file.stem), int(line)) for file, found, _ in self._found for line in found}
        if not lines:
            return
        texts = [self._text(list(TABLES)[table], line) for table, line in sorted(lines)[:SHOWN]]
        if len(lines) > SHOWN:
            texts.append(f"... and {len(lines) - SHOWN:,} more")
        rows = f"{len(lines):,} bad row{'s' * (len(lines) > 1)}"
        raise InvalidInput(f"nothing is loaded, {rows}:", *texts)

    def _text(self, table: str, line: int) -> str:
        file, describe = next(
            (file, describe) for file, lines, describe in self._found if file.stem == table and line in lines
        )
        return f"{place(file, line)}: {describe(line)}"


def check_columns(file: Path, found: Sequence[str], wanted: Sequence[str], line: int | None) -> None:
    where = file if line is None else place(file, line)
    for name in found:
        if name not in wanted:
            raise InvalidInput(f"{where}: the column {name!r} is unknown; the columns are {', '.join(wanted)}")
    for name in wanted:
        if found.count(name) != 1:
            what = "missing" if name not in found else "duplicated"
            raise InvalidInput(f"{where}: the column {name!r} is {what}; the columns are {', '.join(wanted)}")
