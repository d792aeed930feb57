"""Reads scenario files: parses YAML documents into scenarios, each line with its line number."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from grantpath.engine.policy.yaml_reader import Document, Key, read_documents
from grantpath.graph.errors import GrantpathError, InvalidInput
from grantpath.graph.language.statement import Check, Which, Who, parse_actor, parse_check, parse_question

Expected = bool | list[str] | str


class _Do(BaseModel):
    model_config = ConfigDict(extra="forbid")
    do: str
    by: str | None = None
    refused: Literal[True] | None = None
    invalid: Literal[True] | None = None


class _Ask(BaseModel):
    model_config = ConfigDict(extra="forbid")
    ask: str
    answer: list[str] | None = None
    error: Literal[True] | None = None


class _Check(BaseModel):
    model_config = ConfigDict(extra="forbid")
    check: str
    error: Literal[True] | None = None


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)
    scenario: str
    policy: str
    root: str
    source: str = ""
    absent: list[str] = []
    given: list[str] | None = None
    then: list[Any] = Field(min_length=1)


@dataclass(frozen=True)
class Line:
    """One line of `given` or `then`: its line number, its text, and the expected result."""

    number: int
    text: str
    expected: Expected
    question: Check | Who | Which | None = None
    actor: str | None = None
    as_role: str | None = None


@dataclass(frozen=True)
class Scenario:
    """One situation and the expected answers; `absent` are subjects that intentionally do not exist."""

    file: Path
    name: str
    policy: str
    root: str
    given: list[Line]
    then: list[Line]
    absent: tuple[str, ...] = ()


def read_scenarios(path: Path) -> list[Scenario]:
    """The scenarios of a file. Raises InvalidInput with file, line and reason."""
    documents = read_documents(path)
    if not documents:
        raise InvalidInput(
            f"{path}:1: the file has no scenario; write `scenario:`, `policy:`, `root:`, `given:`, `then:`"
        )
    return [_scenario(document, path) for document in documents]


def _scenario(document: Document, path: Path) -> Scenario:
    try:
        read = _File.model_validate(document.data)
    except ValidationError as error:
        raise InvalidInput(_explain(error, document, ())) from None
    given = [Line(document.line(("given", at)), text, "done") for at, text in enumerate(read.given or [])]
    then = [_line(entry, document, ("then", at)) for at, entry in enumerate(read.then)]
    return Scenario(path, read.scenario, read.policy, read.root, given, then, tuple(read.absent))


def _line(entry: Any, document: Document, key: Key) -> Line:
    number = document.line(key)
    try:
        if isinstance(entry, str):
            check, expected = parse_check(entry)
            return Line(number, entry, expected, check)
        if isinstance(entry, dict) and "do" in entry:
            return _change(_Do.model_validate(entry), number)
        if isinstance(entry, dict) and "ask" in entry:
            return _question(_Ask.model_validate(entry), number)
        if isinstance(entry, dict) and "check" in entry:
            read = _Check.model_validate(entry)
            check, expected = parse_check(read.check)
            return Line(number, read.check, "error" if read.error else expected, check)
    except ValidationError as error:
        raise InvalidInput(_explain(error, document, key)) from None
    except GrantpathError as error:
        raise InvalidInput(f"{document.file}:{number}: {error}") from None
    raise InvalidInput(f"{document.file}:{number}: a line of `then` must be a check, or start with do:, ask: or check:")


def _change(read: _Do, number: int) -> Line:
    if "by" in read.model_fields_set and not read.by:
        raise InvalidInput("`by` names nobody; write by: user:ann, or remove the key: then it is written as a fact")
    if read.refused and read.invalid:
        raise InvalidInput("a change cannot be both refused and invalid; remove one of the two keys")
    actor, role = parse_actor(read.by) if read.by else (None, None)
    expected = "invalid" if read.invalid else "refused" if read.refused else "done"
    return Line(number, read.do, expected, actor=actor, as_role=role)


def _question(read: _Ask, number: int) -> Line:
    if (read.answer is None) == (read.error is None):
        raise InvalidInput("a question must have either `answer: [...]` or `error: true`")
    expected: Expected = "error" if read.error else sorted(read.answer or [])
    return Line(number, read.ask, expected, parse_question(read.ask))


def _explain(error: ValidationError, document: Document, at: Key) -> str:
    first = error.errors()[0]
    key = (*at, *first["loc"])
    remedy = {
        "extra_forbidden": "unknown key; check its spelling, or remove it",
        "missing": "the key is missing; add it",
        "string_type": "a text is expected; if it looks like a number, write it in quotes",
        "list_type": "a list is expected; write [a, b]",
        "literal_error": "the value must be true; otherwise remove the key",
        "too_short": "the list is empty; write a check, e.g. user:bob can load_catalog on catalog:hr",
        "model_type": "a mapping is expected; write `scenario:`, `policy:`, `root:`, `given:`, `then:`",
    }.get(first["type"], first["msg"])
    return f"{document.file}:{document.line(key)}: {'.'.join(map(str, key)) or 'the file'}: {remedy}"
