"""Probes of the queries that dump and restore a root."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grantpath import cypher
from grantpath.engine import Authorizer, Refused
from grantpath.engine.transfer import importer
from grantpath.engine.transfer.dump_meta import read_meta
from grantpath.engine.transfer.exporter import dump

from ..changes.test_batches import state
from ..conftest import Tenants
from ..support.random_world import ROOT_NAME
from .probe import Probe, always

LAKEHOUSE = [
    "add catalog:da",
    "add table:da.s.t",
    "add user:ua",
    "add user:ub",
    "add group:ga",
    "add role:ra",
    "member user:ua of group:ga",
    "member group:ga of role:ra",
    f"owner user:ub of metalake:{ROOT_NAME}",
    "owner user:ua of catalog:da",
    "add user:uc",
    "owner user:uc of table:da.s.t",
    "allow USE_CATALOG on catalog:da to role:ra",
    "deny SELECT_TABLE on catalog:da to user:ub",
]
LAKEHOUSE.insert(1, "add schema:da.s")
CDAP = ["add namespace:na", "add user:ua", "allow READ on dataset:na.d to user:ua"]

_ALL = "dump_entities dump_edges dump_head dump_log restore_log restore_revision restore_unused"


NEW = {"a new one": True, "a fact": False, "a fact taken back": False, "a refusal": False, "a request": False}


def probes(scratch: Tenants, folder: Path) -> Iterator[Probe]:
    """Dumps and restores a root with a history, next to another tenant, and tests which roots are unused."""
    for policy, facts in (("lakehouse", LAKEHOUSE), ("cdap", CDAP)):

        def look(policy: str = policy, facts: list[str] = facts) -> object:
            return _restored(scratch, folder, policy, facts)

        yield Probe(f"a dump and its restore, {policy}", _ALL, look, always((True, True, [], True, True)))
    yield Probe("which roots are new", "restore_unused", lambda: _new(scratch, folder), always(NEW))
    yield Probe("a lost restore writes nothing", "restore_log", lambda: _lost(scratch), always(([], [])))


def _lived(scratch: Tenants, policy: str, facts: list[str]) -> Authorizer:
    auth = scratch(policy, facts, ROOT_NAME)
    auth.change("add user:late", id="late")
    with pytest.raises(Refused):
        auth.change("drop user:late", by="user:late", id="no")
    return auth


def _restored(scratch: Tenants, folder: Path, policy: str, facts: list[str]) -> object:
    auth, neighbour = _lived(scratch, policy, facts), _lived(scratch, policy, facts[:2])
    _write_parts(neighbour)
    before = state(neighbour), _log(neighbour)
    kept, again = folder / uuid.uuid4().hex, folder / uuid.uuid4().hex
    _write_parts(auth)
    dump(auth, kept)
    fresh = scratch(policy, root=ROOT_NAME)
    left = _failed(fresh, kept)
    report = importer.load(fresh, kept)
    dump(fresh, again)
    one, other = read_meta(kept), read_meta(again)
    assert one and other
    same = state(fresh) == state(auth) and report.restored
    head = (one.chain, one.policy.digest, one.policy.source) == (
        f"{auth.tenant} {one.made}",
        auth.policy.digest,
        auth.policy.source,
    )
    return (
        same,
        _log(fresh) == _log(auth),
        left,
        head and other.chain == one.chain,
        (before == (state(neighbour), _log(neighbour))),
    )


def _write_parts(auth: Authorizer) -> None:
    """A node as of a change that has many facts."""
    row = {"revision": 1, "part": 0, "added": ["add user:many"], "removed": [], "touched": []}
    cypher.load("delta_write").run(auth.store.execute, root=auth.tenant, rows=[row])


def _failed(auth: Authorizer, folder: Path) -> list[object]:
    """The state after a restore that fails at its end."""

    def stop(what: str, done: int, of: int) -> None:
        if what == "writing history" and done == of:
            raise KeyboardInterrupt

    try:
        importer.load(auth, folder, stop)
    except KeyboardInterrupt:
        return _log(auth)
    raise AssertionError("it has no end")


def _log(auth: Authorizer) -> list[Any]:
    """All nodes outside the graph of entities, with all their properties except the root."""
    text = """MATCH (node:Change|Delta|Refusal|Request {root: $root})
    RETURN labels(node)[0] AS label, properties(node) AS kept"""
    rows = auth.store.execute(text, {"root": auth.tenant})
    return sorted(
        (row["label"], sorted((name, str(value)) for name, value in row["kept"].items() if name != "root"))
        for row in rows
    )


def _new(scratch: Tenants, folder: Path) -> object:
    """Whether a dump can be restored into a root, by the kind of change to the root."""
    kept = folder / uuid.uuid4().hex
    dump(scratch("gravitino", ["add user:ua"], ROOT_NAME), kept)
    roots = {name: scratch("gravitino", root=ROOT_NAME) for name in NEW}
    roots["a fact"].change("add user:ub")
    roots["a fact taken back"].change_all(["add user:ub", "drop user:ub"])
    with pytest.raises(Refused):
        roots["a refusal"].change("add user:ub", by="user:ub")
    roots["a request"].change_all(["add user:ub", "drop user:ub"], id="two")
    for name, text in (("a fact", "Change"), ("a request", "Change")):
        roots[name].store.execute(f"MATCH (c:{text} {{root: $root}}) DETACH DELETE c", {"root": roots[name].tenant})
    return {name: importer.load(auth, kept, dry_run=True).restored for name, auth in roots.items()}


def _lost(scratch: Tenants) -> object:
    """A batch of a load that another caller has undone."""
    auth = scratch("gravitino", root=ROOT_NAME)
    auth.store.execute("CREATE (:LoadLane {root: $root, number: 0})", {"root": auth.tenant})
    lists = {"history": [{"revision": 1, "id": "x"}], "deltas": [], "refusals": [], "requests": []}
    given = {**lists, "lane": 0, "number": 1}
    loaded = cypher.load("restore_log")
    return auth.store.execute(loaded.text, {**given, "root": auth.tenant, "load": "gone"}), _log(auth)
