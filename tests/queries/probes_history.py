"""Probes of the queries of the history and of repeated requests."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from grantpath import cypher
from grantpath.engine import Authorizer, Invalid, Refused

from ..conftest import Tenants
from ..support.small_tenants import ROOT_NAME
from .probe import Probe, always
from .probes_questions import heeding


def probes(kept: Authorizer, scratch: Tenants) -> Iterator[Probe]:
    """`kept` is the tenant whose history is read."""
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
    yield Probe("a refusal", "refusal_write", partial(_refusal, scratch), always(REFUSAL))
    yield Probe("said again", "idempotency_keep idempotency_find", partial(_said_again, scratch), always(SAID_AGAIN))


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


REFUSAL = [(1, "user:kx", None, "drop user:ky", "user:ky", None, True)] * 2


def _refusal(scratch: Tenants) -> list[tuple[Any, ...]]:
    graph = scratch("lakehouse", ["add user:kx", "add user:ky"], ROOT_NAME)
    with pytest.raises(Refused):
        graph.change("drop user:ky", by="user:kx", id="try")
    assert graph.revision_now() == 2
    return [
        (each.revision - 1, each.actor, each.as_role, each.statement, each.object, each.subject, bool(each.reason))
        for each in [*graph.log(refused=True), *graph.log(refused=True, id="try")]
    ]


SAID_AGAIN = [
    ("once", 1),
    ("once", 1),
    "Invalid",
    [("two.0", 2), (None, 2), ("two.2", 3)],
    True,
    4,
    True,
    "Invalid",
    4,
    "Invalid",
    "Invalid",
    5,
]


def _said_again(scratch: Tenants) -> list[object]:
    """A change with an id, a batch, and a change without an id; each is repeated, and other requests use their ids."""
    neighbour = scratch("lakehouse", root=ROOT_NAME)
    for id_ in ("once", "two"):
        neighbour.change(f"add user:{id_}", id=id_)
    neighbour.change("add user:three", id="two.0")
    neighbour.change_all(["add user:four"], id="two.1")
    graph = scratch("lakehouse", root=ROOT_NAME)
    found: list[object] = []
    for _ in range(2):
        done = graph.change("add user:kx", id="once")
        found.append((done.id, done.revision))
    found.append(_invalid(graph, "add user:ky", "once"))
    batch = ["add user:ky", "add user:ky", "add user:kz"]
    batch[1] = "remove user:ky from group:kg"
    graph.given(["add group:kg"])
    first = graph.change_all(batch, id="two")
    found.append([(each.id, each.revision - 1 if each.revision > 1 else each.revision) for each in first])
    found.append(graph.change_all(batch, id="two") == first)
    found.append(graph.revision_now())
    alone = graph.change("add user:kw")
    found.append(graph.change("add user:kw", id=alone.id) == alone)
    found.append(_invalid(graph, "add user:kv", str(alone.id)))
    found.append(graph.revision_now() - 1)
    # ids that a batch would give its parts, and that a change or a batch has
    unnamed = graph.change_all(["add user:k1", "add user:k2"])
    graph.change("remove user:k1 from group:kg", id="nothing.1")
    ids = (str(unnamed[0].id).removesuffix(".0"), "nothing")
    found += [_invalid(graph, ["add user:k3", "add user:k4"], id_) for id_ in ids]
    found.append(graph.revision_now() - 2)
    return found


def _invalid(graph: Authorizer, said: str | list[str], id_: str) -> str:
    try:
        if isinstance(said, str):
            graph.change(said, id=id_)
        else:
            graph.change_all(said, id=id_)
    except Invalid:
        return "Invalid"
    return "done"
