"""The policy of a root is stored as nodes, at creation and at every upgrade; no other query reads them."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from grantpath import cypher
from grantpath.engine import Authorizer
from grantpath.engine.facts.set.graph_ranges import HIGHEST, LOWEST
from grantpath.engine.policy import policy as policies
from grantpath.engine.policy.rule_graph import rule_graph
from grantpath.engine.policy.schema import BUILT_IN
from grantpath.engine.tenants import policy_graph, registry
from grantpath.engine.tenants.policy_graph import LABELS
from grantpath.engine.transfer.exporter import dump
from grantpath.engine.transfer.importer import load
from grantpath.engine.transfer.policy_upgrade import upgrade
from grantpath.graph.errors import Inconsistent, InvalidPolicy
from grantpath.graph.guard.store import Store

from ...conftest import Closing, Tenants
from ...support.by_name import by_name
from ...support.small_estate import FACTS, facts_of

EVERY = sorted(path.stem for path in BUILT_IN.glob("*.yaml"))
PARTS = "MATCH (part:RulePart {root: $root}) RETURN count(part) AS count"
BEFORE = "MATCH (part:RulePart {root: $root}) DETACH DELETE part"  # the state of a root that an older grantpath created


def parts(graph: Authorizer | None = None, store: Store | None = None, root: str = "") -> int:
    asked = store or (graph.store if graph else None)
    assert asked
    return int(asked.execute(PARTS, {"root": graph.tenant if graph else root})[0]["count"])


def differences(graph: Authorizer) -> list[str]:
    return policy_graph.differences(graph.store, graph.tenant, graph.policy)


@pytest.mark.parametrize("name", EVERY)
def test_new_root_has_its_policy_as_nodes(tenant: Tenants, closing: Closing, name: str) -> None:
    graph = tenant(name)
    rows, began = rule_graph(graph.policy), time.perf_counter()
    policy_graph.write(graph.store, graph.tenant, graph.policy)
    took = time.perf_counter() - began
    assert differences(graph) == []
    head = rows["policy"]
    assert parts(graph) == head["nodes"] < 1_000
    named = {(each["name"], each["type"]) for each in rows["operations"] if not each["alias_of"]}
    assert named == set(graph.policy.names.operations)
    assert {each["name"] for each in rows["privileges"]} == set(graph.policy.names.privileges)
    closing(
        f"policy graph, {name}: {head['nodes']} nodes, {head['edges']} edges, written again in {took * 1000:.0f} ms"
    )


def test_policy_nodes_have_the_documented_shape(tenant: Tenants) -> None:
    graph = tenant()
    path = """MATCH (o:RuleOperation {root: $root, name: 'load_table', type: 'table'})-[:ANY]->(:RuleClause)
        -[:EACH]->(:RuleTerm)-[:SOME]->(:RuleAtom)-[:HAS]->(f:RuleFact {privilege: 'SELECT_TABLE'})
        RETURN o.condition AS condition, f.fact AS fact, f.effect AS effect, f.place AS place ORDER BY fact"""
    rows = graph.store.execute(path, {"root": graph.tenant})
    assert [each["fact"] for each in rows] == [
        f"ALLOW SELECT_TABLE {at}" for at in ("catalog", "metalake", "schema", "table")
    ]
    assert {(each["effect"], each["condition"]) for each in rows} == {
        ("ALLOW", "inside and (SELECT_TABLE or MODIFY_TABLE or owner(any))")
    }
    denied = """MATCH (:RulePrivilege {root: $root, name: 'SELECT_TABLE'})-[:ANY {type: 'table'}]->()-[:EACH]->()
        -[:SOME]->()-[:UNLESS]->(f:RuleFact {effect: 'DENY'}) RETURN count(f) AS count"""
    assert graph.store.execute(denied, {"root": graph.tenant})[0]["count"] == 4
    tree = "MATCH (:RuleType {root: $root, name: 'table'})-[:IN*]->(t:RuleType) RETURN collect(t.name) AS above"
    assert graph.store.execute(tree, {"root": graph.tenant})[0]["above"] == ["schema", "catalog", "metalake"]
    on = "MATCH (:RulePrivilege {root: $root, name: 'USE_SCHEMA'})-[:ON]->(t:RuleType) RETURN count(t) AS count"
    assert graph.store.execute(on, {"root": graph.tenant})[0]["count"] == 3


def test_restored_or_loaded_root_has_its_policy_as_nodes(tenant: Tenants, store: Store, tmp_path: Path) -> None:
    old = tenant(given=FACTS)
    dump(old, tmp_path / "kept", "csv")
    new = tenant()
    assert load(new, tmp_path / "kept").restored
    assert differences(new) == []


def test_upgrade_replaces_the_policy_nodes(tenant: Tenants, tmp_path: Path) -> None:
    graph = tenant("github")
    text = (BUILT_IN / "github.yaml").read_text(encoding="utf-8")
    operation = next(iter(graph.policy.names.operations))[0]
    (tmp_path / "github.yaml").write_text(text.replace(f" {operation}:", " renamed_operation:", 1), encoding="utf-8")
    edited = policies.load(str(tmp_path / "github.yaml"))
    assert upgrade(graph, edited).changed
    assert policy_graph.differences(graph.store, graph.tenant, edited) == []
    assert any("renamed_operation" in each for each in differences(graph))


def test_drop_removes_the_policy_nodes(tenant: Tenants, store: Store) -> None:
    graph = tenant("lakehouse")
    assert parts(graph)
    assert graph.given([f"drop {graph.root}"]) == [None]
    assert parts(graph) == 0
    other = tenant()
    registry.remove(store, other.tenant)
    assert parts(other) == 0


def test_questions_about_entities_do_not_read_the_policy_nodes(tenant: Tenants, store: Store, tmp_path: Path) -> None:
    """Compares a root with and without its policy nodes: sizes, dump, mirror, lists and deltas."""
    graph = tenant(given=FACTS)

    def seen(where: str) -> list[Any]:
        dump(graph, tmp_path / where, "csv")
        names = sorted(file.name for file in (tmp_path / where).iterdir() if file.name != "meta.json")
        questions = {"user:ann", "user:bob", "table:hr.s.t", str(graph.root)}
        return [
            facts_of(graph),
            registry.sizes(store, graph.tenant),
            [(name, (tmp_path / where / name).read_bytes()) for name in names],
            graph.ask("tenant_state"),
            [_mirrored(graph, name) for name in ("mirror_entities", "mirror_members", "mirror_grants")],
            list(graph.who("load_metalake", str(graph.root))),
            [registry.exists(store.read, graph.tenant, ref) for ref in sorted(questions)],
        ]

    with_it = seen("with")
    graph.store.execute(BEFORE, {"root": graph.tenant})
    assert parts(graph) == 0
    assert seen("without") == with_it
    before = graph.revision_now()
    policy_graph.write(store, graph.tenant, graph.policy)
    assert graph.revision_now() == before


def _mirrored(graph: Authorizer, query: str) -> list[str]:
    """The part of a root that Spark reads."""
    tags = {"tags": [*graph.policy.file.tags], "by_tag": [*graph.policy.names.by_tag]}
    given = tags if query == "mirror_grants" else {}
    rows = cypher.load(query).run(graph.store.read_all, root=graph.tenant, low=LOWEST, high=HIGHEST, **given)
    found = []
    for row in rows:
        words = [str(value) for value in row.values() if not isinstance(value, list)]
        found += [" ".join((*words, *each)) for each in zip(*_lists(row), strict=True)]
    return sorted(found)


def _lists(row: Mapping[str, Any]) -> list[list[str]]:
    return [value for value in row.values() if isinstance(value, list)]


def test_root_without_policy_nodes_names_the_command_that_writes_them(tenant: Tenants) -> None:
    graph = tenant(given=FACTS)
    graph.store.execute(BEFORE, {"root": graph.tenant})
    row = by_name(graph, "check_by_name", "user:ann", "load_table", "table:hr.s.t")
    assert row["allowed"] is None
    assert row["reason"].endswith(f"is not in the graph; run `grantpath policy write {graph.tenant}`")
    assert len(differences(graph)) > 500
    policy_graph.write(graph.store, graph.tenant, graph.policy)
    assert differences(graph) == []
    assert by_name(graph, "check_by_name", "user:ann", "load_table", "table:hr.s.t")["allowed"] is True


def test_policy_of_another_root_is_not_written(tenant: Tenants) -> None:
    graph = tenant()
    with pytest.raises(Inconsistent, match="another policy"):
        policy_graph.write(graph.store, graph.tenant, policies.load("github"))
    assert differences(graph) == []


LOAD = "MATCH (o:RuleOperation {root: $root, name: 'load_table'})"
EDITS = {
    "a DENY is taken from an atom": "MATCH (:RuleAtom {root: $root})-[denied:UNLESS]->() DELETE denied",
    "a clause is deleted": f"{LOAD}-[:ANY]->(clause) DETACH DELETE clause",
    "a fact is of another privilege": """MATCH (f:RuleFact {root: $root, privilege: 'SELECT_TABLE'})
        SET f.privilege = 'FLY'""",
    "a fact is of another place": "MATCH (f:RuleFact {root: $root, fact: 'OWNS table'}) SET f.place = 'metalake'",
    "an edge leads to another clause, as many as before": f"""{LOAD}-[any:ANY]->()
        MATCH (:RuleOperation {{root: $root, name: 'list_catalog'}})-[:ANY]->(other)
        CREATE (o)-[made:ANY]->(other) SET made = properties(any) DELETE any""",
    "a term may be met by another atom, as many as before": f"""{LOAD}-[:ANY]->()-[:EACH]->(term)-[some:SOME]->(old)
        WITH term, some, old LIMIT 1
        MATCH (new:RuleAtom {{root: $root}}) WHERE NOT EXISTS {{ (term)-[:SOME]->(new) }} AND new <> old
        WITH term, some, new LIMIT 1
        CREATE (term)-[:SOME]->(new) DELETE some""",
    "the condition is reworded": f"{LOAD} SET o.condition = 'everyone'",
    "a single role must suffice": f"{LOAD} SET o.one_role = true",
    "the digest is another one": "MATCH (p:RulePolicy {root: $root}) SET p.digest = 'other'",
    "a node is added": "CREATE (:RuleFact:RulePart {root: $root, fact: 'OWNS tag', digest: 'OWNS tag'})",
    "all of an operation goes": f"{LOAD} DETACH DELETE o",
}


@pytest.mark.parametrize("what", EDITS)
def test_manual_edit_is_named_and_queries_by_name_give_no_answer(tenant: Tenants, what: str) -> None:
    graph = tenant(given=FACTS)
    assert by_name(graph, "check_by_name", "user:ann", "load_table", "table:hr.s.t")["allowed"] is True
    graph.store.execute(EDITS[what], {"root": graph.tenant})
    assert differences(graph)
    for query in ("check_by_name", "explain_by_name", "remedy_by_name"):
        row = by_name(graph, query, "user:ann", "load_table", "table:hr.s.t")
        assert row["allowed"] is None, query
        assert "policy verify" in row["reason"], query
    policy_graph.write(graph.store, graph.tenant, graph.policy)
    assert differences(graph) == []
    assert by_name(graph, "check_by_name", "user:ann", "load_table", "table:hr.s.t")["allowed"] is True


@pytest.mark.parametrize("label", sorted({*LABELS.values(), "RulePolicy", "RulePart"}))
def test_type_cannot_have_the_name_of_a_policy_node(tmp_path: Path, label: str) -> None:
    name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in label).strip("_")
    text = (BUILT_IN / "github.yaml").read_text(encoding="utf-8")
    policy = tmp_path / "mine.yaml"
    policy.write_text(text.replace("\ntypes:\n", f"\ntypes:\n  {name}: {{in: enterprise}}\n", 1), encoding="utf-8")
    with pytest.raises(InvalidPolicy, match=f"'{name}' is a reserved label"):
        policies.load(str(policy))
