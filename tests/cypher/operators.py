"""Mutation operators: each breaks the body of a .cypher file in one small way, wherever its pattern occurs."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from . import operators_conditions as conditions
from . import operators_patterns as patterns
from .edits import Edit, edit
from .tokens import CLAUSES, Statement, shown, statement

SIBLINGS = (("begun", "revision"), ("name", "type"), ("digest", "source"), ("hash", "previous"))
SIBLING = dict(SIBLINGS) | {second: first for first, second in SIBLINGS}


@dataclass(frozen=True)
class Mutant:
    """One broken body: the file, the operator, what it matched, what stands there instead, and which match it is of
    those with the same texts (1 is the first)."""

    file: str
    operator: str
    text: str
    becomes: str
    number: int
    body: str

    def __str__(self) -> str:
        number = f" (match {self.number})" if self.number > 1 else ""
        return f"{self.file}: {self.operator}: {self.text!r} becomes {self.becomes!r}{number}"


Operator = Callable[[Statement], Iterator[Edit]]


def mutants(file: str, text: str, *, more: bool = False) -> list[Mutant]:
    """All mutants of a .cypher file's text; its header does not change. `more`: also those of MORE."""
    lines = text.splitlines(keepends=True)
    start = next(at for at, line in enumerate(lines) if not line.startswith("//"))
    header, found = "".join(lines[:start]), statement("".join(lines[start:]))
    made: list[Mutant] = []
    numbers: Counter[tuple[str, str, str]] = Counter()
    for name, operator in {**OPERATORS, **(MORE if more else {})}.items():
        for each in operator(found):
            body = found.text[: each.start] + each.new + found.text[each.end :]
            first, last = found.tokens[each.first].start, found.tokens[each.last].end
            changed = found.text[first : each.start] + each.new + found.text[each.end : last]
            key = name, shown(found.text[first:last]), shown(changed)
            numbers[key] += 1
            made.append(Mutant(file, *key, numbers[key], header + body))
    return made


# ---- rows --------------------------------------------------------------------------------------------------------
def drop_branch(of: Statement) -> Iterator[Edit]:
    """A branch of UNION."""
    for level in sorted({*of.around}):
        tokens = [at for at, around in enumerate(of.around) if around == level]
        unions = [at for at in tokens if of.keyword(at) == "UNION"]
        starts = [tokens[0], *(at + 1 + (of.key(at + 1) == "ALL") for at in unions)] if unions else []
        for number, start in enumerate(starts):
            last = max(at for at in tokens if at < unions[number]) if number < len(unions) else tokens[-1]
            if number == 0:
                yield edit(of, start, starts[1] - 1, "", (start, last))
            else:
                yield edit(of, unions[number - 1], last, "", (start, last))


def drop_distinct(of: Statement) -> Iterator[Edit]:
    for at in range(len(of.tokens)):
        if of.keyword(at) == "DISTINCT":
            yield edit(of, at, at, "", (at - 1, min(at + 3, len(of.tokens) - 1)))


def change_order(of: Statement) -> Iterator[Edit]:
    """Reverses an item of ORDER BY; shifts LIMIT, SKIP and the end of a slice by one."""
    for at in range(len(of.tokens) - 1):
        if of.keyword(at) == "ORDER":
            for item in of.items(of.until(at + 2, CLAUSES), (",",)):
                turned = of.slice(item[0], item[-1]).removesuffix(" DESC")
                turned += "" if of.key(item[-1]) == "DESC" else " DESC"
                yield edit(of, item[0], item[-1], turned)
        elif of.keyword(at) in ("LIMIT", "SKIP"):
            count = of.until(at + 1, CLAUSES)
            yield edit(of, count[0], count[-1], of.slice(count[0], count[-1]) + " + 1", (at, count[-1]))
        elif of.keys(at, 2) == ["[", ".."]:
            count = of.until(at + 2, CLAUSES)
            yield edit(of, count[0], count[-1], of.slice(count[0], count[-1]) + " + 1", (at - 1, of.partner[at]))


# ---- writes, and properties --------------------------------------------------------------------------------------
def drop_write(of: Statement) -> Iterator[Edit]:
    """Removes an item of SET, a CREATE, MERGE, DELETE or FOREACH; turns MERGE into CREATE."""
    for at in range(len(of.tokens) - 1):
        key = of.keyword(at)
        if key == "SET":
            yield from _dropped_items(of, at)
        elif key == "DELETE":
            tokens = of.until(at, CLAUSES - {"DELETE"})
            yield edit(of, at - (of.key(at - 1) == "DETACH"), tokens[-1], "")
        elif key == "FOREACH":
            yield edit(of, at, of.partner[at + 1], "")
        elif key in ("MERGE", "CREATE") and of.key(at - 1) != "ON":
            last = of.until(at + 1, CLAUSES)[-1]
            if key == "MERGE":
                yield edit(of, at, at, "CREATE", (at, last))
            if of.key(at - 1) != "|":  # a FOREACH without its only write cannot be planned
                yield edit(of, at, last, "")


def _dropped_items(of: Statement, at: int) -> Iterator[Edit]:
    items = of.items(of.until(at + 1, CLAUSES), (",",))
    for number, item in enumerate(items):
        first, last = item[0], item[-1]
        if len(items) == 1:
            first = at - 2 if of.key(at - 2) == "ON" else at
        elif number:
            first -= 1
        else:
            last += 1
        yield edit(of, first, last, "", (first, last))


def swap_property(of: Statement) -> Iterator[Edit]:
    """Swaps a property for its neighbour, e.g. begun for revision."""
    for at in range(2, len(of.tokens)):
        other = SIBLING.get(of.tokens[at].text)
        if other and of.key(at - 1) == ".":
            yield edit(of, at, at, other, (at - 2, min(at + 2, len(of.tokens) - 1)))


# ---- values ------------------------------------------------------------------------------------------------------
def drop_term(of: Statement) -> Iterator[Edit]:
    """Removes an operand of a sum or of a text that is put together."""
    ends = {*conditions.ENDS_OF_TERM, *conditions.COMPARED, "AND", "OR", "IN", "STARTS"}
    for level in sorted({*of.around}):
        run: list[int] = []
        for at in [*(each for each, around in enumerate(of.around) if around == level), len(of.tokens)]:
            if at < len(of.tokens) and of.keyword(at) not in ends:
                run.append(at)
                continue
            terms = of.items(run, ("+",))
            for number, term in enumerate(terms if len(terms) > 1 else ()):
                first, last = (term[0], term[-1] + 1) if number == 0 else (term[0] - 1, term[-1])
                yield edit(of, first, last, "", (run[0], run[-1]))
            run = []


def empty_list(of: Statement) -> Iterator[Edit]:
    """Replaces the list of an UNWIND by an empty one."""
    for at in range(len(of.tokens) - 1):
        if of.keyword(at) == "UNWIND":
            listed = of.until(at + 1, {"AS"})
            yield edit(of, listed[0], listed[-1], "[]", (at, listed[-1] + 2))


def forget_value(of: Statement) -> Iterator[Edit]:
    """Replaces a column of the last RETURN, or a value of a map, by null."""
    returns = [at for at in range(len(of.tokens)) if of.keyword(at) == "RETURN" and of.around[at] == -1]
    yield from _columns(of, returns[-1]) if returns else ()
    for at, token in enumerate(of.tokens):
        if token.text == "{" and of.key(at + 2) == ":" and _is_made(of, at):
            for entry in of.items(list(of.level(at + 1)), (",",)):
                if of.key(entry[0]) != "ROOT":
                    yield edit(of, entry[2], entry[-1], "null", (entry[0], entry[-1]))


def forget_inner_value(of: Statement) -> Iterator[Edit]:
    """Replaces a column of WITH or of an inner RETURN, or an item of a list, by null."""
    returns = [at for at in range(len(of.tokens)) if of.keyword(at) == "RETURN" and of.around[at] == -1]
    for at in range(len(of.tokens) - 1):
        if of.keyword(at) in ("RETURN", "WITH") and at not in returns[-1:]:
            yield from _columns(of, at)
        items = of.items(list(of.level(at + 1)), (",",)) if of.key(at) == "[" and _is_list(of, at) else []
        for item in items if len(items) > 1 else ():
            yield edit(of, item[0], item[-1], "null", (at, of.partner[at]))


def _columns(of: Statement, at: int) -> Iterator[Edit]:
    for column in of.items(of.until(at + 1, CLAUSES), (",",)):
        named = of.items(column, ("AS",))
        if len(named) == 2 and of.key(named[0][0]) != "NULL":
            first = named[0][0] + (of.key(named[0][0]) == "DISTINCT")
            yield edit(of, first, named[0][-1], "null", (column[0], column[-1]))


def _is_list(of: Statement, at: int) -> bool:
    """Is the bracket that of a list, not of a relationship, an index, a slice or a comprehension?"""
    is_behind = of.key(at - 1) in ("RETURN", "(", "[", ",", ":", "THEN", "ELSE", "IN", "+", "=")
    return is_behind and not {"IN", "|"} & {of.keyword(each) for each in of.level(at + 1)}


def _is_made(of: Statement, at: int) -> bool:
    """Is the map a value, or that of a node that CREATE makes? Behind a name it belongs to a pattern."""
    if of.key(at - 1) in ("(", "[", ",", "=", ":", "|"):
        return True
    clauses = [of.keyword(each) for each in of.level(of.around[at]) if each < at and of.keyword(each) in CLAUSES]
    return clauses[-1:] == ["CREATE"]


OPERATORS: dict[str, Operator] = {
    "drop a condition": conditions.drop_condition,
    "swap AND and OR": conditions.swap_and_or,
    "reverse an arrow": patterns.reverse_arrow,
    "change a length": patterns.change_length,
    "drop a type": patterns.drop_type,
    "drop the root": patterns.drop_root,
    "swap a comparison": conditions.swap_comparison,
    "swap any, all, none": conditions.swap_quantifier,
    "drop a branch": drop_branch,
    "drop DISTINCT": drop_distinct,
    "negate": conditions.negate,
    "turn a default": conditions.turn_default,
    "change order or limit": change_order,
    "drop a write": drop_write,
    "swap a property": swap_property,
    "empty a list": empty_list,
    "forget a value": forget_value,
}

# only for the queries that write, and those that decide what is written: test_writing_mutants.py
MORE: dict[str, Operator] = {
    "swap a type": patterns.swap_type,
    "drop a property": patterns.drop_property,
    "drop a label": patterns.drop_label,
    "always the default": conditions.always_the_default,
    "drop a term": drop_term,
    "forget an inner value": forget_inner_value,
}
