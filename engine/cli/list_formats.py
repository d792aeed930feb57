"""Lists in the forms of other programs: `--format` of the commands that print a list."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grantpath.engine.cli.output import emit_model, note, shell_word, show_table
from grantpath.graph.errors import InvalidInput
from grantpath.graph.files.csv_text import write_csv
from grantpath.graph.messages import as_markdown, cell_text, time_text

if TYPE_CHECKING:
    from grantpath.engine.answers.listing import ReferencePage
    from grantpath.engine.answers.tabular import Tabular
    from grantpath.engine.inspection.models import EntityPage, GrantPage, MembershipPage


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


def show_as(
    form: ListFormat | None, found: "Tabular[Any]", own: Callable[[], None], as_json: Callable[[], None] | None = None
) -> bool:
    """Prints a list of the authorizer as `show_rows` does. Its JSON is its model, unless `as_json` prints another."""
    columns = found.columns()
    rows = [*zip(*(column.cells for column in columns.values()), strict=True)]
    return show_rows(form, list(columns), rows, own, as_json or (lambda: emit_model(found)))


def show_rows(
    form: ListFormat | None,
    heads: Sequence[str],
    rows: Sequence[Sequence[Any]],
    own: Callable[[], None],
    as_json: Callable[[], None],
) -> bool:
    """Prints a list in this form: `own` prints the command's own form (None), and `as_json` the JSON.

    Returns whether notes can follow. JSON has what they say.
    """
    match form:
        case None:
            own()
        case ListFormat.json:
            as_json()
        case ListFormat.csv:
            write_csv(sys.stdout, heads, [[*map(_cell, row)] for row in rows])
        case ListFormat.jsonl:
            for record in records(heads, rows):
                print(json.dumps(record, ensure_ascii=False))
        case ListFormat.md:
            lines = [f"| {' | '.join(map(_escaped, row))} |" for row in (heads, *rows)]
            print(lines[0], f"| {' | '.join(['---'] * len(heads))} |", *lines[1:], sep="\n")
        case ListFormat.table:
            as_table(heads, rows)
    sys.stdout.flush()
    return form is not ListFormat.json


def as_table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Prints rows of any values as a table. Columns of numbers are aligned to the right."""
    numbers = {head for at, head in enumerate(heads) if all(_is_number(row[at]) for row in rows)}
    show_table(heads, [[_text(cell) for cell in row] for row in rows], numbers)


def _is_number(cell: object) -> bool:
    return cell is None or (isinstance(cell, int | float | Decimal) and not isinstance(cell, bool))


def records(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """The rows for JSON. Raises InvalidInput if two columns have the same name."""
    for head in heads:
        if heads.count(head) > 1:
            raise InvalidInput(
                f"two columns are named {head!r}, and JSON can have only one of them; name one by AS, or omit it"
            )
    return (dict(zip(heads, map(_plain, row), strict=True)) for row in rows)


def note_page(found: "ReferencePage | EntityPage | GrantPage | MembershipPage", past: bool = False) -> None:
    """Prints how many entries a page has, and the options for the next one. `past`: the page is of a past state."""
    at = "--as-of" if past else "--at"
    more = "" if found.after is None else f"; more with --after {shell_word(found.after)} {at} {found.revision}"
    note(f"{len(found.answer):,} at revision {found.revision}{more}", partial=found.after is not None)


def _cell(value: Any) -> str | float:
    """A number stays a number, because a negative one is not a formula."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else _text(value)


def _escaped(value: Any) -> str:
    return as_markdown(_text(value))


def _text(value: Any) -> str:
    return cell_text(value, ("false", "true"), time_text)


def _plain(value: Any) -> Any:
    """A value for JSON, which has no infinite numbers."""
    match value:
        case list() | tuple():
            return [*map(_plain, value)]
        case dict():
            return {str(key): _plain(each) for key, each in value.items()}
        case float() if not isfinite(value):
            return None
        case None | str() | bool() | int() | float():
            return value
        case datetime():
            return time_text(value)
    return str(value)
