"""Probes of the queries of the history and of repeated requests."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from grantpath import cypher
from grantpath.engine import Authorizer, Refused

from ..conftest import Tenants
from ..support.small_tenants import ROOT_NAME
from .probe import Probe
from .probes_questions import heeding


def probes(kept: Authorizer) -> Iterator[Probe]:
    """Probes of the queries that read; `kept` is the tenant whose history is read."""
    for query in ("log", "refusals"):
        for wanted in _filters(kept, query):
            told = ", ".join(wanted)
            yield Probe(
                f"{query} {told}",
                query,
                partial(_asked_for, kept, query, wanted),
                partial(_filtered, kept, query, wanted),
            )
    yield heeding(kept, "log", kept.log)
    yield heeding(kept, "refusals", lambda: kept.log(refused=True))


# the clock was set back before the newest refusal
SET_BACK = """MATCH (refusal:Refusal {root: $root}) WITH refusal ORDER BY refusal.revision DESC LIMIT 1
SET refusal.at = refusal.at - duration({hours: 1})"""


def kept_tenant(tenants: Tenants) -> Authorizer:
    """A tenant with changes and refusals of several actors, next to another one."""
    for names in (("other",), ("ann", "bob", "cas")):
        graph = tenants("deltastream", [f"member user:{name} of role:SYSADMIN" for name in names], ROOT_NAME)
        for number, name in enumerate(names):
            graph.change(f"add database:{name}", by=f"user:{name}", as_role="role:SYSADMIN")
            graph.change(f"owner role:USERADMIN of database:{name}")
            for change in (f"drop role:{name}", f"drop database:{name}", f"member user:{names[0]} of role:ORGADMIN"):
                if number < 2 and not change.startswith("drop role"):
                    with pytest.raises(Refused):
                        graph.change(change, by=f"user:{name}", as_role="role:SYSADMIN", id=f"try {change}")
        graph.change("add store:st", id="once")
        graph.change_all([f"add store:{name}" for name in ("many", *names)], id="many")
    graph.store.execute(SET_BACK, {"root": graph.tenant})
    left_over = "CREATE (:LoadedBatch {root: $root}), (:DoomedBatch {root: $root}), (:LoadLane {root: $root})"
    graph.store.execute(left_over, {"root": graph.tenant})
    return graph


def _raw(graph: Authorizer, label: str) -> list[dict[str, Any]]:
    """The entries of the graph, in order."""
    rows = graph.store.execute(
        "MATCH (entry:Change|Refusal {root: $root}) WHERE $label IN labels(entry) RETURN properties(entry) AS entry",
        {"root": graph.tenant, "label": label},
    )
    entries = [dict(row["entry"]) for row in rows]
    return sorted(entries, key=lambda entry: (entry["revision"], entry["at"].to_native()))


def _filters(graph: Authorizer, query: str) -> list[dict[str, Any]]:
    entries = _raw(graph, "Change" if query == "log" else "Refusal")
    middle = entries[len(entries) // 2]
    at: datetime = middle["at"].to_native()
    wanted: list[dict[str, Any]] = [{}, {"limit": 1}, {"limit": 2}, {"id": middle["id"]}, {"id": "many"}]
    wanted += [{"id": "try drop database:ann"}]
    wanted += [{"actor": "user:bob"}, {"object": middle["object"]}, {"subject": "user:ann"}]
    wanted += [{"after": middle["revision"]}, {"before": middle["revision"]}, {"since": at}, {"until": at}]
    return [*wanted, {"since": at - timedelta(days=1), "until": at + timedelta(days=1)}]


def marked(graph: Authorizer) -> int:
    return int(graph.store.execute(cypher.load("read_marks").text, {"root": graph.tenant})[0]["revision"])


SHOWN = ("revision", "id", "actor", "as_role", "statement", "object", "subject")


def shown(query: str) -> tuple[str, ...]:
    return (*SHOWN, "hash" if query == "log" else "reason")


def _asked_for(graph: Authorizer, query: str, wanted: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    entries = graph.log(refused=query == "refusals", **wanted)
    return [tuple(getattr(entry, name) for name in shown(query)) for entry in entries]


def _filtered(graph: Authorizer, query: str, wanted: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The same, selected in Python from all entries."""
    entries = _raw(graph, "Change" if query == "log" else "Refusal")
    fitting = [entry for entry in entries if _fits(entry, wanted)][-wanted.get("limit", 100) :]
    return [tuple(entry.get(name) for name in shown(query)) for entry in fitting]


def _fits(entry: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    at = entry["at"].to_native()
    return (
        all(entry.get(name) == wanted[name] for name in ("actor", "object", "subject") if name in wanted)
        and ("id" not in wanted or _is_of(entry, wanted["id"]))
        and entry["revision"] > wanted.get("after", -1)
        and entry["revision"] < wanted.get("before", 1_000)
        and ("since" not in wanted or at >= wanted["since"])
        and ("until" not in wanted or at < wanted["until"])
    )


def _is_of(entry: Mapping[str, Any], id_: str) -> bool:
    batch = [f"many.{at}" for at in range(4)] if id_ == "many" else []
    return entry["id"] in (id_, *batch) or entry.get("request") == id_
