"""CSV for spreadsheets: RFC 4180, with line feeds."""

import csv
from collections.abc import Iterable, Sequence
from typing import TextIO

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet runs a cell that begins with one of these


def write_csv(file: TextIO, heads: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> None:
    """Writes the heads and the rows; None is an empty cell.

    A text that a spreadsheet would run as a formula begins with an apostrophe. No reference begins so: references are
    not changed, and `load` reads them again.
    """
    writer = csv.writer(file, lineterminator="\n")
    for row in (heads, *rows):
        writer.writerow([f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell for cell in row])
