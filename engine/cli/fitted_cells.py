"""Cells that fit the columns of a terminal. A name is broken only after a dot, an at sign or an underscore."""

import re
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.text import Text

WORD = re.compile(r"\S+\s*")
INSIDE = re.compile(r"(?<=[.@_])(?=[^.@_\s])")  # where a word can be broken


def fitted(rows: Sequence[Sequence[Text]], width: int) -> tuple[list[tuple[Text, ...]], int]:
    """The rows with line breaks, so that their columns together have at most this width, and the width that they have.

    The widest column is made narrower first. If the columns do not fit even with a break at each possible place, they
    stay wider.
    """
    columns: list[Sequence[Text]] = [*zip(*rows, strict=True)]
    most = [*map(_width, columns)]
    if sum(most) <= width:
        return [*zip(*columns, strict=True)], sum(most)
    least = [max(map(_longest_piece, column)) for column in columns]
    given = [*most]
    while sum(given) > width and (wide := [at for at, each in enumerate(given) if each > least[at]]):
        given[max(wide, key=given.__getitem__)] -= 1
    fit = [[broken(cell, each) for cell in column] for column, each in zip(columns, given, strict=True)]
    used = [*map(_width, fit)]
    for at in sorted(range(len(columns)), key=most.__getitem__):  # short columns get first what breaking left free
        room = width - sum(used) + used[at]
        if room > used[at]:
            fit[at] = [broken(cell, room) for cell in columns[at]]
            used[at] = _width(fit[at])
    return [*zip(*fit, strict=True)], sum(used)


def broken(text: Text, width: int) -> Text:
    """The text on lines of at most this width: broken at blanks, and where a word is longer, inside it."""
    breaks, column = list[int](), 0
    for at, piece in _pieces(text.plain, width):
        if column and column + cell_len(piece.rstrip()) > width:
            breaks.append(at)
            column = 0
        column += cell_len(piece)
    lines = text.divide(breaks)
    for line in lines:
        line.rstrip()
    return Text("\n").join(lines)


def _pieces(text: str, width: int) -> Iterator[tuple[int, str]]:
    """The parts of a text between which it can be broken, with their places."""
    for word in WORD.finditer(text):
        at = word.start()
        for piece in INSIDE.split(word[0]) if cell_len(word[0].rstrip()) > width else [word[0]]:
            yield at, piece
            at += len(piece)


def _width(column: Iterable[Text]) -> int:
    return max(cell_len(line) for cell in column for line in cell.plain.split("\n"))


def _longest_piece(text: Text) -> int:
    return max((cell_len(piece.rstrip()) for _, piece in _pieces(text.plain, 0)), default=0)
