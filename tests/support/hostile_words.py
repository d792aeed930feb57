"""Hostile words, and a tap that detects whether one of them reached the database as query text."""

import random
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import neo4j
import pytest

from grantpath import cypher

from .random_names import ODD

FRAGMENTS = [
    "x'}) DETACH DELETE n //",
    'x"}) MATCH (n) DETACH DELETE n RETURN ("',
    "Subject) DETACH DELETE n //",
    "`) MATCH (n) SET n.exists = false //",
    "}) CALL db.labels() YIELD label RETURN label //",
    "LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line",
    "$root",
    "$(row.labels)",
    "; DROP CONSTRAINT entity",
    "/* */ RETURN 1 //",
    "\\u0060) DETACH DELETE n //",
    "' OR 1=1 //",
    "{{7*7}}",
    "%s%n",
    "../../../etc/passwd",
    "..\\..\\boot.ini",
    "file:///dev/zero",
    "\r\nadd user:mallory",
    "\u202eresu",
    "\ufeffa",
    "a\u200bb",
    "\U000e0041",
    "\u2028",
    "\x1b[31m",
    "\x7f",
    "\ufffd\uffff",
    "1e999",
    "9" * 400,
    "[" * 300,
    "(" * 300,
]
TOPS = ["role", "schema", "table", "metalake", "spaceship", ""]
BROKEN = ["a\0b", "\0", "\ud800", "a\udfffb", "x" * 256, "\u00e9" * 128, "`", "``", "", "x" * 3_000, "[" * 5_000]
TYPES = ["user", "group", "role", "catalog", "schema", "table", "metalake", "spaceship", "User", "", "table)", "`x`"]


class Words:
    """Generates hostile words from a seed."""

    def __init__(self, seed: str) -> None:
        self.rng = random.Random(seed)

    def name(self) -> str:
        """An unusual name, often similar to an earlier one."""
        rng = self.rng
        name = rng.choice([rng.choice(FRAGMENTS), rng.choice(ODD), rng.choice(BROKEN), self._noise()])
        match rng.randrange(8):
            case 0:
                return name.upper()
            case 1:
                return unicodedata.normalize("NFD", name)
            case 2:
                return unicodedata.normalize("NFC", name)
            case 3:
                return "\u200f" + name
            case 4:
                return f"{name}{rng.randrange(100_000)}"
        return name

    def _noise(self) -> str:
        rng = self.rng
        pools = [
            "'\"`\\{}()[]$;:,. /*=<>|&%#@!-",
            "abc",
            "\u0430\u0435\u05d0\u202e\u200f\u0301\u212b\U0001f600",
            "\0\n\t\r\x1b",
        ]
        return "".join(rng.choice(rng.choices(pools, [5, 5, 3, 1])[0]) for _ in range(rng.randint(1, 30)))

    def segment(self) -> str:
        """A segment of a reference, mostly quoted correctly."""
        name = self.name()
        return "`" + name.replace("`", "``") + "`" if self.rng.random() < 0.7 else name

    def reference(self, types: list[str] | None = None) -> str:
        """A reference, or a similar text."""
        type_ = self.rng.choice(types or TYPES)
        depth = {"schema": 2, "table": 3}.get(type_, 1) if self.rng.random() < 0.9 else self.rng.randint(1, 9)
        return f"{type_}:{'.'.join(self.segment() for _ in range(depth))}"

    def statement(self) -> str:
        """A statement about such references, or a similar text."""
        rng = self.rng
        user, other = self.reference(["user", "user", "group", "role"]), self.reference(["role", "group"])
        privilege = rng.choice(["SELECT_TABLE", "USE_CATALOG", "USE_CATALOG", self.name()])
        thing = rng.choice(["catalog:c", "metalake:ml", self.reference()])
        return rng.choice(
            [
                f"add {self.reference(['role', 'catalog'])}",
                f"add {self.reference(['role', 'catalog'])}",
                f"drop {self.reference(['role', 'catalog'])}",
                f"member {user} of {other}",
                f"remove {user} from {other}",
                f"owner {user} of {thing}",
                f"allow {privilege} on {thing} to {rng.choice(['role:r', other])}",
                f"deny {privilege} on {thing} to {rng.choice(['role:r', other])}",
                f"revoke allow {privilege} on {thing} from {rng.choice(['role:r', other])}",
                f"{self.name()} {self.reference(['role', 'table', '`x`'])}",
                f"add {self.reference(TOPS)} with {self.name()}={self.reference()}",
            ]
        )


def own_texts() -> set[str]:
    """All query texts: the files of cypher/, and the statements of the schema."""
    files = {cypher.load(name).sent for name in cypher.names() if name != "schema"}
    return files | set(cypher.statements("schema"))


class Wire:
    """The texts that were sent to the driver."""

    def __init__(self) -> None:
        self.own = own_texts()
        self.sent = 0
        self.strange: list[str] = []

    def note(self, query: Any) -> None:
        text = query.text if isinstance(query, neo4j.Query) else query
        self.sent += 1
        if text not in self.own:
            self.strange.append(text)


@contextmanager
def tapped() -> Iterator[Wire]:
    """Records every query text that is sent while the block runs."""
    wire = Wire()
    with pytest.MonkeyPatch.context() as patch:
        for kind in (neo4j.Session, neo4j.Transaction, neo4j.ManagedTransaction):
            patch.setattr(kind, "run", _tap(kind.run, wire))
        yield wire


def _tap(run: Any, wire: Wire) -> Any:
    def noted(self: Any, query: Any, *args: Any, **given: Any) -> Any:
        wire.note(query)
        return run(self, query, *args, **given)

    return noted
