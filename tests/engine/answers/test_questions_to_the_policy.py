"""Questions to the policy in the graph: what an operation needs, and what a grant would open, as by Python."""

import pytest

from grantpath import cypher
from grantpath.engine import Authorizer
from grantpath.engine.policy.clauses import Clauses
from grantpath.engine.policy.rule_graph import second_objects
from grantpath.engine.tenants import policy_graph

from ...conftest import Tenants
from ...support.twin import POLICIES

Ways = set[frozenset[tuple[frozenset[str], frozenset[str]]]]


def python_ways(clauses: Clauses) -> Ways:
    """Each way as its conditions: the facts of which one is enough, and the DENYs."""
    return {
        frozenset(
            (
                frozenset(str(fact) for one in term for fact in one.any),
                frozenset(str(fact) for one in term for fact in one.none),
            )
            for term in clause
        )
        for clause in clauses
    }


def graph_ways(graph: Authorizer, operation: str, type_: str) -> dict[str, Ways]:
    """By second objects, the ways that the query lists."""
    query = cypher.load("what_an_operation_needs")
    rows = query.run(graph.store.read, operation=operation, type=type_, root=graph.tenant)
    ways: dict[str, dict[int, set[tuple[frozenset[str], frozenset[str]]]]] = {}
    for row in rows:
        assert (row["operation"], row["type"]) == (operation, type_)
        terms = ways.setdefault(row["second"] or "", {})
        if row["way"] is not None:
            found = terms.setdefault(row["way"], set())
            if row["condition"] is not None:
                found.add((frozenset(row["any_of"]), frozenset(row["unless"])))
    return {second: {frozenset(terms) for terms in each.values()} for second, each in ways.items()}


@pytest.mark.parametrize("policy", POLICIES)
def test_what_an_operation_needs_is_what_python_asks_for(module_tenant: Tenants, policy: str) -> None:
    graph = module_tenant(policy)
    model = graph.policy
    operations = list(model.names.operations.items())
    for (name, type_), entry in operations[:: max(1, len(operations) // 25)]:
        wanted = {
            ",".join(sorted(keys)): python_ways(model.question(name, type_, keys).clauses)
            for keys in second_objects(entry)
        }
        wanted = {second: ways for second, ways in wanted.items() if ways} or {"": set()}
        assert graph_ways(graph, name, type_) == wanted, (name, type_)
    names = [(name, type_) for name in model.names.privileges for type_ in model.names.privilege(name).on]
    for name, type_ in names[:: max(1, len(names) // 10)]:
        found = graph_ways(graph, name, type_).get("", set())
        assert found == python_ways(model.question(name, type_).clauses), (name, type_)


def test_load_table_needs_the_catalog_the_schema_and_the_table(module_tenant: Tenants) -> None:
    graph = module_tenant("gravitino")
    rows = cypher.load("what_an_operation_needs").run(
        graph.store.read, operation="load_table", type="table", root=graph.tenant
    )
    assert [(row["way"], row["condition"]) for row in rows] == [(1, 1), (1, 2), (1, 3)]
    assert {row["says"] for row in rows} == {"inside and (SELECT_TABLE or MODIFY_TABLE or owner(any))"}
    needed = sorted([fact for fact in row["any_of"] if not fact.startswith("OWNS")] for row in rows)
    assert needed[1:] == [
        ["ALLOW USE_CATALOG catalog", "ALLOW USE_CATALOG metalake"],
        ["ALLOW USE_SCHEMA catalog", "ALLOW USE_SCHEMA metalake", "ALLOW USE_SCHEMA schema"],
    ]
    denied = next(row["unless"] for row in rows if "ALLOW USE_CATALOG catalog" in row["any_of"])
    assert denied == ["DENY USE_CATALOG catalog", "DENY USE_CATALOG metalake"]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_grant_opens_the_operations_whose_clauses_have_its_fact(module_tenant: Tenants, policy: str) -> None:
    """By Python: the clauses that have the ALLOW on a place of that type; `alone` where one has no other term."""
    graph = module_tenant(policy)
    model = graph.policy
    pairs = [(name, type_) for name, entry in model.names.privileges.items() for type_ in entry.on]
    for privilege, type_ in pairs[:: max(1, len(pairs) // 12)]:
        query = cypher.load("which_operations_a_grant_opens")
        rows = query.run(graph.store.read, privilege=privilege, type=type_, root=graph.tenant)
        found = {(row["operation"], row["type"], row["second"]): row["alone"] for row in rows}
        assert len(found) == len(rows)
        wanted: dict[tuple[str, str, str], bool] = {}
        for (name, on), entry in model.names.operations.items():
            for keys in second_objects(entry):
                for clause in model.question(name, on, keys).clauses:
                    met = [term for term in clause if _has(term, privilege, type_)]
                    if met:
                        asked = (name, on, ",".join(sorted(keys)))
                        wanted[asked] = wanted.get(asked, False) or len(met) == len(clause)
        assert found == wanted, (privilege, type_)


def _has(term: tuple[object, ...], privilege: str, type_: str) -> bool:
    facts = [str(fact).split(" ") for one in term for fact in one.any]  # type: ignore[attr-defined]
    return any(
        words[:2] == ["ALLOW", privilege]
        and (words[2] == type_ if "below" in words else words[2].split(".")[-1] == type_)
        for words in facts
    )


def test_without_the_policy_the_answer_says_so(tenant: Tenants) -> None:
    graph = tenant("github")
    graph.store.execute("MATCH (part:RulePart {root: $root}) DETACH DELETE part", {"root": graph.tenant})
    [row] = cypher.load("what_an_operation_needs").run(
        graph.store.read, operation="clone", type="repository", root=graph.tenant
    )
    assert row["operation"] is None
    assert f"run `grantpath policy write {graph.tenant}`" in row["says"]
    assert policy_graph.write(graph.store, graph.tenant, graph.policy)
