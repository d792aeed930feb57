"""Spans and counters by OpenTelemetry where a program has set it up; nothing of it where none has."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from grantpath.engine import Refused, policy, upgrade
from grantpath.engine.dump import dump
from grantpath.engine.load import load
from grantpath.graph import telemetry
from grantpath.graph.server import Connection

from .conftest import Tenants

FACTS = [
    "add catalog:hr",
    "add role:analyst",
    "member user:bob of role:analyst",
    "allow USE_CATALOG on catalog:hr to role:analyst",
]
CHECK = ("user:bob", "USE_CATALOG", "catalog:hr")


class Seen:
    """What a program's own OpenTelemetry has received, in this test."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self._metrics = InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self.meters = MeterProvider(metric_readers=[self._metrics])

    def span(self) -> ReadableSpan:
        """The one span since the last time."""
        spans = self._spans.get_finished_spans()
        self._spans.clear()
        [only] = spans
        return only

    def attributes(self) -> dict[str, Any]:
        """The attributes of that span, with its name."""
        span = self.span()
        return {"span": span.name, **{key.removeprefix("grantpath."): each for key, each in span.attributes.items()}}

    def metric(self, name: str) -> dict[tuple[tuple[str, Any], ...], Any]:
        """A metric's sums or counts, by attributes."""
        data = self._metrics.get_metrics_data()
        found: dict[tuple[tuple[str, Any], ...], Any] = {}
        for resource in data.resource_metrics if data else []:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    if metric.name == f"grantpath.{name}":
                        for point in metric.data.data_points:
                            key = tuple(sorted(point.attributes.items()))
                            found[key] = point.value if hasattr(point, "value") else point.count
        return found

    def total(self, name: str) -> int:
        return sum(self.metric(name).values())


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    """OpenTelemetry set up by the program that uses grantpath, and forgotten behind the test."""
    mine = Seen()
    monkeypatch.setattr("opentelemetry.trace.get_tracer", mine.tracers.get_tracer)
    monkeypatch.setattr("opentelemetry.metrics.get_meter", mine.meters.get_meter)
    monkeypatch.setattr(telemetry, "_otel", None)
    yield mine
    monkeypatch.setattr(telemetry, "_otel", None)


def test_changes(seen: Seen, tenant: Tenants) -> None:
    auth = tenant("gravitino", FACTS)
    done = auth.change("add user:eve", id="once")
    assert seen.attributes() == {
        "span": "grantpath.change", "root": auth.tenant, "changes": 1, "dry_run": False, "revision": done.revision
    }  # fmt: skip
    auth.change("add user:eve", id="once")
    auth.change("add user:ada", dry_run=True)
    auth.change_all(["add user:ida", "add user:kim", FACTS[-1]])
    assert seen.total("changes") == 3, "what was done before, tried or changed nothing does not count"
    with pytest.raises(Refused):
        auth.change("add user:zoe", by="user:bob")
    assert seen.metric("refusals") == {(): 1}
    assert seen.total("errors") == 0


def test_whole_roots(seen: Seen, tenant: Tenants, tmp_path: Path) -> None:
    auth = tenant("gravitino", FACTS)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "subjects.csv").write_text("ref\nuser:zoe\n")
    load(auth, tmp_path / "in")
    found = seen.attributes()
    assert (found["span"], found["added"], found["removed"]) == ("grantpath.load", 1, 0)
    dump(auth, tmp_path / "out")
    assert seen.attributes()["span"] == "grantpath.dump"
    upgrade.upgrade(auth, policy.load("gravitino"))
    found = seen.attributes()
    assert (found["span"], found["changed"]) == ("grantpath.upgrade", False)


# ---- nothing where nothing listens -----------------------------------------------------------------------------------
QUIET = """
import sys
from grantpath.engine import Authorizer
with Authorizer.open("metalake:quiet", "gravitino", create=True) as auth:
    auth.change("add user:bob")
    auth.check("user:bob", "USE_CATALOG", "metalake:quiet")
    auth.change("drop user:bob")
print(sorted(name for name in sys.modules if name.startswith("opentelemetry")))
"""


def test_nothing_is_imported_unless_the_program_did(server: Connection) -> None:
    variables = {"NEO4J_URI": server.uri, "NEO4J_USER": server.user, "NEO4J_PASSWORD": server.password}
    ran = subprocess.run([sys.executable, "-c", QUIET], env=variables, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("[]\n", "")
