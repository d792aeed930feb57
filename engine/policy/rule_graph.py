"""A policy as the rows of a graph, for people in Neo4j Browser and for the queries by name.

Equal clauses, terms, atoms and facts share a row, so the rows grow with the distinct conditions of the policy and not
with its names. Python's own checks never read this graph: they send the same clauses.
"""

import hashlib
from collections.abc import Hashable, Iterator
from functools import lru_cache
from itertools import combinations
from typing import Any

from grantpath.engine.policy.clauses import Atom, Clause, Clauses, Term
from grantpath.engine.policy.facts import Fact
from grantpath.engine.policy.policy import Policy
from grantpath.engine.policy.schema import ConditionEntry
from grantpath.graph.errors import Invalid

Row = dict[str, Any]
NODES = ("types", "privileges", "operations", "clauses", "terms", "atoms", "facts")
EDGES = ("in", "on", "any", "each", "some", "has", "unless")
MAX_OPTIONAL = 5  # with more optional second objects, only the combinations of none and of all are written
KEPT = 16  # graphs of policies that a process keeps: a service uses few policies, tests create many roots of one policy


class _ByDigest:
    """A policy as a key: policies with the same digest are equal."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def __hash__(self) -> int:
        return hash(self.policy.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByDigest) and self.policy.digest == other.policy.digest


def rule_graph(policy: Policy) -> Row:
    """The rows: nodes by kind (NODES), edges by relationship (EDGES), and under `policy` the node with their numbers.

    An edge is `[from, to]`, by index in the lists of nodes. An edge of ANY is `[kind, from, to, type, with]`:
    `kind` is the list of `from`; `type` and `with` (the second objects) are those of the question.
    """
    return _graph(_ByDigest(policy))


@lru_cache(maxsize=KEPT)
def _graph(key: _ByDigest) -> Row:
    return _GraphRows(key.policy).graph()


def second_objects(entry: ConditionEntry) -> list[frozenset[str]]:
    """The sets of second objects for which the graph contains the clauses of an operation."""
    needed = frozenset(key for key, second in entry.with_.items() if not second.optional)
    optional = [key for key in entry.with_ if key not in needed]
    sizes = range(len(optional) + 1) if len(optional) <= MAX_OPTIONAL else (0, len(optional))
    return [needed | {*chosen} for size in sizes for chosen in combinations(optional, size)]


class _GraphRows:
    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._nodes: dict[str, list[Row]] = {name: [] for name in NODES}
        self._edges: dict[str, list[list[Any]]] = {name: [] for name in EDGES}
        self._known: dict[Hashable, int] = {}

    def graph(self) -> Row:
        self._types()
        self._privileges()
        self._operations()
        nodes, edges = self._nodes, self._edges
        policy = self._policy
        head = {
            "name": policy.name,
            "title": " ".join(policy.file.title.split()),
            "digest": policy.digest,
            "root_type": policy.root_type,
            "on_missing": policy.grants_on_missing,
            "elsewhere": policy.file.ask.elsewhere,
            "active_roles": policy.active_roles,
            "granted_to": policy.file.grants.to,
            "hidden": policy.hidden,
            "nodes": 1 + sum(map(len, nodes.values())),
            "edges": sum(map(len, edges.values())),
        }
        return {"policy": head, **nodes, **{f"edges_{name}": rows for name, rows in edges.items()}}

    # ---- names -------------------------------------------------------------------------------------------------
    def _types(self) -> None:
        names = self._policy.names
        for name, entry in names.types.items():
            row = {
                "name": name,
                "kind": entry.kind,
                "depth": names.lengths(name)[0],
                "asks": name in self._policy.file.ask.subjects,
                "listed": name in self._policy.user_types,
            }
            if names.varies(name):
                row["varies"] = True  # its conditions depend on the number of segments: the queries by name refuse it
            self._add("types", ("type", name), row)
        for name, parents in names.parents.items():
            for parent in parents:
                self._edges["in"].append([self._known["type", name], self._known["type", parent]])

    def _privileges(self) -> None:
        names = self._policy.names
        for name, own in names.privileges.items():
            entry = names.privilege(name)
            asked = list(dict.fromkeys([*entry.on, *(entry.effective or [])]))
            row = {"name": name, "asked_on": asked, "alias_of": own.alias_of, "membership": entry.membership}
            at = self._rule("privileges", name, row, None, {(type_, frozenset[str]()) for type_ in asked})
            self._edges["on"] += [[at, self._known["type", type_]] for type_ in entry.on]

    def _operations(self) -> None:
        index = self._policy.names
        of_alias: dict[str, list[str]] = {}
        for alias, name in self._policy.file.aliases.items():
            of_alias.setdefault(name, []).append(alias)
        for (own, type_), entry in index.operations.items():
            asked = {(type_, keys) for keys in second_objects(entry)}
            for name in (own, *of_alias.get(own, [])):
                text, alias_of = _condition_text(entry), own if name != own else None
                row = {"name": name, "type": type_, "condition": text, "alias_of": alias_of}
                self._rule("operations", name, row, entry, asked)

    def _rule(
        self, kind: str, name: str, row: Row, entry: ConditionEntry | None, asked: set[tuple[str, frozenset[str]]]
    ) -> int:
        """The node of a privilege or operation, with the clauses for each set of second objects."""
        seconds = entry.with_ if entry else {}
        row["takes"] = [f"{key}={second.type}" for key, second in sorted(seconds.items())]
        row["new"] = sorted(key for key, second in seconds.items() if second.new)
        row["inside"] = [f"{key}.{second.inside}" for key, second in sorted(seconds.items()) if second.inside]
        row["needs"] = sorted(key for key, second in seconds.items() if not second.optional)
        row["one_role"] = self._policy.active_roles and not (entry and entry.all_roles)
        found: list[tuple[str, str, int]] = []
        ways: list[str] = []
        if any(self._policy.names.varies(second.type) for second in seconds.values()):
            row["varies"] = True
            asked = set()
        for type_, keys in sorted(asked, key=lambda each: (each[0], sorted(each[1]))):
            if self._policy.names.varies(type_):
                continue
            try:
                clauses = self._policy.question(name, type_, keys).clauses
            except Invalid:  # too large when expanded: Python refuses this question, too
                continue
            with_ = ",".join(sorted(keys))
            ways.append(with_)
            found += [(type_, with_, at) for at in dict.fromkeys(self._clauses(clauses))]
        row["ways"] = sorted(set(ways))
        at = self._add(kind, (kind, name, row.get("type")), row)
        self._seal(row, [f"ANY {type_} {with_} {self._nodes['clauses'][to]['digest']}" for type_, with_, to in found])
        row["digest"] = _digest([name, str(row.get("type")), *row["parts"]])
        row["seal"] = [name, row.get("type") or "", row.get("condition") or "", str(row["one_role"]).lower()]
        self._edges["any"] += [[kind, at, to, type_, with_] for type_, with_, to in found]
        return at

    # ---- conditions --------------------------------------------------------------------------------------------
    def _clauses(self, clauses: Clauses) -> Iterator[int]:
        return map(self._clause, clauses)

    def _clause(self, clause: Clause) -> int:
        return self._whole("clauses", [("each", "terms", self._term(term)) for term in clause])

    def _term(self, term: Term) -> int:
        return self._whole("terms", [("some", "atoms", self._atom(one)) for one in term])

    def _atom(self, one: Atom) -> int:
        has = [("has", "facts", self._fact(fact)) for fact in one.any]
        return self._whole("atoms", has + [("unless", "facts", self._fact(fact)) for fact in one.none])

    def _whole(self, kind: str, parts: list[tuple[str, str, int]]) -> int:
        """The node with these parts, in any order."""
        row: Row = {}
        parts = list(dict.fromkeys(parts))
        self._seal(row, [f"{edge.upper()} {self._nodes[of][to]['digest']}" for edge, of, to in parts])
        row["digest"] = _digest(row["parts"])
        if (kind, row["digest"]) in self._known:
            return self._known[kind, row["digest"]]
        at = self._add(kind, (kind, row["digest"]), row)
        for edge, _, to in parts:
            self._edges[edge].append([at, to])
        return at

    def _fact(self, fact: Fact) -> int:
        """`digest` and `fact` are the whole text, by which the fact is found; the other properties are its parts."""
        if ("fact", fact.text) in self._known:
            return self._known["fact", fact.text]
        row = {
            "digest": fact.text,
            "fact": fact.text,
            "effect": fact.kind.value.removesuffix(" below"),
            "privilege": ",".join(fact.privileges) or None,
            "below": ",".join(fact.types) or None,
            "place": fact.place,
        }
        return self._add("facts", ("fact", fact.text), row)

    # ---- rows --------------------------------------------------------------------------------------------------
    def _add(self, kind: str, key: Hashable, row: Row) -> int:
        at = self._known[key] = len(self._nodes[kind])
        self._nodes[kind].append(row)
        return at

    @staticmethod
    def _seal(row: Row, parts: list[str]) -> None:
        """Stores the targets of a node's edges on the node, so that queries can detect edited edges."""
        row["parts"] = sorted(parts)


def _condition_text(entry: ConditionEntry) -> str:
    """The text of the condition in the policy, with those of its second objects."""
    seconds = [f"; with {key}: {second.if_}" for key, second in entry.with_.items() if second.if_]
    return " ".join(entry.if_.split()) + "".join(seconds)


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
