"""The tokens of a Cypher statement: strings and comments are single tokens, and brackets are matched."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
      | (?P<text>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`)
      | (?P<number>\d+(?:\.\d+)?)
      | (?P<word>\$?[A-Za-z_]\w*)
      | (?P<sign><-|->|<=|>=|<>|\+=|\.\.|\|\||.)""",
    re.VERBOSE | re.DOTALL,
)
CLAUSES = {
    *("MATCH", "OPTIONAL", "WITH", "RETURN", "UNWIND", "CALL", "CREATE", "MERGE", "ON", "SET", "DELETE", "DETACH"),
    *("REMOVE", "FOREACH", "UNION", "WHERE", "ORDER", "LIMIT", "SKIP"),
}
SHOWN = 160  # characters
_CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Token:
    """One word, string, number or sign, and its position."""

    text: str
    start: int
    end: int

    @property
    def key(self) -> str:
        """The text in upper case, to compare with keywords, which are case-insensitive."""
        return self.text.upper()


@dataclass
class Statement:
    """The tokens of a text without spaces and comments; the index of each bracket's partner; each token's depth."""

    text: str
    tokens: list[Token] = field(default_factory=list)
    partner: dict[int, int] = field(default_factory=dict)
    around: list[int] = field(default_factory=list)  # the index of the innermost open bracket, or -1

    def key(self, at: int) -> str:
        """The token's text in upper case; empty before the first and after the last token."""
        return self.tokens[at].key if 0 <= at < len(self.tokens) else ""

    def keys(self, at: int, count: int) -> list[str]:
        return [self.key(at + step) for step in range(count)]

    def level(self, at: int) -> Iterator[int]:
        """The tokens of the bracket that contains token `at`, without those of inner brackets."""
        opened = self.around[at]
        return (each for each, around in enumerate(self.around) if around == opened)

    def keyword(self, at: int) -> str:
        """The token in upper case; '' for the name of a property, label or type, and the WITH of STARTS WITH."""
        before, key = self.key(at - 1), self.key(at)
        return "" if before in (".", ":") or (key == "WITH" and before in ("STARTS", "ENDS")) else key

    def until(self, at: int, ends: Collection[str]) -> list[int]:
        """Token `at` and the following ones on its level, up to one of `ends`."""
        found: list[int] = []
        for each in self.level(at):
            if each > at and self.keyword(each) in ends:
                break
            if each >= at:
                found.append(each)
        return found

    def items(self, tokens: list[int], separators: Collection[str]) -> list[list[int]]:
        """Tokens of one level, split at separators."""
        items: list[list[int]] = [[]]
        for at in tokens:
            if self.keyword(at) in separators:
                items.append([])
            else:
                items[-1].append(at)
        return [item for item in items if item]

    def slice(self, first: int, last: int) -> str:
        """The text from one token to another, both included."""
        return self.text[self.tokens[first].start : self.tokens[last].end]


def statement(text: str) -> Statement:
    """Splits a text into tokens. Raises ValueError if brackets do not match."""
    found = Statement(text)
    opened: list[int] = []
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "space":
            continue
        at = len(found.tokens)
        found.tokens.append(Token(match[0], match.start(), match.end()))
        if match[0] in _CLOSING.values():
            if not opened or _CLOSING[found.tokens[opened[-1]].text] != match[0]:
                raise ValueError(f"{match[0]} at {match.start()} closes nothing")
            found.partner[at] = opened.pop()
            found.partner[found.partner[at]] = at
        found.around.append(opened[-1] if opened else -1)
        if match[0] in _CLOSING:
            opened.append(at)
    if opened:
        raise ValueError(f"{found.tokens[opened[-1]].text} at {found.tokens[opened[-1]].start} is not closed")
    return found


def shown(text: str) -> str:
    """A piece of a statement on one line, without comments; if it is long, without its middle."""
    parts = (" " if match.lastgroup == "space" else match[0] for match in _TOKEN.finditer(text))
    line = " ".join("".join(parts).split())
    return line if len(line) <= SHOWN else f"{line[: SHOWN * 3 // 4]} ... {line[-SHOWN // 4 :]}"
