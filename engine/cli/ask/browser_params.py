"""The command params: prints a query's parameters as a :params line for Neo4j Browser."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

import typer

from grantpath.engine.cli.ask.ask_commands import PANEL, Name, Ref, Subject
from grantpath.engine.cli.context import As, CommandContext, With, command, second_objects
from grantpath.engine.cli.output import emit, note
from grantpath.graph.language.reference import type_of

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class ParamsTarget(StrEnum):
    """The queries for which `params` can print parameters."""

    check_and_explain = "check-and-explain"
    check = "check"
    explain = "explain"
    who = "who"
    which = "which"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    command(app, PANEL, "grantpath params user:bob load_table table:hr.public.staff")(params)


def params(
    session: CommandContext,
    subject: Subject,
    name: Name,
    ref: Ref,
    with_: With = [],  # noqa: B006
    as_: As = None,
    for_: Annotated[ParamsTarget, typer.Option("--for", help="the query of cypher/ to paste")] = (
        ParamsTarget.check_and_explain
    ),
) -> None:
    """Print the :params line to run in Neo4j Browser before pasting a query of cypher/.

    The line works for check.cypher and for explain.cypher. --for who ignores the SUBJECT, and --for which uses only the
    type of REF. If the line is for which_below.cypher, a note reports it.
    """
    second = second_objects(with_)
    with session.open() as authorizer:
        if for_ is ParamsTarget.who:
            authorizer.who(name, ref, with_=second)
        elif for_ is ParamsTarget.which:
            authorizer.which(type_of(ref), subject, name, as_role=as_, with_=second)
        else:
            authorizer.explain(subject, name, ref, as_role=as_, with_=second)
        queries = for_.value.split("-and-")
        if "which_below" in authorizer.asked:
            queries = ["which_below"]
            note("these parameters are for which_below.cypher: the answer depends on what is granted below a place")
        asked: dict[str, Any] = {}
        for query in queries:
            asked.update(authorizer.asked[query])
    if session.json:
        emit({"params": asked, "queries": [f"{query}.cypher" for query in queries]})
    else:
        print(browser_line(asked))


def browser_line(parameters: Mapping[str, Any]) -> str:
    """`:params {...}`, on one line: a Cypher map with strings in single quotes."""
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
