"""Operators that break patterns: arrows, lengths, types, labels, properties, and the root that keeps tenants apart."""

from collections.abc import Callable, Iterator

from .edits import Edit, edit
from .tokens import CLAUSES, Statement

OTHER = {"ALLOW": "DENY", "DENY": "ALLOW", "MEMBER_OF": "HAS_ROLE", "HAS_ROLE": "MEMBER_OF"}


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


def swap_type(of: Statement) -> Iterator[Edit]:
    """Writes or reads a DENY for an ALLOW, a role for a group, and the reverse."""
    for first, last in _relations(of):
        for at in range(first, last):
            if of.key(at - 1) == ":" and of.tokens[at].text in OTHER and of.key(at + 1) != "|":
                yield edit(of, at, at, OTHER[of.tokens[at].text], _nodes(of, first - 1, last + 1))


def drop_root(of: Statement) -> Iterator[Edit]:
    yield from _dropped(of, lambda at: of.key(at) == "ROOT")


def drop_property(of: Statement) -> Iterator[Edit]:
    """Removes another property of a pattern that is matched or merged."""
    yield from _dropped(of, lambda at: of.key(at) != "ROOT" and clause_of(of, at) in ("MATCH", "MERGE", "EXISTS"))


def _dropped(of: Statement, is_meant: Callable[[int], bool]) -> Iterator[Edit]:
    """Removes properties in braces after the name or label of a node or relationship."""
    for at in range(1, len(of.tokens) - 2):
        opened, is_name = of.around[at], of.key(at + 1) == ":" and of.key(at).isidentifier()
        if is_name and of.key(opened) == "{" and of.key(at - 1) in ("{", ",") and is_meant(at):
            first, last = at, of.until(at, (",",))[-1]
            if of.key(last + 1) == ",":
                last += 1
            elif of.key(first - 1) == ",":
                first -= 1
            outer = of.around[opened]
            around = (outer, of.partner[outer]) if of.key(outer) in ("(", "[") else (opened, of.partner[opened])
            yield edit(of, first, last, "", around)


def clause_of(of: Statement, at: int) -> str:
    """The clause whose pattern token `at` belongs to; EXISTS or COUNT for a pattern alone in their braces."""
    while at >= 0:
        before = [of.keyword(each) for each in of.level(at) if each < at and of.keyword(each) in CLAUSES]
        if before:
            return before[-1]
        at = of.around[at]
        if of.key(at) == "{" and of.key(at - 1) in ("EXISTS", "COUNT"):
            return "EXISTS"
    return ""


def drop_label(of: Statement) -> Iterator[Edit]:
    """Removes the label of a node that is created or merged."""
    for at in range(2, len(of.tokens) - 2):
        if of.key(at) == ":" and of.key(of.around[at]) == "(" and clause_of(of, at) in ("CREATE", "MERGE"):
            last = of.partner[at + 2] if of.key(at + 1) == "$" else at + 1
            yield edit(of, at, last, "", (of.around[at], of.partner[of.around[at]]))
