"""What the log and the refused attempts return for each filter, held against all entries, filtered in Python."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any
from unittest.mock import patch

import pytest

from grantpath.engine import Authorizer, Refused
from grantpath.graph.guard.store import Store

from ..conftest import Tenants
from ..support.small_tenants import ROOT_NAME

pytestmark = pytest.mark.slow

QUERIES = ("log", "refusals")
SHOWN = ("revision", "id", "actor", "as_role", "statement", "object", "subject")
# the clock was set back before the newest refusal
SET_BACK = """MATCH (refusal:Refusal {root: $root}) WITH refusal ORDER BY refusal.revision DESC LIMIT 1
SET refusal.at = refusal.at - duration({hours: 1})"""


@pytest.fixture(scope="module")
def graph(store: Store) -> Iterator[Authorizer]:
    """A tenant with changes and refusals of several actors, next to another one."""
    tenants = Tenants(store)
    for names in (("other",), ("ann", "bob", "cas")):
        made = tenants("deltastream", [f"member user:{name} of role:SYSADMIN" for name in names], ROOT_NAME)
        for number, name in enumerate(names):
            made.change(f"add database:{name}", by=f"user:{name}", as_role="role:SYSADMIN")
            made.change(f"owner role:USERADMIN of database:{name}")
            for change in (f"drop database:{name}", f"member user:{names[0]} of role:ORGADMIN"):
                if number < 2:
                    with pytest.raises(Refused):
                        made.change(change, by=f"user:{name}", as_role="role:SYSADMIN", id=f"try {change}")
        made.change("add store:st", id="once")
        made.change_all([f"add store:{name}" for name in ("many", *names)], id="many")
    store.execute(SET_BACK, {"root": made.tenant})
    yield made
    tenants.remove()


@pytest.mark.parametrize("query", QUERIES)
def test_each_filter_finds_the_entries_that_fit(graph: Authorizer, query: str) -> None:
    entries, refused = entries_of(graph, query), query == "refusals"
    shown = (*SHOWN, "reason" if refused else "hash")
    assert len(entries) > 3
    for wanted in filters(entries):
        found = [tuple(getattr(each, name) for name in shown) for each in graph.log(refused=refused, **wanted)]
        fitting = [entry for entry in entries if fits(entry, wanted)][-wanted.get("limit", 100) :]
        assert found == [tuple(entry.get(name) for name in shown) for entry in fitting], wanted


def entries_of(graph: Authorizer, query: str) -> list[dict[str, Any]]:
    """The entries of the graph, in order."""
    rows = graph.store.execute(
        "MATCH (entry:Change|Refusal {root: $root}) WHERE $label IN labels(entry) RETURN properties(entry) AS entry",
        {"root": graph.tenant, "label": "Change" if query == "log" else "Refusal"},
    )
    entries = [dict(row["entry"]) for row in rows]
    return sorted(entries, key=lambda entry: (entry["revision"], entry["at"].to_native()))


def filters(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    middle = entries[len(entries) // 2]
    at: datetime = middle["at"].to_native()
    wanted: list[dict[str, Any]] = [{}, {"limit": 1}, {"limit": 2}, {"id": middle["id"]}, {"id": "many"}]
    wanted += [{"id": "try drop database:ann"}]
    wanted += [{"actor": "user:bob"}, {"object": middle["object"]}, {"subject": "user:ann"}]
    wanted += [{"after": middle["revision"]}, {"before": middle["revision"]}, {"since": at}, {"until": at}]
    return [*wanted, {"since": at - timedelta(days=1), "until": at + timedelta(days=1)}]


def fits(entry: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    at = entry["at"].to_native()
    return (
        all(entry.get(name) == wanted[name] for name in ("actor", "object", "subject") if name in wanted)
        and ("id" not in wanted or is_of(entry, wanted["id"]))
        and entry["revision"] > wanted.get("after", -1)
        and entry["revision"] < wanted.get("before", 1_000)
        and ("since" not in wanted or at >= wanted["since"])
        and ("until" not in wanted or at < wanted["until"])
    )


def is_of(entry: Mapping[str, Any], id_: str) -> bool:
    batch = [f"many.{at}" for at in range(4)] if id_ == "many" else []
    return entry["id"] in (id_, *batch) or entry.get("request") == id_


@pytest.mark.parametrize(
    ("refused", "expected"), [(False, [[5, 6, 7, 8], [1, 9], []]), (True, [[9], [], [9]])], ids=QUERIES
)
def test_entries_of_the_root_object_are_found_under_its_former_name(
    tenant: Tenants, refused: bool, expected: list[list[int]]
) -> None:
    """The name is on the entry, beside it, or in parts; entries about other objects are not found."""
    top = f"metalake:{ROOT_NAME}"
    facts = ["add catalog:xa", "add role:xr", "add role:xs", "add user:xu"]
    grants = [f"allow USE_CATALOG on {top} to role:{ref}" for ref in ("xr", "xs")]
    graph = tenant("lakehouse", [*facts, *grants], ROOT_NAME)
    graph.given(["drop role:xr"])
    with patch("grantpath.engine.change.delta_records.SHORT", 1):
        graph.given(["drop role:xs", "drop catalog:xa"])
    for statement in (f"owner user:xu of {top}", "add catalog:xb"):
        with pytest.raises(Refused):
            graph.change(statement, by="user:xu")
    old = "[ref IN entry.touched | replace(ref, 'metalake:', 'metalake:old ')]"
    for label in ("Change", "Delta", "Refusal"):
        entries, given = f"MATCH (entry:{label} {{root: $root}})", {"root": graph.tenant}
        graph.store.execute(f"{entries} WHERE entry.touched IS NOT NULL SET entry.touched = {old}", given)
        graph.store.execute(f"{entries} SET entry.object = replace(entry.object, 'metalake:', 'metalake:old ')", given)
    assert [
        [each.revision for each in graph.log(object=ref, refused=refused)] for ref in (top, "catalog:xa", "catalog:xb")
    ] == expected
