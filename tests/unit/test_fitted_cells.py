"""Cells of tables: a name is broken after a dot, an at sign or an underscore, and nothing is lost."""

import re
from io import StringIO
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from grantpath.engine.cli.fitted_cells import broken, fitted
from grantpath.engine.cli.output import show_table

TEXTS = st.text("ab.@_ :é漢", max_size=30).map(lambda text: " ".join(text.split()))


@given(TEXTS, st.integers(1, 20))
def test_a_text_is_broken_only_where_it_can_be(text: str, width: int) -> None:
    lines = broken(Text(text), width).plain.split("\n")
    assert "".join("".join(lines).split()) == "".join(text.split())
    for line, after in pairwise(lines):
        assert line[-1] in ".@_" or f"{line} {after}" in text, "a break is at a blank or after one of these"
    for line in lines:
        assert cell_len(line) <= width or not re.search(r" |[.@_][^.@_]", line), "only what cannot be broken is longer"


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=4), st.integers(1, 60))
def test_columns_are_not_wider_than_they_must_be(rows: list[tuple[str, str, str]], width: int) -> None:
    cells = [[*map(Text, row)] for row in rows]
    found, used = fitted(cells, width)
    _, least = fitted(cells, 0)
    assert used <= max(width, least)
    assert [["".join(cell.plain.split()) for cell in row] for row in found] == [
        ["".join(text.split()) for text in row] for row in rows
    ]


def test_a_table_that_does_not_fit_has_a_line_for_each_cell() -> None:
    heads, rows = (
        ("until", "user", "objects"),
        [["2026-12-31T00:00:00Z", "user:margarethe", "3"], ["", "user:bob", "12"]],
    )
    shown = {}
    for width in (30, 60):
        console = Console(file=StringIO(), width=width, soft_wrap=True)
        show_table(heads, rows, {"objects"}, console)
        shown[width] = console.file.getvalue()  # type: ignore[attr-defined]
    assert shown[30].split("\n") == [
        "until    2026-12-31T00:00:00Z",
        "user     user:margarethe",
        "objects  3",
        "",
        "user     user:bob",
        "objects  12",
        "",
    ]
    assert shown[60].split("\n")[0] == "until                 user             objects"
