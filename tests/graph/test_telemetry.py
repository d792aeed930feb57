"""Spans and counters, if a program has configured OpenTelemetry; otherwise nothing."""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from neo4j.exceptions import TransientError
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from grantpath.engine import Invalid, Refused, Unknown
from grantpath.engine.policy import policy
from grantpath.engine.transfer import policy_upgrade
from grantpath.engine.transfer.exporter import dump
from grantpath.engine.transfer.importer import load
from grantpath.graph.client import telemetry
from grantpath.graph.client.connection import Connection
from grantpath.graph.guard.transaction import Writing

from ..conftest import Tenants
from ..support.at_once import at_once
from ..support.sizes import say

FACTS = [
    "add catalog:hr",
    "add role:analyst",
    "member user:bob of role:analyst",
    "allow USE_CATALOG on catalog:hr to role:analyst",
]
CHECK = ("user:bob", "USE_CATALOG", "catalog:hr")


class Seen:
    """The spans and metrics that the program's OpenTelemetry has received in this test."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self._metrics = InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self.meters = MeterProvider(metric_readers=[self._metrics])

    def span(self) -> ReadableSpan:
        """The only span since the last call."""
        spans = self._spans.get_finished_spans()
        self._spans.clear()
        [only] = spans
        return only

    def attributes(self) -> dict[str, Any]:
        """The attributes of that span, with its name."""
        span = self.span()
        return {
            "span": span.name,
            **{key.removeprefix("grantpath."): each for key, each in (span.attributes or {}).items()},
        }

    def metric(self, name: str) -> dict[tuple[tuple[str, Any], ...], Any]:
        """The sums or counts of a metric, by attributes."""
        data = self._metrics.get_metrics_data()
        found: dict[tuple[tuple[str, Any], ...], Any] = {}
        for resource in data.resource_metrics if data else []:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    if metric.name == f"grantpath.{name}":
                        for point in metric.data.data_points:
                            key = tuple(sorted((point.attributes or {}).items()))
                            found[key] = point.value if hasattr(point, "value") else point.count
        return found

    def total(self, name: str) -> int:
        return sum(self.metric(name).values())


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    """OpenTelemetry as a program configures it; removed after the test."""
    mine = Seen()
    monkeypatch.setattr("opentelemetry.trace.get_tracer", mine.tracers.get_tracer)
    monkeypatch.setattr("opentelemetry.metrics.get_meter", mine.meters.get_meter)
    monkeypatch.setattr(telemetry, "_otel", None)
    yield mine
    monkeypatch.setattr(telemetry, "_otel", None)


def test_questions_have_spans_and_counters(seen: Seen, tenant: Tenants) -> None:
    auth = tenant("gravitino", FACTS)
    revision = auth.revision_now()
    known = {"root": auth.tenant, "name": "USE_CATALOG", "revision": revision}
    assert auth.check(*CHECK)
    assert seen.attributes() == {"span": "grantpath.check", **known, "allowed": True}
    auth.check_many([CHECK, ("user:eve", "USE_CATALOG", "catalog:hr")])
    found = {"root": auth.tenant, "revision": revision, "checks": 2, "allowed": 1}
    assert seen.attributes() == {"span": "grantpath.check_many", **found}
    auth.explain(*CHECK)
    assert seen.attributes() == {"span": "grantpath.explain", **known, "allowed": True}
    list(auth.who("USE_CATALOG", "catalog:hr"))
    assert seen.attributes() == {"span": "grantpath.who", **known}
    list(auth.which("catalog", "user:bob", "USE_CATALOG"))
    assert seen.attributes() == {"span": "grantpath.which", **known}
    assert seen.metric("checks") == {(("grantpath.allowed", False),): 1, (("grantpath.allowed", True),): 3}
    assert seen.metric("call.duration")[(("grantpath.verb", "check"),)] == 1


def test_changes_have_spans_and_counters(seen: Seen, tenant: Tenants) -> None:
    auth = tenant("gravitino", FACTS)
    done = auth.change("add user:eve", id="once")
    assert seen.attributes() == {
        "span": "grantpath.change", "root": auth.tenant, "changes": 1, "dry_run": False, "revision": done.revision
    }  # fmt: skip
    auth.change("add user:eve", id="once")
    auth.change("add user:ada", dry_run=True)
    auth.change_all(["add user:ida", "add user:kim", FACTS[-1]])
    assert seen.total("changes") == 3, "repetitions, dry runs and changes without an effect do not count"
    with pytest.raises(Refused):
        auth.change("add user:zoe", by="user:bob")
    assert seen.metric("refusals") == {(): 1}
    assert seen.total("lock.wait") >= 3
    assert seen.metric("change.group") == {(): 2}, "a new change and a repeated one"
    at_once(auth, [lambda auth: auth.change("add role:one"), lambda auth: auth.change("add role:two")])
    assert seen.metric("change.group") == {(): 3}
    assert seen.total("errors") == 0


def test_each_statement_has_a_span_and_is_counted(seen: Seen, tenant: Tenants) -> None:
    auth = tenant("gravitino", FACTS)
    statements = ["add user:eve", "add user:eve", "drop user:nobody", "add user:ada", FACTS[-1], "what"]
    auth.change_all(statements, each=True)
    auth.change_all(["add user:zoe", "add user:ida"], by="user:bob", each=True)
    verb = ("grantpath.verb", "change")
    wrong: dict[Any, int] = {(("error.type", code), verb): 1 for code in ("conflict", "unknown", "invalid_input")}
    assert seen.metric("errors") == wrong
    assert seen.metric("call.duration") == {**wrong, (verb,): 5}
    assert (seen.total("changes"), seen.total("refusals")) == (2, 2)
    assert seen.metric("change.group") == {(): 2}


def test_retried_change_is_counted(
    seen: Seen, tenant: Tenants, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    auth, errors, ask = tenant("gravitino", FACTS), [TransientError("deadlock")], Writing.ask

    def once(writing: Writing, text: str, parameters: Any) -> Any:
        if errors:
            raise errors.pop()
        return ask(writing, text, parameters)

    monkeypatch.setattr(Writing, "ask", once)
    auth.change("add user:eve")
    assert seen.attributes()["retries"] == 1
    assert seen.metric("retries") == {(("grantpath.reason", "change"),): 1}
    assert f"{auth.tenant}: retrying a change" in caplog.text


def test_loads_dumps_and_upgrades_have_spans(seen: Seen, tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant("gravitino", FACTS)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "subjects.csv").write_text("ref\nuser:zoe\n")
    load(auth, tmp_path / "in")
    found = seen.attributes()
    assert (found["span"], found["added"], found["removed"]) == ("grantpath.load", 1, 0)
    dump(auth, tmp_path / "out")
    assert seen.attributes()["span"] == "grantpath.dump"
    policy_upgrade.upgrade(auth, policy.load("gravitino"))
    found = seen.attributes()
    assert (found["span"], found["changed"]) == ("grantpath.upgrade", False)


def test_errors_are_counted_by_code_without_names(seen: Seen, tenant: Tenants) -> None:
    auth = tenant("gravitino", FACTS)
    with pytest.raises(Unknown):
        auth.check("user:bob", "USE_CATALOG", "catalog:secret_project")
    span = seen.span()
    assert span.attributes and span.attributes["error.type"] == telemetry.error_code(Unknown(""))
    assert "secret_project" not in span.to_json() and "user:bob" not in span.to_json()
    with pytest.raises(Invalid):
        auth.change("add user:")
    assert seen.total("errors") == 2


def test_names_appear_if_the_operator_has_opted_in(
    seen: Seen, tenant: Tenants, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(telemetry.NAMES, "yes")
    auth = tenant("gravitino", FACTS)
    auth.check(*CHECK)
    found = seen.attributes()
    assert (found["subject"], found["object"]) == ("user:bob", "catalog:hr")
    auth.check("user:" + "x" * 250, "USE_CATALOG", "catalog:hr")
    assert len(seen.attributes()["subject"]) == telemetry.LONGEST


def test_span_is_inside_the_span_of_the_caller(seen: Seen, tenant: Tenants) -> None:
    auth = tenant("gravitino", FACTS)
    with seen.tracers.get_tracer("service").start_as_current_span("request") as outer:
        auth.check(*CHECK)
    inner, around = seen._spans.get_finished_spans()
    assert inner.parent and inner.parent.span_id == outer.get_span_context().span_id == around.context.span_id


def test_answer_that_writers_disturb_is_counted(seen: Seen, tenant: Tenants, monkeypatch: pytest.MonkeyPatch) -> None:
    auth = tenant("gravitino", FACTS)
    monkeypatch.setattr("grantpath.graph.guard.store.is_consistent", lambda row: False)
    auth.check(*CHECK)
    found = seen.attributes()
    assert (found["reads.torn"], found["reads.locked"]) == (seen.total("reads.torn"), 1)
    assert found["reads.torn"] > 1 and seen.total("reads.locked") == 1


# ---- without OpenTelemetry -----------------------------------------------------------------------------------
QUIET = """
import sys
from grantpath.engine import Authorizer
with Authorizer.open("metalake:quiet", "gravitino", create=True) as auth:
    auth.change("add user:bob")
    auth.check("user:bob", "USE_CATALOG", "metalake:quiet")
    auth.change("drop user:bob")
print(sorted(name for name in sys.modules if name.startswith("opentelemetry")))
"""


def test_opentelemetry_is_imported_only_by_the_program(server: Connection) -> None:
    variables = {"NEO4J_URI": server.uri, "NEO4J_USER": server.user, "NEO4J_PASSWORD": server.password}
    ran = subprocess.run([sys.executable, "-c", QUIET], env=variables, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("[]\n", "")


@pytest.mark.slow
def test_telemetry_adds_little_to_a_check(
    seen: Seen, tenant: Tenants, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Alternates checks with and without it, so that other work on the machine disturbs both equally."""
    auth = tenant("gravitino", FACTS)
    quiet, loud = list[float](), list[float]()
    listening: Callable[[], object] = telemetry._listening
    for _ in range(300):
        for times, listen in ((quiet, lambda: None), (loud, listening)):
            monkeypatch.setattr(telemetry, "_listening", listen)
            began = time.perf_counter()
            auth.check(*CHECK)
            times.append(time.perf_counter() - began)
    ratio = statistics.median(loud) / statistics.median(quiet)
    began = time.perf_counter()
    monkeypatch.setattr(telemetry, "_listening", lambda: None)
    for _ in range(10_000):
        with telemetry.span("check", "metalake:ml", "USE_CATALOG", subject="user:bob") as span:
            span.set(allowed=True, revision=1)
    off = (time.perf_counter() - began) / 10_000
    say(
        capsys,
        f"check, p50: {statistics.median(quiet) * 1_000:.2f} ms without telemetry, {ratio:.2f} times with spans and"
        f" counters in memory; {off * 1e6:.1f} microseconds where nothing listens",
    )
    assert off < 50e-6
    assert ratio < 2
