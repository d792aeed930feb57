"""Operators that break conditions: AND, OR, NOT, comparisons, quantifiers, coalesce."""

from collections.abc import Iterator

from .edits import Edit, edit
from .tokens import CLAUSES, Statement

ENDS_OF_TERM = CLAUSES | {",", "|", ":", "THEN", "WHEN", "ELSE", "END", "CASE", "AS"}
COMPARED = {"=": "<>", "<>": "=", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}
QUANTIFIED = {"ANY": "all", "ALL": "any", "NONE": "any"}
DEFAULTS = {"true": "false", "false": "true", "''": "'?'", "0": "1"}


def _conditions(of: Statement) -> Iterator[tuple[str, list[int]]]:
    """The tokens of each condition after WHERE or WHEN, or in brackets, and the word before it."""
    for level in sorted({*of.around}):
        run: list[int] = []
        behind = ""
        for at in [*(each for each, around in enumerate(of.around) if around == level), len(of.tokens)]:
            if at == len(of.tokens) or of.keyword(at) in ENDS_OF_TERM:
                if run:
                    yield behind, run
                run, behind = [], of.key(at)
            else:
                run.append(at)


def drop_condition(of: Statement) -> Iterator[Edit]:
    """Replaces a conjunct or a single condition by true, and a disjunct by false."""
    for behind, run in _conditions(of):
        disjuncts = of.items(run, ("OR",))
        for disjunct in disjuncts:
            conjuncts = of.items(disjunct, ("AND",))
            if len(conjuncts) > 1:
                yield from (edit(of, each[0], each[-1], "true") for each in conjuncts)
            elif len(disjuncts) == 1 and behind in ("WHERE", "WHEN"):
                yield edit(of, run[0], run[-1], "true")
            if len(disjuncts) > 1:
                yield edit(of, disjunct[0], disjunct[-1], "false")


def swap_and_or(of: Statement) -> Iterator[Edit]:
    for _, run in _conditions(of):
        for at in run:
            if of.keyword(at) in ("AND", "OR"):
                other = "OR" if of.key(at) == "AND" else "AND"
                yield edit(of, at, at, other, (run[0], run[-1]))


def swap_comparison(of: Statement) -> Iterator[Edit]:
    for at, token in enumerate(of.tokens):
        if token.text in COMPARED and not _assigns(of, at):
            yield edit(of, at, at, COMPARED[token.text], (max(at - 3, 0), min(at + 3, len(of.tokens) - 1)))


def _assigns(of: Statement, at: int) -> bool:
    """Whether a token is the = of SET, of a path, or of the first value of reduce."""
    if of.key(at) != "=":
        return False
    level = [each for each in of.level(at) if each < at]
    clause = next((each for each in reversed(level) if of.keyword(each) in CLAUSES | {"WHEN"}), -1)
    opened = of.around[at]
    if clause < 0:
        return opened > 0 and of.key(opened - 1) == "REDUCE"
    before = of.key(next(each for each in reversed(level) if each == clause or of.key(each) == ","))
    is_first = not any(of.key(each) == "=" for each in level if each > clause and of.key(each) != ",")
    return of.key(clause) in ("MATCH", "MERGE", "CREATE", "SET") and (is_first or before == ",")


def swap_quantifier(of: Statement) -> Iterator[Edit]:
    for at in range(len(of.tokens) - 1):
        if of.keyword(at) in QUANTIFIED and of.key(at + 1) == "(":
            yield edit(of, at, at, QUANTIFIED[of.key(at)], (at, of.partner[at + 1]))


def negate(of: Statement) -> Iterator[Edit]:
    """Drops NOT, swaps IS NULL and IS NOT NULL, and negates EXISTS."""
    for at in range(len(of.tokens) - 1):
        key, before, then = of.keyword(at), of.key(at - 1), of.key(at + 1)
        if key == "NOT" and before != "IF":
            around = (at - 2, at + 1) if before == "IS" else (at, of.partner.get(at + 1, at + 3))
            yield edit(of, at, at, "", around)
        elif key == "IS" and then == "NULL":
            yield edit(of, at + 1, at + 1, "NOT NULL", (at - 1, at + 1))
        elif key == "EXISTS" and then == "{" and before != "NOT":
            yield edit(of, at, at, "NOT EXISTS", (at, of.partner[at + 1]))


def turn_default(of: Statement) -> Iterator[Edit]:
    """Replaces the default of coalesce by its opposite, or by null."""
    for at in _coalesced(of):
        default = of.items(list(of.level(at + 2)), (",",))[-1]
        new = DEFAULTS.get(of.slice(default[0], default[-1]), "null")
        yield edit(of, default[0], default[-1], new, (at, of.partner[at + 1]))


def always_the_default(of: Statement) -> Iterator[Edit]:
    """Replaces a value of coalesce before its default by null."""
    for at in _coalesced(of):
        for value in of.items(list(of.level(at + 2)), (",",))[:-1]:
            yield edit(of, value[0], value[-1], "null", (at, of.partner[at + 1]))


def _coalesced(of: Statement) -> Iterator[int]:
    return (at for at in range(len(of.tokens) - 1) if of.key(at) == "COALESCE")
