"""Operators that break patterns: arrows, lengths, types, and the root that keeps tenants apart."""

from collections.abc import Iterator

from .edits import Edit, edit
from .tokens import Statement


def _relations(of: Statement) -> Iterator[tuple[int, int]]:
    """The brackets of each relationship in a pattern."""
    for at, token in enumerate(of.tokens):
        if token.text == "[" and of.key(at - 1) in ("-", "<-") and of.key(of.partner[at] + 1) in ("-", "->"):
            yield at, of.partner[at]


def reverse_arrow(of: Statement) -> Iterator[Edit]:
    for first, last in _relations(of):
        arrows = {("-", "->"): "<-{}-", ("<-", "-"): "-{}->"}.get((of.key(first - 1), of.key(last + 1)))
        if arrows:
            yield edit(of, first - 1, last + 1, arrows.format(of.slice(first, last)), _nodes(of, first - 1, last + 1))


def _nodes(of: Statement, first: int, last: int) -> tuple[int, int]:
    """The same, with the nodes at both ends."""
    last = next(each for each in range(last, len(of.tokens)) if of.key(each) == "(")
    return of.partner[first - 1], of.partner[last]


def change_length(of: Statement) -> Iterator[Edit]:
    for first, last in _relations(of):
        for at in range(first, last):
            if of.keys(at, 3) in (["*", "0", ".."], ["*", "1", ".."]):
                for new in ("*1..", "*0..1") if of.key(at + 1) == "0" else ("*1..1",):
                    yield edit(of, at, at + 2, new, _nodes(of, first - 1, last + 1))
        if of.key(last + 2) in ("*", "+"):
            for new in ("+" if of.key(last + 2) == "*" else "*", "{0,1}"):
                yield edit(of, last + 2, last + 2, new, _nodes(of, first - 1, last + 1))


def drop_type(of: Statement) -> Iterator[Edit]:
    """Removes one of the types of A|B|C."""
    for first, last in _relations(of):
        colon = next((at for at in range(first, last) if of.key(at) == ":"), last)
        names = [at for at in range(colon + 1, last, 2) if all(of.key(each) == "|" for each in range(colon + 2, at, 2))]
        for dropped in names if len(names) > 1 else ():
            left = "|".join(of.tokens[at].text for at in names if at != dropped)
            yield edit(of, names[0], names[-1], left, _nodes(of, first - 1, last + 1))


def drop_root(of: Statement) -> Iterator[Edit]:
    for at in range(len(of.tokens) - 2):
        if of.keys(at, 2) == ["ROOT", ":"] and of.key(of.around[at]) == "{":
            value = of.until(at, (",",))
            opened, last = of.around[at], value[-1]
            comma = of.key(last + 1) == ","
            outer = of.around[opened]
            around = (outer, of.partner[outer]) if of.key(outer) == "(" else (opened, of.partner[opened])
            yield edit(of, at, last + comma, "", around)
