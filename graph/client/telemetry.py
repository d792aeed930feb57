"""Telemetry for operators: loggers, and OpenTelemetry's spans and counters.

The loggers are Python's, below the name `grantpath`. Nothing is printed by default. Names of entities are personal
data: they are logged at DEBUG only. Passwords, tokens and parameters of queries are never logged.

Spans and counters are recorded if the program has imported OpenTelemetry's API, as every program that configures it
does. Otherwise nothing is imported, and a call costs one lookup among the loaded modules. Spans omit the names of
entities unless GRANTPATH_TELEMETRY_NAMES=yes. docs/operating.md lists the loggers, spans and counters.
"""

import logging
import os
import sys
import time
from collections.abc import Sequence
from contextvars import ContextVar, Token
from threading import Lock
from types import TracebackType
from typing import Any, Literal, Protocol

from grantpath.graph.errors import NotInMemory, Refused

_queries = logging.getLogger("grantpath.store")
_changes = logging.getLogger("grantpath.change")

NAMES = "GRANTPATH_TELEMETRY_NAMES"
LONGEST = 200  # characters of an attribute
Count = Literal["checks", "changes", "refusals", "errors", "retries", "reads.torn", "reads.locked"]
COUNTS: dict[Count, str] = {
    "checks": "decisions, by grantpath.allowed",
    "changes": "accepted changes that changed something",
    "refusals": "changes that the acting user may not make",
    "errors": "calls that raised an error other than Refused, by error.type",
    "retries": "questions and changes that were sent again, by grantpath.reason",
    "reads.torn": "answers that a writer disturbed, and that were read again",
    "reads.locked": "answers that were read under the writer lock",
}
IN_SPANS: tuple[Count, ...] = ("retries", "reads.torn", "reads.locked")


class Span(Protocol):
    """One call of a public method. Use it in a `with` statement."""

    def set(self, **attributes: Any) -> None:
        """Adds attributes with the results of the call; None is omitted."""

    def __enter__(self) -> "Span": ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...


def span(verb: str, root: str, name: object = None, **entities: object) -> Span:
    """A span `grantpath.VERB` of a call; `name` is the privilege or operation in question.

    `entities` are references, recorded only if the operator has opted in.
    """
    otel = _listening()
    return _QUIET if otel is None else _Recorded(otel, verb, root, name, entities)


def count(what: Count, amount: int = 1, **attributes: Any) -> None:
    """Adds to a counter, and to the span of the current call."""
    otel = _listening()
    if otel is None:
        return
    otel.counters[what].add(amount, _named(attributes))
    current = _current.get()
    if current is not None and what in IN_SPANS:
        current.tallies[what] = current.tallies.get(what, 0) + amount


def changed_again(root: str) -> None:
    """Logs and counts that a change is retried because its transaction was not committed."""
    _changes.warning("%s: retrying a change: its transaction was not committed", root)
    count("retries", reason="change")


def retried(text: str, error: BaseException) -> None:
    """Logs and counts that a query is sent again after a transient error."""
    reason = error_code(error)
    _queries.warning("%s is sent again: %s", _query_name(text), reason)
    count("retries", reason=reason)


def locked_read(root: str, text: str) -> None:
    """Logs and counts a query that is repeated under the writer lock because writers kept disturbing it."""
    _queries.warning("%s: writers disturb %s; repeating it under the writer lock", root, _query_name(text))
    count("reads.locked")


def decided(span: Span, revision: int, allowed: bool) -> None:
    """Records one decision."""
    span.set(revision=revision, allowed=allowed)
    count("checks", allowed=allowed)


def all_decided(span: Span, revision: int, allowed: Sequence[bool]) -> None:
    """Records the decisions of a batch."""
    span.set(revision=revision, checks=len(allowed), allowed=sum(allowed))
    for which in (True, False):
        if allowed.count(which):
            count("checks", allowed.count(which), allowed=which)


def lock_waited(seconds: float) -> None:
    """Records how long a change waited for its turn: in this process, and for the writer lock of the root."""
    otel = _listening()
    if otel is not None:
        otel.lock_wait.record(seconds)


def committed_together(changes: int) -> None:
    """Records how many changes are made in one transaction."""
    otel = _listening()
    if otel is not None:
        otel.group.record(changes)


def queried(text: str, began: float) -> None:
    """Logs at DEBUG the name of a query, and its time since `began`, a moment of time.perf_counter()."""
    if _queries.isEnabledFor(logging.DEBUG):
        _queries.debug("%s took %.1f ms", _query_name(text), (time.perf_counter() - began) * 1_000)


def error_code(error: BaseException) -> str:
    """The code of an error, the same in metrics, spans and logs; the name of its class if it has no code."""
    return str(getattr(error, "code", None) or type(error).__name__)


def _query_name(text: str) -> str:
    """`check` for the text of check.cypher; the first words of a statement without a file header."""
    first = text.partition("\n")[0]
    if first.startswith("// ") and ".cypher" in first:
        return first[3:].partition(".cypher")[0]
    return " ".join(first.split()[:3])


class _Quiet:
    """The span that is used while OpenTelemetry is not loaded."""

    def set(self, **attributes: Any) -> None:
        pass

    def __enter__(self) -> "_Quiet":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        pass


class _Recorded:
    """A span of OpenTelemetry, with the counts of the calls inside it."""

    def __init__(self, otel: "_Otel", verb: str, root: str, name: object, entities: dict[str, object]) -> None:
        self._otel = otel
        self._verb = verb
        given = {"root": root, "name": name, **(entities if otel.names else {})}
        self._attributes = _named({key: value for key, value in given.items() if value is not None})
        self.tallies: dict[Count, int] = {}

    def set(self, **attributes: Any) -> None:
        self._span.set_attributes(_named({key: value for key, value in attributes.items() if value is not None}))

    def __enter__(self) -> "_Recorded":
        self._began = time.perf_counter()
        self._opened = self._otel.tracer.start_as_current_span(
            f"grantpath.{self._verb}",
            attributes=self._attributes,
            record_exception=self._otel.names,  # its text names entities
            set_status_on_exception=False,
        )
        self._span = self._opened.__enter__()
        self._outer: Token[_Recorded | None] = _current.set(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _current.reset(self._outer)
        if self.tallies:
            self._span.set_attributes(_named(dict(self.tallies)))
        attributes = {"grantpath.verb": self._verb}
        if isinstance(error, NotInMemory):
            self._span.set_attribute("grantpath.repeated", True)
            self._opened.__exit__(None, None, None)
            return
        if isinstance(error, Refused):
            count("refusals")
            self._span.set_attribute("grantpath.refused", True)
        elif error is not None:
            attributes["error.type"] = error_code(error)
            self._otel.counters["errors"].add(1, attributes)
            self._span.set_attribute("error.type", error_code(error))
            self._span.set_status(self._otel.failed, error_code(error))
        self._otel.duration.record(time.perf_counter() - self._began, attributes)
        self._opened.__exit__(kind, error, at)


class _Otel:
    """The tracer and the instruments. They do nothing until the program configures an SDK."""

    def __init__(self) -> None:
        from opentelemetry import metrics, trace

        self.names = os.environ.get(NAMES) == "yes"
        self.tracer = trace.get_tracer("grantpath")
        self.failed = trace.StatusCode.ERROR
        meter = metrics.get_meter("grantpath")
        self.counters = {
            name: meter.create_counter(f"grantpath.{name}", description=text) for name, text in COUNTS.items()
        }
        self.lock_wait = meter.create_histogram(
            "grantpath.lock.wait", unit="s", description="waits of changes for their turn at a root"
        )
        self.group = meter.create_histogram(
            "grantpath.change.group", unit="{change}", description="changes that are made in one transaction"
        )
        self.duration = meter.create_histogram(
            "grantpath.call.duration", unit="s", description="calls, by grantpath.verb and error.type"
        )


_QUIET = _Quiet()
_current: ContextVar[_Recorded | None] = ContextVar("grantpath_span", default=None)
_binding = Lock()
_otel: _Otel | None = None


def _listening() -> _Otel | None:
    """The instruments; None if the program has not imported OpenTelemetry's API."""
    global _otel
    if _otel is None and "opentelemetry.trace" in sys.modules:
        with _binding:
            if _otel is None:
                _otel = _Otel()
    return _otel


def _named(attributes: dict[Any, Any]) -> dict[str, Any]:
    """The attributes under this product's prefix."""
    return {f"grantpath.{key}": _plain(value) for key, value in attributes.items()}


def _plain(value: object) -> bool | int | float | str:
    """The value in a form that every exporter accepts, whatever the caller has passed."""
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value[:LONGEST].encode(errors="replace").decode()
    return type(value).__name__
