"""Formats a query's parameters as a :params line for Neo4j Browser: a Cypher map with strings in single quotes."""

import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def browser_line(parameters: Mapping[str, Any]) -> str:
    """`:params {...}`, on one line."""
    return f":params {literal(dict(parameters))}"


def literal(value: Any) -> str:
    """A value as a Cypher literal. Raises TypeError if its type has none."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str():
            return "'" + "".join(_char(char) for char in value) + "'"
        case Mapping():
            return "{" + ", ".join(f"{_key(key)}: {literal(each)}" for key, each in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(literal(each) for each in value) + "]"
    raise TypeError(f"{type(value).__name__} has no Cypher literal")


def _char(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    return "".join(f"\\u{unit:04x}" for unit in _units(char))


def _units(char: str) -> list[int]:
    """The UTF-16 code units of a character: Cypher's \\u takes four digits."""
    packed = char.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(packed[at : at + 2]) for at in range(0, len(packed), 2)]


def _key(key: str) -> str:
    return key if _BARE.match(key) else "`" + key.replace("`", "``") + "`"
