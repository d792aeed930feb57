"""Probes of the queries of imports and policy upgrades: the state must be that after the same statements."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from grantpath import cypher
from grantpath.engine import Authorizer, InvalidInput
from grantpath.engine.policy import policy
from grantpath.engine.policy.schema import BUILT_IN
from grantpath.engine.tenants import registry
from grantpath.engine.transfer import importer
from grantpath.engine.transfer.policy_upgrade import upgrade
from grantpath.graph.bulk_write import Bulk
from grantpath.graph.transaction import Writing

from ..conftest import Tenants
from ..support.small_tenants import ROOT_NAME
from ..support.table_files import Tables, dump, marks, write
from .probe import Probe, always

LOADING = (
    "load_memberships load_created load_edges load_entities load_grants load_existing load_members audit_write"
    " load_first_entities"
)
FIRST: Tables = {
    "subjects": [["user:ka"], ["user:kb"], ["group:kg"], ["group:kh"], ["role:kr"], ["role:kq"]],
    "objects": [["catalog:kc"], ["schema:kc.s"], ["table:kc.s.t"], ["tag:kt"]],
    "members": [["user:ka", "group:kg"], ["group:kg", "group:kh"], ["group:kh", "role:kr"], ["role:kr", "role:kq"]],
    "owners": [["catalog:kc", "user:ka"], ["schema:kc.s", "group:kg"]],
    "grants": [
        ["allow", "SELECT_TABLE", "catalog:kc", "role:kr"],
        ["allow", "USE_CATALOG", "catalog:kc", "role:kr"],
        ["deny", "SELECT_TABLE", "table:kc.s.t", "group:kg"],
    ],
}
NAMES: Tables = {
    "subjects": [["user:ka"]],
    "grants": [["allow", "READ", "dataset:kn.d", "user:ka"], ["allow", "READ", "dataset:kn.e", "user:ka"]],
}
CREATED: Tables = {"objects": [["namespace:kn"], ["dataset:kn.d"]]}


def facts(tables: Tables) -> list[str]:
    """The same as statements."""
    said = [f"add {ref}" for (ref,) in (*tables.get("subjects", ()), *tables.get("objects", ()))]
    said += [f"member {member} of {of}" for member, of in tables.get("members", ())]
    said += [f"owner {owner} of {owned}" for owned, owner in tables.get("owners", ())]
    return said + [f"{effect} {name} on {at} to {holder}" for effect, name, at, holder in tables.get("grants", ())]


def probes(scratch: Tenants, folder: Path) -> Iterator[Probe]:
    for number, (name, tables) in enumerate((("lakehouse", FIRST), ("cdap", NAMES))):
        write(folder / f"first{number}", tables)
        yield _loaded(scratch, name, [folder / f"first{number}"], facts(tables))
    lone = {table: rows[-1:] for table, rows in FIRST.items()}
    write(folder / "created", CREATED)
    write(
        folder / "lone",
        {
            "subjects": FIRST["subjects"],
            **{each: lone[each] for each in ("members", "grants")},
            "objects": FIRST["objects"],
        },
    )
    yield _loaded(scratch, "cdap", [folder / "first1", folder / "created"], [*facts(NAMES), *facts(CREATED)])
    yield _loaded(scratch, "lakehouse", [folder / "first0", folder / "first0", folder / "lone"], facts(FIRST))
    for query, name, before, then in (
        ("load_entities", "lakehouse", {}, "first0"),
        ("load_members load_grants", "lakehouse", {each: FIRST[each] for each in ("subjects", "objects")}, "first0"),
        ("load_created", "cdap", NAMES, "created"),
    ):
        yield _undone(scratch, query, name, facts(before), folder / then)
    for query, parameters in LOST.items():
        yield Probe("a load that lost its mark", query, partial(_lost, scratch, query, parameters), always([]))
    yield from _wrong(scratch, folder)
    yield from _replaced(scratch, folder)
    yield from _upgraded(scratch, folder)


# ---- imports -----------------------------------------------------------------------------------------------------
def _neighbour(scratch: Tenants, name: str) -> Authorizer:
    """Another tenant with the same names and more facts."""
    said = [*facts(FIRST), "member role:kq of role:kr" if name == "gravitino" else "add user:kc"]
    return scratch(name, said if name == "lakehouse" else [*facts(NAMES), *facts(CREATED)], ROOT_NAME)


def _loaded(scratch: Tenants, name: str, folders: list[Path], said: list[str]) -> Probe:
    def look() -> object:
        neighbour = _neighbour(scratch, name)
        graph = scratch(name, root=ROOT_NAME)
        reports = [importer.load(graph, each).changed for each in folders]
        log = [(each.revision, each.statement.partition(":")[0]) for each in graph.log()]
        return reports, dump(graph), log, marks(graph)["notes"], dump(neighbour)

    def wanted() -> object:
        changed = [number == 0 or each.name == "created" for number, each in enumerate(folders)]
        made = [each for each, new in zip(folders, changed, strict=True) if new]
        log = [(number, f"load {each.name}") for number, each in enumerate(made, 1)]
        return changed, dump(scratch(name, said, ROOT_NAME)), log, 0, dump(_neighbour(scratch, name))

    told = " then ".join(each.name for each in folders)
    return Probe(f"loads of {told}, {name}", LOADING, look, wanted)


def _undone(scratch: Tenants, queries: str, name: str, before: list[str], folder: Path) -> Probe:
    """A load that fails at its end changes nothing."""

    def look() -> object:
        graph = scratch(name, before, ROOT_NAME)
        with pytest.MonkeyPatch.context() as patch, pytest.raises(InvalidInput):
            patch.setattr(Bulk, "finish", _stop)
            importer.load(graph, folder)
        return dump(graph)

    return Probe(f"a load of {folder.name} that fails", queries, look, lambda: dump(scratch(name, before, ROOT_NAME)))


def _stop(*_: object) -> int:
    raise InvalidInput("stopped")


NO_EDGES: dict[str, list[int]] = {"starts": [], "ends": [], "privileges": []}
LOST: dict[str, dict[str, Any]] = {
    "load_created": {"nodes": []},
    "load_entities": {
        "type": "user",
        "labels": ["Subject", "User"],
        "exists": None,
        "parents": [],
        "refs": [],
        "names": [],
    },
    "load_grants": {"privileges": [], "allow": NO_EDGES, "deny": NO_EDGES, "owns": NO_EDGES},
    "load_members": {"groups": NO_EDGES, "roles": NO_EDGES},
}


def _lost(scratch: Tenants, query: str, parameters: dict[str, Any]) -> list[Any]:
    graph, text = scratch("lakehouse", root=ROOT_NAME), cypher.load(query).text
    given = {**parameters, "root": graph.tenant, "load": "another", "lane": 0, "number": 1}

    def look(writing: Writing) -> list[Any]:
        writing.ask("CREATE (:LoadLane {root: $root, number: 0})", {"root": graph.tenant})
        return list(writing.ask(text, given))

    return graph.store.write(graph.tenant, look, keep=False)


def _wrong(scratch: Tenants, folder: Path) -> Iterator[Probe]:
    """Cycles with existing memberships, and second owners; and rows that are valid although another tenant has them."""
    first = {"subjects": FIRST["subjects"]}
    for number, (members, says) in enumerate(
        (
            ([["group:kh", "group:kg"]], True),
            ([["role:kq", "role:kr"]], True),
            ([["group:kh", "group:ki"]], False),
        )
    ):
        name = f"cycle{number}"
        write(folder / name, {"subjects": [*first["subjects"], ["group:ki"]], "members": members})
        yield Probe(name, LOADING, partial(_is_wrong, scratch, folder / name), always(says))
    for number, (owner, says) in enumerate(((["catalog:kc", "user:kb"], True), (["table:kc.s.t", "user:kb"], False))):
        name = f"owner{number}"
        write(folder / name, {"owners": [owner]})
        yield Probe(name, LOADING, partial(_is_wrong, scratch, folder / name), always(says))


def _is_wrong(scratch: Tenants, folder: Path) -> bool:
    more = ["add group:ki", "member group:ki of group:kh", "owner user:ka of table:kc.s.t"]
    scratch("lakehouse", [*facts(FIRST), *more], ROOT_NAME)
    try:
        importer.load(scratch("lakehouse", facts(FIRST), ROOT_NAME), folder)
    except InvalidInput as error:
        return "cycle" in str(error) or "owned by" in str(error)
    return False


def _replaced(scratch: Tenants, folder: Path) -> Iterator[Probe]:
    """Facts that the folder does not list are removed; names that still hold grants remain as names."""
    more = ["add catalog:kd", "add user:kz", "member user:kz of role:kr", "allow SELECT_TABLE on catalog:kd to user:kz"]
    names = ["add namespace:kn", "add dataset:kn.d", "add dataset:kn.f", "allow READ on dataset:kn.g to user:ka"]
    cases = (("lakehouse", "first0", FIRST, [*facts(FIRST), *more]), ("cdap", "first1", NAMES, [*facts(NAMES), *names]))
    for name, then, tables, before in cases:

        def look(name: str = name, then: str = then, before: list[str] = before) -> object:
            neighbour = scratch(name, before, ROOT_NAME)
            graph = scratch(name, before, ROOT_NAME)
            importer.load(graph, folder / then, replace=True, consent=True)
            again = importer.load(graph, folder / then, replace=True).changed
            return again, dump(graph), dump(neighbour)

        def wanted(name: str = name, tables: Tables = tables, before: list[str] = before) -> object:
            return False, dump(scratch(name, facts(tables), ROOT_NAME)), dump(scratch(name, before, ROOT_NAME))

        yield Probe(f"a load that replaces, {name}", f"load_every_entity {LOADING}", look, wanted)


# ---- upgrades ----------------------------------------------------------------------------------------------------
BEFORE = '  role:ORGADMIN: {holds: "role:SYSADMIN, role:SECURITYADMIN", owns: organization}\n'
AFTER = """  role:ORGADMIN: {holds: role:SYSADMIN}
  role:AUDITOR: {holds: role:USERADMIN, allow: MANAGE_GRANTS, owns: organization}
"""
ALLOWED = ("allow: CREATE_DATABASE, CREATE_STORE,", "allow: CREATE_DATABASE,")
INSERT = "  INSERT: {on: relation}"
RENAMED = (INSERT, "  PUT: {on: relation}\n  INSERT: {alias_of: PUT}")
STREAM_FACTS = [
    *("add role:kr", "add user:ku", "add database:kd", "add schema:kd.s", "add relation:kd.s.r"),
    *("allow SELECT on relation:kd.s.r to role:kr", "allow INSERT on relation:kd.s.r to role:kr"),
    *("member user:ku of role:ORGADMIN", "owner role:ORGADMIN of database:kd", "member user:ku of role:kr"),
]
TOPIC = '  CONSUME_TOPIC: {on: "metalake, catalog, schema, topic"}'
TOPIC_RENAMED = (TOPIC, TOPIC.replace("CONSUME", "READ") + "\n  CONSUME_TOPIC: {alias_of: READ_TOPIC}")
TOPIC_FACTS = [
    *("add role:kr", "add role:kq", "add catalog:kc", "allow CONSUME_TOPIC on catalog:kc to role:kr"),
    *("deny CONSUME_TOPIC on catalog:kc to role:kq", "allow PRODUCE_TOPIC on catalog:kc to role:kr"),
]
UPGRADED = "upgraded"  # no other test's root: a broken upgrade may reach into other tenants


def _upgraded(scratch: Tenants, folder: Path) -> Iterator[Probe]:
    """After an upgrade, the state is as if the facts had been written under the new policy."""
    queries = "set_policy disown rename_privilege policy_subjects"
    cases = (
        ("deltastream", [(BEFORE, AFTER), ALLOWED, RENAMED], STREAM_FACTS),
        ("gravitino", [TOPIC_RENAMED], TOPIC_FACTS),
    )
    for name, changes, said in cases:
        new = _edited(folder, name, changes)

        def look(name: str = name, new: policy.Policy = new, said: list[str] = said) -> object:
            neighbour = scratch(name, said, UPGRADED)
            graph = scratch(name, said, UPGRADED)
            upgrade(graph, new)
            return dump(graph), registry.find(graph.store, graph.tenant), dump(neighbour)

        def wanted(name: str = name, new: policy.Policy = new, said: list[str] = said) -> object:
            fresh, neighbour = scratch(str(new.name), said, UPGRADED), scratch(name, said, UPGRADED)
            kept = {"policy": new.name, "digest": new.digest, "source": new.source, "writing": None}
            return dump(fresh), kept, dump(neighbour)

        yield Probe(f"an upgrade of {name}", queries, look, _with_policy(new, wanted))


def _edited(folder: Path, name: str, changes: list[tuple[str, str]]) -> policy.Policy:
    text = (BUILT_IN / f"{name}.yaml").read_text(encoding="utf-8").replace(f"policy: {name}\n", f"policy: {name}_two\n")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    file = folder / f"{name}_two.yaml"
    file.write_text(text, encoding="utf-8")
    return policy.load(str(file))


def _with_policy(new: policy.Policy, wanted: Callable[[], object]) -> Callable[[], object]:
    """`wanted` while the new policy is known by its name."""

    def known() -> object:
        with pytest.MonkeyPatch.context() as patch:
            by_name = policy.load
            patch.setattr(policy, "load", lambda name: new if name == new.name else by_name(name))
            return wanted()

    return known
