"""Lists in the forms of other programs: `--format` of the commands that print a list."""

import csv
import json
import re
import sys
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grantpath.engine.cli.output import emit, emit_model, show_table
from grantpath.graph.errors import InvalidInput
from grantpath.graph.messages import printable

if TYPE_CHECKING:
    from grantpath.engine.answers.tabular import Tabular

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet runs a cell that begins with one of these
# What Markdown would take for marks; it leaves an underscore inside a word alone.
MARKS = re.compile(r"[\\`|*<\[#~]|(?<!\w)_|_(?!\w)")


class ListFormat(StrEnum):
    """The forms of a list."""

    table = "table"
    csv = "csv"
    md = "md"
    json = "json"
    jsonl = "jsonl"


Format = Annotated[
    ListFormat | None,
    typer.Option("--format", help="a form for other programs; md is Markdown, jsonl has a line of JSON for each row"),
]


def wanted(as_json: bool, form: ListFormat | None) -> ListFormat | None:
    """The form of `--json` or `--format`; None for the command's own. Raises InvalidInput if both are given."""
    if as_json and form is not None:
        raise InvalidInput(f"--json and --format {form} cannot be combined; give one of them")
    return ListFormat.json if as_json else form


def show_as(form: ListFormat, found: "Tabular[Any]") -> None:
    """Prints a list in this form."""
    if form is ListFormat.json:
        emit_model(found)
        return
    columns = found.columns()
    rows = list(zip(*(column.values for column in columns.values()), strict=True))
    show_rows(form, list(columns), rows, found.revision)


def show_rows(form: ListFormat, heads: Sequence[str], rows: Sequence[Sequence[Any]], revision: int) -> None:
    """Prints all rows of an answer in this form."""
    match form:
        case ListFormat.json:
            answer = [dict(zip(heads, map(_plain, row), strict=True)) for row in rows]
            emit({"answer": answer, "complete": True, "revision": revision})
        case ListFormat.csv:
            _csv(heads, rows)
        case ListFormat.jsonl:
            for row in rows:
                print(json.dumps(dict(zip(heads, map(_plain, row), strict=True)), ensure_ascii=False))
        case ListFormat.md:
            for cells in (heads, ["---"] * len(heads), *([_escaped(cell) for cell in row] for row in rows)):
                print(f"| {' | '.join(cells)} |")
        case ListFormat.table:
            show_table(heads, [[_text(cell) for cell in row] for row in rows])
    sys.stdout.flush()


def _csv(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Prints rows as CSV (RFC 4180, with line feeds). References are not changed, so that `load` reads them again."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(heads)
    for row in rows:
        writer.writerow([_cell(cell) for cell in row])


def _cell(value: Any) -> str:
    """A text that a spreadsheet would run as a formula begins with an apostrophe; no reference begins so."""
    text = _text(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(FORMULA) else text


def _escaped(value: Any) -> str:
    return MARKS.sub(lambda found: f"\\{found[0]}", printable(_text(value)))


def _text(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case datetime():
            return value.isoformat()
        case list() | tuple():
            return ", ".join(map(str, value))
        case dict():
            return ", ".join(f"{key}={each}" for key, each in value.items())
    return str(value)


def _plain(value: Any) -> Any:
    """A value for JSON."""
    if isinstance(value, list | tuple):
        return [*map(_plain, value)]
    if value is None or isinstance(value, str | bool | int | float | dict):
        return value
    return value.isoformat() if isinstance(value, datetime) else str(value)
