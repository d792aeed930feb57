"""`check --file`: reads one check per line, asks in batches, and prints one answer per line."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from grantpath.engine.cli.context import CommandContext, past
from grantpath.engine.cli.output import about_item, note
from grantpath.graph.errors import Invalid, InvalidInput
from grantpath.graph.language.inputs import read_json
from grantpath.graph.language.statement import MAX_LINE, Check, parse_asked
from grantpath.graph.messages import counted, printable, read_printed

if TYPE_CHECKING:
    from grantpath.engine.answers.decision import Decision
    from grantpath.engine.authorizer.authorizer import Authorizer
    from grantpath.engine.past.past_root import PastRoot

BATCH = 1_000  # about 2 seconds of a busy server: a batch must be answered within the timeout
MAX_BYTES = 4 * MAX_LINE + 2
STANDARD_INPUT = "-"


class _JsonCheck(BaseModel):
    """A check in the form of a JSON line."""

    model_config = ConfigDict(extra="forbid", strict=True)

    subject: str
    name: str
    object: str
    as_role: str | None = None
    with_: dict[str, str] = Field({}, alias="with")


@dataclass(frozen=True)
class _CheckLine:
    number: int
    check: Check


@dataclass
class _Answers:
    """Prints answers, and counts them."""

    session: CommandContext
    allowed: int = 0
    refused: int = 0
    revisions: list[int] = field(default_factory=list)  # of the first batch and of the last one

    def add(self, lines: Sequence[_CheckLine], decisions: "Sequence[Decision]") -> None:
        """Prints the decisions of a batch."""
        for line, decision in zip(lines, decisions, strict=True):
            if decision:
                self.allowed += 1
            else:
                self.refused += 1
            print(self._shown(line, decision))
        sys.stdout.flush()
        self.revisions = [*self.revisions[:1], decisions[0].revision]

    def _shown(self, line: _CheckLine, decision: "Decision") -> str:
        if not self.session.json:
            return f"{'allowed' if decision else 'not allowed'}: {_words(decision.question)}"
        asked = decision.question
        question: dict[str, Any] = {"subject": asked.subject, "name": asked.name, "object": asked.object}
        question |= {"as_role": asked.as_role, "with": asked.with_}
        answer = {"line": line.number, **question, "allowed": decision.allowed, "revision": decision.revision}
        return json.dumps(answer, ensure_ascii=False)


def check_file(
    session: CommandContext, name: str, at_least: int | None, as_of: str | None, snapshots: list[str]
) -> int:
    """Answers the checks of a file. Returns 0 if all are allowed, 1 if at least one is not.

    Raises InvalidInput with the line if a line is not a check, and if there is no check at all; the lines before it
    are answered. Raises the errors of `check_many`.
    """
    shown = "standard input" if name == STANDARD_INPUT else name
    report = _Answers(session)
    with _opened(name) as file, session.open() as authorizer:
        state = past(authorizer, as_of, snapshots)
        lines = _lines(file, shown)
        while batch := _next(lines):
            checks, problem = batch
            _answer(authorizer, report, checks, shown, at_least, state)
            if problem:
                raise problem
    if not report.revisions:
        raise InvalidInput(f"{shown} contains no check; write one per line: SUBJECT NAME OBJECT")
    span = " to ".join(str(revision) for revision in dict.fromkeys(report.revisions))
    total = report.allowed + report.refused
    note(f"{counted(total, 'checks')}: {report.allowed:,} allowed, {report.refused:,} not allowed, at revision {span}")
    return 1 if report.refused else 0


def _words(check: Check) -> str:
    """The whole check; the text of a decision shortens long names."""
    role = f" as {printable(check.as_role)}" if check.as_role else ""
    pairs = ", ".join(f"{key}={printable(ref)}" for key, ref in check.with_.items())
    object_ = f"{printable(check.object)}{f' with {pairs}' if pairs else ''}"
    return f"{printable(check.subject)}{role} {check.name} on {object_}"


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    if name == STANDARD_INPUT:
        yield sys.stdin.buffer
        return
    try:
        file = open(name, "rb")  # noqa: SIM115
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InvalidInput(
            f"{printable(name)}: it cannot be read ({why}); name a file, or - for standard input"
        ) from None
    with file:
        yield file


def _next(lines: Iterator[_CheckLine]) -> tuple[list[_CheckLine], InvalidInput | None] | None:
    """The checks of the next batch, and the error of the line after them; None at the end."""
    checks: list[_CheckLine] = []
    try:
        checks.extend(islice(lines, BATCH))
    except InvalidInput as error:
        return checks, error
    return (checks, None) if checks else None


def _lines(file: IO[bytes], shown: str) -> Iterator[_CheckLine]:
    """The checks, one line in memory at a time. Raises InvalidInput with the line."""
    number = 0
    while raw := file.readline(MAX_BYTES):
        number += 1
        if len(raw) == MAX_BYTES:
            raise InvalidInput(f"{shown}, line {number}: it is longer than {MAX_LINE:,} characters; shorten it")
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip("\r\n")
            text = read_printed(text)
            if text.strip() and not text.lstrip().startswith("#"):
                yield _CheckLine(number, check_from_json(text) if text.lstrip().startswith("{") else parse_asked(text))
        except UnicodeDecodeError:
            raise InvalidInput(f"{shown}, line {number}: it is not UTF-8; save the file as UTF-8") from None
        except InvalidInput as error:
            raise InvalidInput(f"{shown}, line {number}: {error}") from None


def check_from_json(text: str) -> Check:
    """The check of a JSON line. Raises InvalidInput."""
    form = "write an object with subject, name and object, and if needed as_role and with"
    try:
        found = _JsonCheck.model_validate_json(text)
        read_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = f"{'.'.join(map(str, first['loc']))}: " if first["loc"] else ""
        raise InvalidInput(f"{place}{first['msg']}; {form}") from None
    except ValueError as error:
        raise InvalidInput(f"{error}; {form}") from None
    return Check(subject=found.subject, name=found.name, object=found.object, as_role=found.as_role, with_=found.with_)


def _answer(
    authorizer: "Authorizer",
    report: _Answers,
    lines: list[_CheckLine],
    shown: str,
    at_least: int | None,
    as_of: "PastRoot | None",
) -> None:
    """Asks one batch. If a check of it is not valid, the ones before it are answered."""
    if not lines:
        return
    try:
        decisions = authorizer.check_many([line.check for line in lines], at_least=at_least, as_of=as_of)
    except Invalid as error:
        if error.index is None:
            raise
        _answer(authorizer, report, lines[: error.index], shown, at_least, as_of)
        named = about_item(error, "check", f"{shown}, line {lines[error.index].number}: ")
        named.index = report.allowed + report.refused  # all checks before it are answered: its position in the file
        raise named from None
    report.add(lines, decisions)
