"""Probes of the queries of the log's chain: verifying a chain, pruning a log."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from unittest.mock import patch

import pytest

from grantpath import cypher
from grantpath.engine import Authorizer, InvalidInput, Refused
from grantpath.engine.change.audit_log import ReadLog
from grantpath.engine.change.log_prune import Pruned, prune
from grantpath.engine.tenants import registry
from grantpath.engine.tenants.stored_policy import kept_policy

from ..conftest import Tenants
from ..support.small_tenants import ROOT_NAME
from .probe import Probe, always


def probes(scratch: Tenants) -> Iterator[Probe]:
    yield Probe("a chain", "log_tail", partial(_chain, scratch), always(CHAINED))
    yield Probe("a digest", "tenant_policy", partial(_digests, scratch), always([64, 64, "other", "a load"]))
    yield Probe("a pruned log", "log", partial(_pruned, scratch), always(PRUNED))
    for query, refused in (("log", False), ("refusals", True)):
        yield Probe("a root with another name", query, partial(_renamed, scratch, refused), always(RENAMED[refused]))


CHAINED = [(True, 1, 0), (True, 6, 0), 3, True, True, True, (True, 2, 6), False, True, (True, 9, 0)]


def _chain(scratch: Tenants) -> list[object]:
    """A chain from its first entry; hashes of repeated requests; a late chain, and one with another name."""
    neighbours = [scratch("lakehouse", root=ROOT_NAME) for _ in range(2)]
    graph = scratch("lakehouse", root=ROOT_NAME)
    for each in neighbours:
        each.change_all(["add user:kn", "add user:km"], id="two")
    one = graph.change("add user:ka", id="once")
    found: list[object] = [_verified(graph, one.hash)]
    batch = [f"add user:k{at}" for at in range(4)]
    made = graph.change_all(batch, id="two")
    last = graph.change("add user:kz")
    with patch("grantpath.engine.change.log_verify.PAGE", 2):
        found.append(_verified(graph, last.hash))
    found.append(len({each.verify_log().chain for each in (graph, *neighbours)}))
    found.append(graph.change("add user:kz", id=last.id).hash == last.hash)
    found.append([each.hash for each in graph.change_all(batch, id="two")] == [each.hash for each in made])
    found.append(graph.change("add user:ka", id="once").hash == one.hash)
    _edit(graph, "MATCH (c:Change {root: $root}) REMOVE c.hash, c.previous, c.unchained")
    graph.change("add user:ky")
    _edit(graph, "CREATE (:Change {root: $root, id: 'old', revision: 7.5})")  # an older version wrote it
    later = graph.change("add user:kx").hash
    _edit(graph, "MATCH (c:Change {root: $root, id: 'old'}) DELETE c")
    found.append(_verified(graph, later))
    _edit(graph, "MATCH (mark:Revision {root: $root}) SET mark.chain = 'kept'")
    found.append(graph.verify_log(later).intact)
    _edit(graph, "MATCH (c:Change {root: $root}) DELETE c")
    graph.change_all([f"add user:kk{at}" for at in range(9)])
    found.append(graph.verify_log().chain == "kept")
    _edit(graph, "MATCH (c:Change {root: $root, revision: 10}) SET c.revision = 9")  # two pages share a revision
    with patch("grantpath.engine.change.log_verify.PAGE", 1):
        found.append((True, *_verified(graph, None)[1:]))
    return found


PRUNED = [
    *[(2, 2), [3, 4, 5, 6], 3, ["add role:r2", "add role:r3", "add role:r4", "add role:r5"], (True, 4, 0)],
    *[(2, 4), [5, 6, 7], 5, ["add role:r4", "add role:r5"], (True, 3, 0), (0, None)],
    *[(3, 7), [8], 8, [], (True, 1, 0), [2, 3, 4, 5], [2, 3, 4, 5]],
    *["prune before revision 4 or a later one", [1, 2, 3, 4, 5], None, ["add role:r"], (True, 5, 0)],
]


def _pruned(scratch: Tenants) -> list[object]:
    """Logs pruned by revision and by time, wholly and partly, of a recreated root, and with entries without a hash."""
    other = scratch("lakehouse", ["add user:kn"], ROOT_NAME)
    _refused(other, "add role:r", "user:kn")
    other.change_all([f"add user:kn{at}" for at in range(4)])
    graph = _logged(scratch)
    found = _after(graph, prune(graph, 3))
    found += _after(graph, prune(graph, graph.log()[2].at))
    found.append(_span(prune(graph, 4)))
    found += _after(graph, prune(graph, datetime.now(UTC) + timedelta(days=1)))
    graph = _logged(scratch)
    for made, limit in ((graph.state_now()[1], 1), ("another", 5)):
        given = {"root": graph.tenant, "made": made, "up_to": 3, "limit": limit}
        graph.store.execute(cypher.load("log_prune").text, given)
        found.append([each.revision for each in graph.log()])
    _edit(graph, "MATCH (c:Change {root: $root}) WHERE c.revision < 3 REMOVE c.hash")
    try:
        prune(graph, 3)
        found.append("pruned")
    except InvalidInput as error:
        found.append(str(error).partition("must have one; ")[2])
    return [*found, *_after(other, None)]


RENAMED = [[[5, 6, 7, 8], [1, 9], []], [[9], [], [9]]]


def _renamed(scratch: Tenants, refused: bool) -> list[list[int]]:
    """Entries about the root object under an earlier name: on the entry, beside it and in parts; and about others."""
    top = f"metalake:{ROOT_NAME}"
    facts = ["add catalog:xa", "add role:xr", "add role:xs", "add user:xu"]
    graph = scratch(
        "lakehouse", [*facts, *(f"allow USE_CATALOG on {top} to role:{ref}" for ref in ("xr", "xs"))], ROOT_NAME
    )
    graph.given(["drop role:xr"])
    with patch("grantpath.engine.change.delta_records.SHORT", 1):
        graph.given(["drop role:xs", "drop catalog:xa"])
    for statement in (f"owner user:xu of {top}", "add catalog:xb"):
        _refused(graph, statement, "user:xu")
    old = "[ref IN entry.touched | replace(ref, 'metalake:', 'metalake:old ')]"
    for label in ("Change", "Delta", "Refusal"):
        entries = f"MATCH (entry:{label} {{root: $root}})"
        _edit(graph, f"{entries} WHERE entry.touched IS NOT NULL SET entry.touched = {old}")
        _edit(graph, f"{entries} SET entry.object = replace(entry.object, 'metalake:', 'metalake:old ')")
    return [
        [each.revision for each in graph.log(object=ref, refused=refused)] for ref in (top, "catalog:xa", "catalog:xb")
    ]


def _after(graph: Authorizer, done: Pruned | None) -> list[object]:
    """The result of a pruning, and the log after it."""
    row = graph.ask("log", **ReadLog(limit=9).parameters(graph.root))
    told = [
        [each.revision for each in graph.log()],
        row["begins"],
        [each.statement for each in graph.log(refused=True)],
    ]
    return [*([_span(done)] if done else []), *told, _verified(graph, done.hash if done else None)]


def _span(done: Pruned) -> tuple[int, int | None]:
    return done.entries, done.up_to


def _logged(scratch: Tenants) -> Authorizer:
    """Five entries with different times, and a refused attempt after each except the first."""
    graph = scratch("lakehouse", ["add user:kx"], ROOT_NAME)
    for at in range(2, 6):
        graph.change(f"add user:k{at}")
        _refused(graph, f"add role:r{at}", "user:kx")
    return graph


def _refused(graph: Authorizer, statement: str, by: str) -> None:
    with pytest.raises(Refused):
        graph.change(statement, by=by)


def _edit(graph: Authorizer, text: str) -> None:
    graph.store.execute(text, {"root": graph.tenant})


def _verified(graph: Authorizer, head: str | None) -> tuple[bool, int, int]:
    found = graph.verify_log(head)
    return found.intact, found.entries, found.unchained


def _digests(scratch: Tenants) -> list[object]:
    """A short digest is replaced, but not if the policy of the root was replaced in the meantime; and a load."""
    graph = scratch("lakehouse", root=ROOT_NAME)
    row = registry.find(graph.store, graph.tenant)
    assert row is not None
    short = {**row, "digest": row["digest"][:16]}
    found: list[object] = []
    _edit(graph, "MATCH (m:Revision {root: $root}) SET m.digest = left(m.digest, 16), m.loading_what = 'a load'")
    found.append(len(kept_policy(graph.store, graph.tenant, short).digest))
    found.append(len((registry.find(graph.store, graph.tenant) or row)["digest"]))
    _edit(graph, "MATCH (m:Revision {root: $root}) SET m.digest = 'other'")
    kept_policy(graph.store, graph.tenant, short)
    kept = registry.find(graph.store, graph.tenant) or row
    return [*found, kept["digest"], kept["writing"]]
