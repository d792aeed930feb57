"""The policy of a root as nodes of the graph: writes them, and compares them with the root's stored policy."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from grantpath import cypher
from grantpath.engine.policy.policy import Policy
from grantpath.engine.policy.rule_graph import EDGES, NODES, rule_graph
from grantpath.engine.tenants import registry
from grantpath.graph.errors import Inconsistent
from grantpath.graph.guard.store import Store
from grantpath.graph.messages import short

LABELS = {
    "types": "RuleType",
    "privileges": "RulePrivilege",
    "operations": "RuleOperation",
    "clauses": "RuleClause",
    "terms": "RuleTerm",
    "atoms": "RuleAtom",
    "facts": "RuleFact",
}
ENDS = {
    "in": ("types", "types"),
    "on": ("privileges", "types"),
    "each": ("clauses", "terms"),
    "some": ("terms", "atoms"),
    "has": ("atoms", "facts"),
    "unless": ("atoms", "facts"),
}
Key = tuple[str, ...]


def write(store: Store, tenant: str, policy: Policy) -> tuple[int, int]:
    """Writes the policy as nodes, which replace the earlier ones; returns the numbers of nodes and edges.

    Raises Inconsistent if the root was given another policy or was dropped meanwhile; Unavailable.
    """
    registry.create_schema(store)  # an older version made no index for these nodes
    query = cypher.load("write_policy_graph")
    rows = query.run(store.execute, root=tenant, digest=policy.digest, graph=rule_graph(policy))
    if not rows:
        raise Inconsistent(f"{tenant} was given another policy or dropped meanwhile; run it again")
    return int(rows[0]["nodes"]), int(rows[0]["edges"])


def differences(store: Store, tenant: str, policy: Policy) -> list[str]:
    """The differences between the policy's nodes and the policy itself, as sorted texts; empty if there are none.

    Raises Unavailable.
    """
    [row] = cypher.load("read_policy_graph").run(store.read, root=tenant)
    graph = rule_graph(policy)
    return sorted([*_of_nodes(_nodes(graph), row["nodes"]), *_of_edges(_edges(graph), row["edges"])])


# ---- nodes ----------------------------------------------------------------------------------------------------------
def _nodes(graph: Mapping[str, Any]) -> dict[Key, Mapping[str, Any]]:
    rows = [("RulePolicy", graph["policy"]), *((LABELS[kind], row) for kind in NODES for row in graph[kind])]
    return {_key(label, row): row for label, row in rows}


def _key(label: str, properties: Mapping[str, Any]) -> Key:
    """The key that identifies a node for a person: its name, and its type if it has one; otherwise its digest."""
    if label == "RulePolicy":
        return (label,)
    names = [str(properties[key]) for key in ("name", "type") if properties.get(key)]
    return (label, *(names or [str(properties.get("digest"))]))


def _of_nodes(wanted: Mapping[Key, Mapping[str, Any]], nodes: list[Mapping[str, Any]]) -> Iterator[str]:
    count = Counter(_key(node["label"], node["properties"]) for node in nodes)
    yield from (f"{_text(key)} is missing" for key in wanted.keys() - count.keys())
    yield from (f"{_text(key)} is not in the policy" for key in count.keys() - wanted.keys())
    yield from (f"{_text(key)} exists {number} times" for key, number in count.items() if number > 1)
    for node in nodes:
        key, found = _key(node["label"], node["properties"]), node["properties"]
        row = wanted.get(key, found)
        for name in sorted({*found, *row} - {"root"}):
            if found.get(name) != row.get(name):
                yield f"{_text(key)}: {name} is {_value(found.get(name))}, but {_value(row.get(name))} in the policy"


def _text(key: Key) -> str:
    label, *words = key
    return " ".join([label, " on ".join(short(word) for word in words)]).rstrip()


def _value(value: object) -> str:
    return "empty" if value is None else short(str(value))


# ---- edges ----------------------------------------------------------------------------------------------------------
def _edges(graph: Mapping[str, Any]) -> Counter[Key]:
    """How often each edge exists. Its key is its relationship, its ends and, for ANY, the question that it answers."""
    found: Counter[Key] = Counter()
    for kind in EDGES:
        for row in graph[f"edges_{kind}"]:
            if kind == "any":
                of, start, end, type_, with_ = row
                found["ANY", _end(graph[of][start]), _end(graph["clauses"][end]), type_, with_] += 1
            else:
                of, to = ENDS[kind]
                found[kind.upper(), _end(graph[of][row[0]]), _end(graph[to][row[1]]), "", ""] += 1
    return found


def _end(row: Mapping[str, Any]) -> str:
    return str(row.get("digest") or row["name"])


def _of_edges(wanted: Counter[Key], edges: list[Mapping[str, Any]]) -> Iterator[str]:
    found: Counter[Key] = Counter(
        (each["kind"], str(each["source"]), str(each["target"]), each["type"] or "", each["with"] or "")
        for each in edges
    )
    for verb, those in (("is missing", wanted - found), ("is not in the policy", found - wanted)):
        for (kind, start, end, *asked), number in those.items():
            question = f" (asked on {asked[0]}{f' with {asked[1]}' * bool(asked[1])})" if asked[0] else ""
            yield f"{short(start)} -{kind}-> {short(end)}{question} {verb}{f', {number} times' * (number > 1)}"
