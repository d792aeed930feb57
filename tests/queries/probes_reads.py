"""Probes of single rows of small queries, for columns that their callers do not distinguish."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from .probe import Probe, always
from .probes_marks import BEGUN, answers, marked_as
from .probes_questions import Twin

# by subject, its effective principals: through groups; by two ways; in another tenant only; a name; nothing
PRINCIPALS = {
    "user:grouped": ["group:in", "group:out", "user:grouped"],
    "user:diamond": ["group:left", "group:right", "group:top", "user:diamond"],
    "user:stranger": ["user:stranger"],
    "user:former": ["role:service_admin", "user:former"],
    "user:elsewhere": [],
}


def probes(lakehouse: Twin, cdap: Twin) -> Iterator[Probe]:
    for subject, principals in PRINCIPALS.items():
        look = partial(_principals, lakehouse, subject)
        yield Probe(f"principals of {subject}", "effective_principals", look, always(principals))
    found = partial(answers, cdap.graph, "entity_exists", ref="namespace:n")
    yield Probe("an entity", "entity_exists", found, always([{"ref": "namespace:n"}]))
    yield Probe("a root that is being changed", "list_tenants", partial(_revision, cdap), always(BEGUN["revision"]))


def _principals(world: Twin, subject: str) -> list[str]:
    [row] = answers(world.graph, "effective_principals", subject=subject)
    return sorted(row["held"])


def _revision(world: Twin) -> Any:
    with marked_as(world.graph, BEGUN):
        rows = answers(world.graph, "list_tenants")
    return next(row["revision"] for row in rows if row["root"] == world.graph.tenant)
