"""CSV by RFC 4180, with line feeds."""

import re
from collections.abc import Iterable, Sequence
from typing import TextIO

QUOTED = re.compile('[,"\r\n]')  # what a cell is quoted for
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet runs a cell that begins with one of these


def write_csv(file: TextIO, heads: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> None:
    """Writes the heads and the rows; None is an empty cell.

    A text that a spreadsheet would run as a formula begins with an apostrophe. No reference begins so: references are
    not changed, and `load` reads them again.
    """
    for row in (heads, *rows):
        file.write(csv_line(f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell for cell in row))


def csv_line(cells: Iterable[str | float | None]) -> str:
    """A row, with its line feed. The writer of the standard library does not quote a carriage return before Python
    3.13, so that others read two rows."""
    line = ",".join("" if cell is None else _quoted(str(cell)) for cell in cells)
    return (line or '""') + "\n"  # an empty line would be no row


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if QUOTED.search(cell) else cell
