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

LAST = "MATCH (change:Change {root: $root}) WITH change ORDER BY change.revision DESC LIMIT 1 "
REMOVE_HASH = LAST + "WITH change, change.hash AS hash REMOVE change.hash RETURN hash"
SET_HASH = LAST + "SET change.hash = $hash"


def probes(lakehouse: Twin, cdap: Twin) -> Iterator[Probe]:
    for subject, principals in PRINCIPALS.items():
        look = partial(_principals, lakehouse, subject)
        yield Probe(f"principals of {subject}", "effective_principals", look, always(principals))
    found = partial(answers, cdap.graph, "entity_exists", ref="namespace:n")
    yield Probe("an entity", "entity_exists", found, always([{"ref": "namespace:n"}]))
    yield Probe("a root that is being changed", "list_tenants", partial(_revision, cdap), always(BEGUN["revision"]))
    yield Probe("the end of a chain", "log_tail", partial(_tail, lakehouse), always([None, True, True]))


def _principals(world: Twin, subject: str) -> list[str]:
    [row] = answers(world.graph, "effective_principals", subject=subject)
    return sorted(row["held"])


def _tail(world: Twin) -> list[Any]:
    """Entries without a hash; the head while the newest entry has none; the chain of a root of an older version."""
    graph = world.graph
    with marked_as(graph, BEGUN):
        [row] = answers(graph, "log_tail")
        [removed] = graph.store.execute(REMOVE_HASH, {"root": graph.tenant})
        try:
            [older] = answers(graph, "log_tail")
        finally:
            graph.store.execute(SET_HASH, {"root": graph.tenant, "hash": removed["hash"]})
    with marked_as(graph, {**BEGUN, "made": None}):
        [unmade] = answers(graph, "log_tail")
    return [row["unchained"], older["head"] not in (None, row["head"]), unmade["chain"] == f"{graph.tenant} "]


def _revision(world: Twin) -> Any:
    with marked_as(world.graph, BEGUN):
        rows = answers(world.graph, "list_tenants")
    return next(row["revision"] for row in rows if row["root"] == world.graph.tenant)
