"""Parses conditions such as `inside and (owner(any) or SELECT_TABLE)` into a syntax tree; names are resolved later.

    expression  and, or, parentheses; `and` binds tighter than `or`
    PRIVILEGE, PRIVILEGE(place)                   the privilege is in effect on the place (default: the object)
    granted                                       in `in_effect` only: the privilege is granted and not denied
    owner(place)                                  an effective principal owns the place
    owner(any)                                    an effective principal owns the object or anything above it
    self(place)                                   the place is the subject
    holds(place)  holds(role:X)                   the place, or role:X, is an effective principal of the subject
    everyone  never                               always true; never true
    exists(place)  custom(place)                  the place exists; it exists and is not built in
    some(P, Q in t, u below place)                one of the privileges is granted on some t or u below the place
    every(P in t, u below place)                  the privilege is granted on each existing t and u below the place
    can(operation), can(operation, place, key=place)   the condition of that operation
    name, name(place)                             an entry of `define`: on the object; on the place

A place is the type of the object or of an ancestor, `object`, `parent`, `root`, `with.KEY` or `grantee`.
"""

import re
from dataclasses import dataclass

_TOKEN = re.compile(r"\s*(?:(?P<word>[A-Za-z_][A-Za-z0-9_]*(?:\.[a-z][a-z0-9_]*)*(?::[^\s(),=]+)?)|(?P<mark>[(),=]))")
_PRIVILEGE = re.compile(r"[A-Z][A-Z0-9_]*\Z")
ONE_PLACE = frozenset({"owner", "self", "holds", "exists", "custom"})
WORDS = ONE_PLACE | {"and", "or", "granted", "everyone", "never", "some", "every", "in", "below", "can"}
MAX_EXPRESSION = 4_000


class ConditionError(ValueError):
    """A condition cannot be parsed; the message says where, and what was expected."""


@dataclass(frozen=True)
class Word:
    """A single name: `everyone`, `never`, `granted` or an entry of `define`."""

    name: str


@dataclass(frozen=True)
class Privilege:
    """A privilege in effect on a place."""

    name: str
    place: str


@dataclass(frozen=True)
class AtPlace:
    """`owner`, `self`, `holds`, `exists`, `custom` or an entry of `define`, of a place."""

    name: str
    place: str


@dataclass(frozen=True)
class BelowExpression:
    """`some` or `every`: privileges granted on entities below a place."""

    name: str
    privileges: tuple[str, ...]
    types: tuple[str, ...]
    place: str


@dataclass(frozen=True)
class Can:
    """The condition of another operation, evaluated on a place, with its second objects bound to places."""

    operation: str
    place: str | None
    with_: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class All:
    """Every part holds."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True)
class AnyOf:
    """One part holds."""

    parts: tuple["Expression", ...]


Expression = Word | Privilege | AtPlace | BelowExpression | Can | All | AnyOf


def parse(text: str) -> Expression:
    """The syntax tree of a condition. Raises ConditionError."""
    if len(text) > MAX_EXPRESSION:
        raise ConditionError(f"longer than {MAX_EXPRESSION} characters; split it with `define`")
    parser = _Parser(text)
    try:
        tree = parser.any_of()
    except RecursionError:
        raise ConditionError("too many parentheses; split it with `define`") from None
    if parser.token:
        raise ConditionError(parser.unexpected())
    return tree


def places_of(tree: Expression) -> set[str]:
    """The places that one part of a condition names."""
    match tree:
        case Privilege(_, place) | AtPlace(_, place):
            return {place}
        case BelowExpression():
            return {tree.place}
        case Can(_, place, with_):
            return {place or "object", *(named for _, named in with_)}
    return set()


def example_about(tree: Expression, place: str) -> str:
    """The first part of a condition, about another place: an example for a message."""
    while isinstance(tree, All | AnyOf):
        tree = tree.parts[0]
    match tree:
        case Privilege(name) | AtPlace(name):
            return f"{name}({place})"
        case BelowExpression(name):
            return f"{name}(... below {place})"
        case Can(operation):
            return f"can({operation}, {place})"
    return f"a condition of {place}, e.g. PRIVILEGE({place})"


_NO_NOT = "`not` is not supported; to exclude subjects, use DENY (`grants.deny`)"
_NO_VALUES = (
    "attributes and values cannot be compared; a condition consists of privileges, owner(...), holds(...) and so on"
)


def _unreadable(text: str, at: int) -> str:
    """The message for a character that cannot start a token."""
    before = text[:at].rstrip()
    start = len(before.rstrip("=")) if before.endswith("=") else len(text) - len(text[at:].lstrip())
    wrong, where = text[start : start + 2], f"at character {start + 1}"
    if wrong in ("||", "&&"):
        return f"{wrong!r} {where} cannot be read; write `{'or' if wrong == '||' else 'and'}`"
    if wrong[0] == "!" and wrong != "!=":
        return f"{wrong[0]!r} {where} cannot be read: {_NO_NOT}"
    if wrong[0] in "=!<>+-*/'\"" or wrong[0].isdigit():
        return f"{text[start : start + 12]!r} {where} cannot be read: {_NO_VALUES}"
    at_sign = "write the place in parentheses, e.g. READ(parent)"
    remedy = at_sign if wrong[0] == "@" else "a condition has names, parentheses, commas, `and` and `or`"
    return f"{text[start : start + 12]!r} {where} cannot be read; {remedy}"


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens = list(self._tokenize(text))
        self.at = 0

    @staticmethod
    def _tokenize(text: str) -> list[str]:
        tokens, at = [], 0
        while at < len(text.rstrip()):
            found = _TOKEN.match(text, at)
            if not found:
                raise ConditionError(_unreadable(text, at))
            tokens.append(found.group().strip())
            at = found.end()
        return tokens

    @property
    def token(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def where(self) -> str:
        before = " ".join(self.tokens[max(0, self.at - 3) : self.at])
        return f"after {before!r}" if before else "at the start"

    def unexpected(self) -> str:
        """The message for the current token."""
        if self.token.lower() in ("and", "or"):
            return f"{self.token!r} is not expected {self.where()}; write `{self.token.lower()}` between two conditions"
        if self.token.lower() == "but":
            return f"`but` is not supported: {_NO_NOT}"
        if self.token.lower() == "from":
            before, after = self.tokens[self.at - 1], "".join(self.tokens[self.at + 1 : self.at + 2]) or "parent"
            call = f"{before}({after})" if _PRIVILEGE.match(before) else f"can({before}, {after})"
            return f"`from` is not supported; name the place in parentheses: {call}"
        if "not" in (each.lower() for each in self.tokens[max(0, self.at - 1) : self.at + 1]):
            return _NO_NOT
        remedy = "remove it" if self.token in "()=" else "write `and` or `or` between two conditions"
        return f"{self.token!r} is not expected {self.where()}; {remedy}"

    def take(self, expected: str = "") -> str:
        token = self.token
        if not token or (expected and token != expected) or (not expected and token in "(),="):
            found = f"not {token!r}" if token else "where the condition ends"
            empty = not expected and self.tokens[self.at - 1 : self.at + 1] == ["(", ")"]
            remedy = "write one, or remove the parentheses" if empty else "add it"
            raise ConditionError(f"{expected or 'a name'} is expected {self.where()}, {found}; {remedy}")
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.token == token:
            self.at += 1
            return True
        return False

    def any_of(self) -> Expression:
        parts = [self.all_of()]
        while self.accept("or"):
            parts.append(self.all_of())
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def all_of(self) -> Expression:
        parts = [self.one()]
        while self.accept("and"):
            parts.append(self.one())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def one(self) -> Expression:
        if self.accept("("):
            inner = self.any_of()
            self.take(")")
            return inner
        name = self.take()
        if name.lower() in ("and", "or"):
            self.at -= 1
            raise ConditionError(self.unexpected())
        if name.lower() == "not":
            raise ConditionError(_NO_NOT)
        if not self.accept("("):
            return Privilege(name, "object") if _PRIVILEGE.match(name) else Word(name)
        tree = self.call(name)
        self.take(")")
        return tree

    def call(self, name: str) -> Expression:
        if _PRIVILEGE.match(name):
            return Privilege(name, self.take())
        if name in ("some", "every"):
            return self.below(name)
        if name == "can":
            return self.can()
        return AtPlace(name, self.take())

    def below(self, name: str) -> Expression:
        privileges = self.names()
        types = self.names() if self.accept("in") else ()
        place = self.take() if self.accept("below") else "object"
        return BelowExpression(name, privileges, types, place)

    def names(self) -> tuple[str, ...]:
        names = [self.take()]
        while self.accept(","):
            names.append(self.take())
        return tuple(names)

    def can(self) -> Expression:
        operation, place, with_ = self.take(), None, []
        while self.accept(","):
            word = self.take()
            if self.accept("="):
                with_.append((word, self.take()))
            elif place is None and not with_:
                place = word
            else:
                raise ConditionError(f"{word!r} is not expected {self.where()}: write can(operation, place, key=place)")
        return Can(operation, place, tuple(with_))
